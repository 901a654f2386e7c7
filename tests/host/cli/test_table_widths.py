"""Tables of all commands on a terminal of 80 columns: no line is longer, no word is broken."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import boards
from host.cli import doctor
from host.cli.app import app
from host.explore import explore_view, resource_report
from host.kernels.exploration_file import document
from host.terminal import tables
from host.terminal.tables import fitted
from hw.designs import DESIGNS
from hw.estimate import RESOURCES
from tests.explore.test_explore import search
from tests.host.composed_plans import DQN

ROW = re.compile("^[│┃](.*)[│┃]$")


@pytest.fixture
def printed(monkeypatch, capsys):
    """``printed(print_tables)`` checks what a function prints, and returns the rows of tables."""
    words = set()

    def recorded(heads, rows, width):
        for row in (heads, *rows):
            words.update(
                w for cell in row for w in re.findall(r"[^\s,/]*[,/]+|[^\s,/]+", str(cell))
            )
        return fitted(heads, rows, width)

    def printed(show):
        words.clear()
        show()
        lines = capsys.readouterr().out.splitlines()
        rows = [line for line in lines if ROW.match(line)]
        assert rows and max(map(len, rows)) <= 80
        for row in rows:
            for cell in re.split("[│┃]", row):
                found = re.findall(r"[^\s,/]*[,/]+|[^\s,/]+", cell)
                assert set(found) <= words, (set(found) - words, row)
        return rows

    for module in (tables, doctor):
        monkeypatch.setattr(module, "fitted", recorded)
    monkeypatch.setattr(tables.console, "width", 80)
    return printed


@pytest.mark.parametrize("words", [
    ["list"], ["doctor"], *(["show", name] for name in ("dqn", "ddpg", "ppo", "a3c", "sac")),
    *(["show", name, "--board", "zcu106"] for name in ("replay", "gae", "fixar")),
    ["explore", "dqn", "--rule", "cf22"],
])  # fmt: skip
def test_tables_of_commands(printed, words):
    printed(lambda: app(words, standalone_mode=False))


def test_tables_of_compose(printed, measured):
    words = ["compose", *DQN, "--profile"]
    printed(lambda: app([str(word) for word in words], standalone_mode=False))


#: A few of each field's values, the longest among them.
FEW = {
    "replay": None, "gae": None,
    "dqn": {"learner.arithmetic.kind": ("float32", "fixed"), "learner.lanes": (1, 16),
            "learner.multipliers": (4, 256), "learner.update_units": (1, 32),
            "replay.fanout": (4, 64)},
    "fixar": {"learner.cores": (1, 2), "learner.side": (8, 16), "learner.port_words": (1, 2),
              "replay.fanout": (4, 64)},
    "a3c": {"lanes": (1, 4), "units": (("any",), ("infer", "train") * 2), "rms_units": (1, 16),
            "drain_words": (1, 16), "global_masters": (1, 2)},
}  # fmt: skip
FEW["ddpg"] = FEW["td3"] = FEW["dqn"]


@pytest.mark.parametrize("name", DESIGNS)
def test_tables_of_explore(printed, monkeypatch, name):
    """``infer,train,i`` and ``nfer,train`` were two lines; what decides has a column."""
    if name == "a3c":  # whose formula takes a second here
        space = replace(DESIGNS[name].space, clocks=lambda config, _: 1_000_000 // config.lanes)
        monkeypatch.setitem(DESIGNS, name, replace(DESIGNS[name], space=space))
    found = search(name, fields=FEW[name], board="u200" if name != "gae" else "zcu106")
    told = document(DESIGNS[name], boards.get("u200"), found, [])
    rows = printed(lambda: explore_view.show(found, told, boards.get("u200")))
    head = " ".join(row for row in rows if row.startswith("┃"))
    for cost in ("clocks", "sum", "limit", *(each.upper() for each in RESOURCES)):
        assert cost in head
    assert ("levels" in head) == (name == "gae")


def test_tables_of_report(printed):
    unit = {"unit": "dqn.core.learner.parameters.layer_parameters_*", "count": 12, "depth": 14}
    counts = dict(lut=201363, ff=182334, bram36=2159.5, uram=960, dsp=6840)
    result = dict(
        design="dqn", family="xcup_dsp", units=[unit | counts], mapped=counts, total=counts,
        estimate=dict.fromkeys(counts), share=dict.fromkeys(counts, 100.0), lacks=[], clocks={},
        regions=[{"share": dict.fromkeys(counts, 100.0)}] * 3, routed_mhz=None,
        memory=[dict(master="m_axi_storage", bank="HBM[1:31]", kind="HBM2", bytes=8 << 30)],
        largest_buffer=1 << 33,
    )  # fmt: skip
    printed(lambda: resource_report.show(result, "u200", Path("x")))


def test_cells_break_between_words():
    found = fitted(("name", "what"), [("a", "one,two three/four five"), ("b", None)], 20)
    assert found.rows == [["a", "one,two\nthree/\nfour five"], ["b", ""]] and found.whole
    assert found.padding == (0, 1, 0, 1)
    narrow = fitted(("name", "what"), [("a" * 9, "one,two three/four five")], 18)
    assert narrow.rows[0][1] == "one,\ntwo\nthree/\nfour\nfive" and narrow.padding == (0, 1, 0, 0)
    assert fitted(("a",), [("  in  deep",)], 80).rows == [["  in  deep"]]
    assert fitted(("x", "y"), [("  unit", "b c")], 12).rows == [["  unit", "b\nc"]]
