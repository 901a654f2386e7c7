"""Nothing is other than ``scripts/freeze.py`` wrote it; and what its comparison sees."""

import json
import random
import re

import numpy as np
import pytest

from bench.results import kept
from scripts import freeze
from tests.freeze import hardware, netlists, recorder, runs
from tests.freeze.digests import Near, compare, digest, flat, same

MEND = "a change on purpose: scripts/freeze.py write PART, and a line that says why in its commit"
GROUPS = ("runs", "buffers", "written", "formulas", "verilog", "estimates", "words")


@pytest.mark.filterwarnings("ignore:.*were clipped")
@pytest.mark.parametrize("group", GROUPS)
def test_it_is_as_it_was_written(group):
    assert list(freeze.differences(True, [group])) == [], MEND


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore:.*were clipped")
def test_all_is_as_it_was_written():
    assert list(freeze.differences(False)) == [], MEND


def test_every_part_is_written():
    assert freeze.kept().keys() == freeze.parts().keys()
    assert {name.partition(":")[0] for name in freeze.parts(True)} == set(GROUPS)


def test_rows_by_formula_are_those_of_the_documents():
    rows = [
        row
        for name in ("fa3c", "fixar", "learner")
        for measurement in kept(name)
        for row in measurement["rows"]
    ]
    documented = {(f"{row['case']}: {row['metric']}", row["value"]) for row in rows}
    assert set(hardware.formulas().items()) <= documented


@pytest.mark.parametrize(
    "one, other",
    [
        ("a", "b"),
        (1, 1.0),
        (1, True),
        (np.float32(1), np.float64(1)),
        (np.zeros(2, np.int32), np.zeros(2, np.uint32)),
        (np.zeros((2, 1)), np.zeros((1, 2))),
        (np.float32([0, 1]), np.float32([0, np.nextafter(np.float32(1), np.float32(2))])),
        (np.zeros(1, [("a", "<f4")]), np.zeros(1, [("b", "<f4")])),
        (np.float64(0.0), np.float64(-0.0)),
        ([1, None], [1, 0]),
        (Near(np.zeros(3, np.float32)), Near(np.zeros(3))),
        (Near(np.arange(100.0)), Near(np.arange(100.0) * 1.002)),
        (Near(np.arange(100.0)), Near(np.arange(100.0)[::-1])),
        (Near(np.zeros(4)), Near(np.array([0, 0, 1e-3, 0]))),
        (Near(np.zeros(4)), Near(np.array([0, np.nan, 0, 0]))),
        (Near(np.array([np.nan, 0])), Near(np.array([0, np.nan]))),
        (Near(np.array([np.nan, 1])), Near(np.array([np.inf, 1]))),
        (Near(np.array([-np.inf, 1])), Near(np.array([np.inf, 1]))),
    ],
)
def test_different_values_differ(one, other):
    assert not same(digest(one), digest(other))
    assert same(digest(one), digest(one))


def test_sums_in_another_order_are_near():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=1000).astype(np.float32)
    other = numbers * (1 + 1e-5 * rng.normal(size=1000).astype(np.float32))
    assert same(digest(Near(numbers)), digest(Near(other)))
    assert digest(numbers) != digest(other)


def test_an_added_entry_is_told_from_a_changed_one():
    before, now = {"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "4", "d": "5"}
    assert list(compare(before, now)) == [("a", "removed"), ("c", "changed"), ("d", "added")]


def test_entries_are_leaves():
    state = {"net": [np.zeros(2), {"step": 3}], "none": {}, "list": [1, 2], "x": None}
    assert [name for name, _ in flat(state)] == ["net.0", "net.1.step", "none", "list", "x"]


@pytest.fixture(scope="module")
def text():
    from hw.designs import DESIGNS
    from hw.verilog import to_verilog
    from tests.legal_configs import legal_config

    return to_verilog(DESIGNS["gae"].kernel(legal_config("gae", 0)), name="gae")


def test_a_netlist_has_no_names_and_no_order(text):
    """Renamed inner signals and shuffled statements are the same netlist."""
    rng, plain = random.Random(3), netlists._COMMENT.sub("", text)
    found = list(netlists._MODULE.finditer(plain))
    assert len(found) > 30
    for module in found:
        _, name, ports, body = module.groups()
        statements = netlists._statements(body)
        assert "".join(statements) == body
        rng.shuffle(statements)
        outside = {port.strip() for port in ports.replace("\n", " ").split(",")}
        names = {
            match[1]: f"other_{rng.randrange(10**9)}"
            for each in statements
            if (match := netlists._DECLARED.match(each)) and match[1] not in outside
        }
        other = netlists._NAME.sub(
            lambda word, names=names: names.get(word[0], word[0]), "".join(statements)
        )
        whole = f"module {name}({ports});\n{{}}endmodule\n"
        assert dict(netlists.modules(whole.format(body))) == dict(
            netlists.modules(whole.format(other))
        ), name


def test_every_digit_of_a_netlist_counts(text):
    rng, plain = random.Random(4), netlists._COMMENT.sub("", text)
    before = dict(netlists.modules(plain))
    assert len(before) == plain.count("\nendmodule")
    constants = list(re.finditer(r"(?<=')[hb]\d(?=[;,\]) ])|(?<=\[)\d+(?=:)", plain))
    for spot in rng.sample(constants, 12):
        other = spot[0][:-1] + ("1" if spot[0][-1] == "0" else "0")
        changed = dict(netlists.modules(plain[: spot.start()] + other + plain[spot.end() :]))
        assert len(list(compare(before, changed))) == 1, plain[spot.start() - 80 : spot.end() + 20]


def test_check_names_what_differs(monkeypatch, capsys, tmp_path):
    """Also a part that is gone, and one that is new."""
    file = tmp_path / "freeze.json"
    monkeypatch.setattr(freeze, "FILE", file)
    values = {"a": 1, "b": np.float32([1, 2])}
    monkeypatch.setattr(freeze, "parts", lambda quick=False: {"one": lambda folder: dict(values)})
    freeze.write([])
    assert json.loads(file.read_text())["one"].keys() == {"a", "b"}
    with pytest.raises(SystemExit, match="0"):
        freeze.check([])
    values["b"], values["c"] = np.float64([1, 2]), None
    file.write_text(file.read_text()[:-2] + ', "gone": {"x": "1"}}')
    with pytest.raises(SystemExit, match="1"):
        freeze.check([])
    assert capsys.readouterr().out.splitlines()[-4:] == [
        "one: b: changed", "one: c: added", "gone: removed", "freeze: 3 differences",
    ]  # fmt: skip


def test_paths_and_numbers_of_a_run_are_left_out():
    plain = recorder._plain("out must be a file, not '/tmp-x/ab/c.npz' (0x7f00aa, 3.5 s)")
    assert plain == "out must be a file, not 'PATH' (ADDRESS, NUMBER s)"


def test_files_of_before_are_read():
    """A checkpoint, a policy and a run's folder; ``test_it_is_as_it_was_written`` goes on there."""
    assert {path.name for path in runs.WRITTEN.iterdir()} == {
        "best.npz", "checkpoint.npz", "progress.csv", "summary.json",
    }  # fmt: skip
