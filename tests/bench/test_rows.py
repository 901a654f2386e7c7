"""Rows of benches that are made of measurements, without these: ratios, formulas, papers' parts."""

import sys

import pytest

import boards
from bench import bitstreams, row
from bench.fa3c import area
from bench.gae import software as gae
from bench.learner import software
from bench.learner.cf22 import REFERENCES
from bench.replay import peers
from boards.bitstream import AchievedClock, Outcome, Used


def values(rows):
    return {(row["case"], row["metric"], row["reference"]): row for row in rows}


def test_software_is_so_many_times_as_long_as_a_step(monkeypatch):
    monkeypatch.setattr(software, "medians", lambda functions, **_: dict.fromkeys(functions, 1e-3))
    for name in ("torch_step", "jax_step", "twin_step"):
        monkeypatch.setattr(software, name, lambda batch: None)
    net = "4-64-64-2, words 1-8-4-1"
    steps = [
        row("learner", f"{net}, DP=2, float32, B={batch}", "gradient_step_cycles",
            2500.0, "cycles", reference=reference, source="a test")
        for batch in (32, 64, 512) for reference in REFERENCES
    ]  # fmt: skip
    found = values(software.rows(steps))
    assert found[steps[0]["case"], "modelled_step_us", None]["value"] == 10
    assert len(found) == 3 + 3 * 3 * 2
    assert found["4-64-64-2, B=64, torch, eager", "software_over_card", None]["value"] == 100


def test_advantages_by_software_are_so_many_times_as_long(monkeypatch):
    monkeypatch.setattr(
        gae, "implementations", lambda *shape: dict.fromkeys((gae._NUMBA, gae._OURS))
    )
    monkeypatch.setattr(gae, "medians", lambda functions, **_: dict.fromkeys(functions, 1e-3))
    found = values(gae.rows(3000))
    name = f"64 x 1024, {gae._NUMBA}"
    assert found[name, "software_over_array", None]["value"] == 100
    assert (f"16 x 128, {gae._NUMBA}", "software_over_array", None) not in found
    assert (f"64 x 1024, {gae._OURS}", "software_over_array", None) not in found
    assert found["8 x 128", "card_model_over_numba", "bar, at most"]["value"] == 1


def test_draws_by_software_are_so_many_times_as_long(monkeypatch):
    buffer = type("Buffer", (), dict(__init__=lambda *a, **k: None, add=lambda *a, **k: None))
    module = type("cpprb", (), dict(PrioritizedReplayBuffer=buffer))
    monkeypatch.setitem(sys.modules, "cpprb", module)
    monkeypatch.setattr(peers, "CAPACITY", 1 << 16)
    monkeypatch.setattr(peers, "_kary_tree", lambda: (None, None, 1.0, None))
    monkeypatch.setattr(peers, "_median_ns", lambda function, batch: 800.0)
    clocks = [
        row("replay", f"N=2^20, K=16, B={batch}", "sample_cycles", 2 * batch, "cycles",
            source="a test")
        for batch in (32, 64, 256, 512)
    ]  # fmt: skip
    found = values(peers.rows(clocks))
    assert found["N=2^20, K=16, B=32", "clocks_per_index", None]["value"] == 2
    assert found["N=2^20, K=16, B=32", "modelled_sample_ns", None]["value"] == 8
    assert found["N=2^20, B=32, cpprb 11, 1-float record", "peer_over_card", None]["value"] == 100


@pytest.mark.parametrize("part", [*area.TABLE_4, "rounds and commands"])
def test_a_part_of_fa3cs_area_has_blocks_of_both_kinds(part):
    """Which Table 4 counts alike; it has no row for what orders a round."""
    cells = dict(lut=1, ff=2, bram36=3.5, uram=4, dsp=5)
    paper = area.TABLE_4.get(part)
    found = {row["metric"]: row for row in area._compared("a", cells, paper, "Table 4")}
    assert found["blocks"]["value"] == 7.5 and found["bram36"]["reference"] is None
    beside = [found[name]["reference_value"] for name in ("lut", "ff", "blocks", "dsp")]
    assert beside == list(paper or [None] * 4)


def test_bitstreams(monkeypatch, tmp_path):
    """A build for each seed, in one folder for each kernel; without area, none."""
    asked = []

    def package(name, board, out, *, mhz, overwrite, **settings):
        assert board == "ulx3s" and overwrite
        folder = tmp_path / f"{name}{mhz or ''}{settings or ''}"
        folder.mkdir()
        (folder / "kernel.json").write_text(name)
        return folder

    def build(folder, description, board, *, seed):
        asked.append((folder.name, description, board, seed))
        clocks = (AchievedClock(name="KERNEL", asked_mhz=45, mhz=50.0 + seed),)
        used = (Used(name="LUT4", count=44_000, total=83_640), Used(name="EBR", count=3, total=4))
        return Outcome(bitstream=folder / "x.bit", clocks=clocks, used=used)

    monkeypatch.setattr(bitstreams, "package", package)
    monkeypatch.setattr(bitstreams, "build", build)
    monkeypatch.setattr(bitstreams.KernelDescription, "from_json", lambda text: f"<{text}>")
    assert bitstreams.rows() == []
    found = values(bitstreams.rows(area=True))
    own = boards.get("ulx3s", "replay"), boards.get("ulx3s", "dqn")
    assert asked == [
        ("replay", "<replay>", own[0], 1), *(("dqn", "<dqn>", own[1], k) for k in (1, 2, 3)),
        ("dqn{'hidden': (64, 64)}", "<dqn>", own[1], 3),
        *(("dqn42{'play.environments': 8}", "<dqn>", own[1].at(42), k) for k in (1, 2, 8)),
    ]  # fmt: skip
    clock = found["dqn, ULX3S-85F, seed 2", "routed_mhz", "asked for"]
    assert (clock["value"], clock["reference_value"], clock["unit"]) == (52, 45, "MHz")
    assert found["dqn, ULX3S-85F, seed 3", "lut4", None]["value"] == 44_000
    share = found["dqn, ULX3S-85F, seed 3", "lut4_share", "at most"]
    assert (share["value"], share["reference_value"]) == (53, 85)
    assert found["replay, ULX3S-85F, seed 1", "ebr_share", None]["value"] == 75
    assert ("dqn that plays, ULX3S-85F, seed 1", "ff", None) not in found
    assert found["dqn that plays, ULX3S-85F, seed 1", "ebr_share", "at most"]["value"] == 75
