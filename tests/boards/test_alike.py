"""Modules that are alike are mapped once, and counted under their own names."""

import re
from collections import Counter

import amaranth as am
import pytest
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from marks import long_but

from boards.alike import Alike
from boards.area import FAMILIES, Module, SynthesisError, count, grouped, modules, total
from boards.mapping import mapping
from hw.verilog import to_verilog


class _Leaf(wiring.Component):
    a: In(8)
    o: Out(8)

    def __init__(self, width):
        self.width = width
        super().__init__()

    def elaborate(self, platform):
        m = am.Module()
        m.d.sync += self.o[: self.width].eq(self.a + self.o)
        return m


class _Pair(wiring.Component):
    """A leaf of 8 registers, then one of ``width``."""

    a: In(8)
    o: Out(8)

    def __init__(self, width):
        self.width = width
        super().__init__()

    def elaborate(self, platform):
        m = am.Module()
        m.submodules.first = first = _Leaf(8)
        m.submodules.second = second = _Leaf(self.width)
        m.d.comb += [first.a.eq(self.a), second.a.eq(first.o), self.o.eq(second.o)]
        return m


class _Top(wiring.Component):
    """Pairs with second leaves of these widths."""

    a: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = am.Module()
        word = self.a
        for number, width in enumerate((8, 3, 3)):
            m.submodules[f"pair_{number}"] = pair = _Pair(width)
            m.d.comb += pair.a.eq(word)
            word = pair.o
        m.d.comb += self.o.eq(word)
        return m


@pytest.fixture(scope="module")
def verilog():
    return to_verilog(_Top(), name="top")


def test_one_of_each_stays(verilog):
    """Pairs are alike where all in them is, however deep."""
    text = Alike(verilog).verilog
    assert verilog.count("\nendmodule") == 1 + 3 * 3
    names = {re.match(r"\\\S+|\w+", rest)[0] for rest in text.split("\nmodule ")[1:]}
    leaves = {r"\top.pair_0.first", r"\top.pair_1.second"}
    assert names == {"top", r"\top.pair_0", r"\top.pair_1"} | leaves
    assert text.count("  \\top.pair_1 ") == 2 and text.count("  \\top.pair_0.first ") == 3


def test_modules_have_their_own_names(verilog, tmp_path):
    found = modules(verilog, "top", work=tmp_path)
    assert found["top"].inside == {"top.pair_0": 1, "top.pair_1": 1, "top.pair_2": 1}
    assert found["top.pair_2"].inside == {"top.pair_2.first": 1, "top.pair_2.second": 1}
    registers = {name: count(total(found, name))["ff"] for name in found}
    assert registers["top.pair_0"] == 16 and registers["top"] == 16 + 11 + 11
    assert registers["top.pair_2.second"] == 3 and registers["top.pair_2.first"] == 8


@pytest.mark.parametrize("family", long_but(["ecp5"], ["ecp5", "xcup"]))
def test_modules_that_are_mapped_apart_are_the_same(family, verilog, tmp_path, monkeypatch):
    """A few at a time, the others boxes, the topmost one among them; of a large design for
    UltraScale+ in a process for each part."""
    whole = modules(verilog, "top", work=tmp_path, family=family)
    monkeypatch.setattr("boards.mapping._PART", 2)
    monkeypatch.setattr("boards.mapping._LARGE", 0)
    assert modules(verilog, "top", work=tmp_path, family=family) == whole
    parts = sorted(path.name for path in tmp_path.rglob("part*"))
    assert parts == ([] if family == "ecp5" else ["part0", "part1"])
    assert count(total(whole, "top"))["ff"] == 3 * 8 + 8 + 3 + 3 and len(whole) == 10


@pytest.mark.long
def test_binary32_units_are_mapped_apart_too(verilog, tmp_path, monkeypatch):
    """Their mapper asks for the parameters of the part's registers. The other modules are mapped
    to UltraScale+ apart too, as in the long test above."""
    text = verilog.replace(r"\top.pair_0.first ", "rlfabric_float32_first ")
    whole = modules(text, "top", work=tmp_path)
    assert count(whole["rlfabric_float32_first"].cells)["ff"] == 8
    monkeypatch.setattr("boards.mapping._PART", 2)
    monkeypatch.setattr("boards.mapping._LARGE", 0)
    assert modules(text, "top", work=tmp_path) == whole
    assert sorted(path.name for path in tmp_path.rglob("part*")) == ["part0", "part1", "part2"]


def test_parts_that_were_mapped_are_not_mapped_again(verilog, tmp_path, monkeypatch):
    monkeypatch.setattr("boards.mapping._PART", 2)
    monkeypatch.setattr("boards.mapping._LARGE", 0)
    ran, broken = [], [True]

    def yosys(top, script, folder, progress):
        ran.append(folder.name if folder.name.startswith("part") else "whole")
        if broken and ran[-1] == "part1":
            raise SynthesisError("yosys must accept top, not fail")
        number = folder.name.removeprefix("part")
        for file in (f"stat{number}.json", f"depth{number}.txt"):
            (folder / file).write_text('{"modules": {}}')

    monkeypatch.setattr("boards.mapping.yosys", yosys)
    with pytest.raises(SynthesisError):
        modules(verilog, "top", work=tmp_path)
    broken.clear()
    modules(verilog, "top", work=tmp_path)
    assert ran == ["whole", "part0", "part1", "part1"]
    monkeypatch.setattr("boards.mapping._KNOWN", "other commands {0}")
    modules(verilog, "top", work=tmp_path)
    assert ran[4:] == ["part0", "part1"], "what other commands have written is not taken"


def test_what_other_passes_have_written_is_not_taken(verilog, tmp_path, monkeypatch):
    """One Verilog is mapped to each family, packed or not, flattened or not, at once or in parts;
    the second time each finds its own."""
    monkeypatch.setattr("boards.mapping._PART", 2)
    ran = []

    def yosys(top, script, folder, progress):
        ran.append(script)
        for file in re.findall(r"-o (\S+)", script):
            (folder / file).write_text(str(len(ran)))

    monkeypatch.setattr("boards.mapping.yosys", yosys)
    keys = [
        (passes, tmp_path, print, names)
        for both in FAMILIES.values()
        for passes, names in ((both[0], ()), (both[1], ()), (both[1], tuple("abcd")))
    ]

    def written():
        folders = (mapping(verilog, "top", *key) for key in keys)
        return [(folder / "stat0.json").read_text() for folder in folders]

    first, runs = written(), len(ran)
    assert len(set(first)) == len(keys) == 9 and runs > 9
    assert written() == first and len(ran) == runs


@pytest.mark.parametrize("names", [(), tuple("abcd")])
def test_what_another_yosys_has_written_is_not_taken(verilog, tmp_path, monkeypatch, names):
    """A newer one maps again, at once or in parts; the older one's is kept."""
    monkeypatch.setattr("boards.mapping._PART", 2)
    installed, ran = ["0.70"], []

    def yosys(top, script, folder, progress):
        ran.append(installed[0])
        for file in re.findall(r"-o (\S+)", script):
            (folder / file).write_text(installed[0])

    monkeypatch.setattr("boards.mapping.yosys", yosys)
    monkeypatch.setattr("boards.open_tools.version", lambda package: installed[0])
    for installed[0] in ("0.70", "0.71", "0.70"):
        folder = mapping(verilog, "top", FAMILIES["xcup"][1], tmp_path, print, names)
        assert (folder / f"stat{len(names) // 3}.json").read_text() == installed[0]
    half = len(ran) // 2
    assert ran == ["0.70"] * half + ["0.71"] * half and half


def test_what_drives_nothing_is_not_restored(verilog):
    """yosys took one of two out."""
    leaf = Module(Counter({"FDRE": 8}), Counter(), 1)
    pair = Module(Counter(), Counter({"top.pair_0.first": 1}), 0)
    found = Alike(verilog).restored({"top.pair_0": pair, "top.pair_0.first": leaf})
    assert found["top.pair_0"].inside == {"top.pair_0.first": 1}
    assert "top" not in found and "top.pair_1" not in found


def test_groups_add_up():
    """A module's group is its own, or that of the module it is in."""
    cells = Counter({"LUT4": 1})
    found = {
        "top": Module(cells, Counter({"a": 2, "b": 1}), 0),
        "a": Module(cells, Counter({"shared": 3}), 0),
        "b": Module(cells, Counter({"shared": 1, "other": 1}), 0),
        "shared": Module(cells, Counter(), 0),
        "other": Module(Counter({"FDRE": 5}), Counter(), 0),
    }
    groups = {"top": "rest", "a": "A", "b": "B", "other": "rest"}
    result = grouped(found, "top", groups.get)
    assert {name: unit["lut"] for name, unit in result.items()} == {"rest": 1, "A": 8, "B": 2}
    assert result["rest"]["ff"] == 5
