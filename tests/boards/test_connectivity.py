"""link.cfg: the bank of every buffer, and the die of the kernel."""

import re
from dataclasses import replace

import pytest

import boards
from boards import DoesNotFit, bitstream
from hw.designs import DESIGNS

#: A kernel that fits every die, as `rlfabric report` would have it.
SMALL = {"lut": 60_000, "ff": 30_000, "bram36": 20, "uram": 90, "dsp": 40}
#: README, "Area": `dqn` in fixed point, 2^20 experiences.
DQN = {"lut": 201_363, "ff": 182_334, "bram36": 172, "uram": 187, "dsp": 946}


def texts(design, board, options=None, **changes):
    board, entry = boards.get(board), DESIGNS[design]
    config = entry.default(board.numbers)
    if changes:
        config = replace(config, replay=replace(config.replay, **changes))
    return entry.describe(config), bitstream.files(entry.describe(config), board, **(options or {}))


def link(design, board, options=None, **changes):
    """``{argument: bank}`` and the die of ``link.cfg``."""
    description, files = texts(design, board, options, **changes)
    text = files["link.cfg"]
    assert f"nk={design}:1:{design}_1\n" in text
    banks = dict(re.findall(rf"^sp={design}_1\.(\w+):(\S+)$", text, re.M))
    die = re.findall(rf"^slr={design}_1:SLR(\d)$", text, re.M)
    assert sorted(banks) == sorted(a.name for a in description.arguments if a.kind == "pointer")
    return banks, die


def test_banks():
    host = ("program", "operands", "results", "status")
    banks, _ = link("replay", "u200")
    assert banks == {**dict.fromkeys(host, "DDR[1]"), "storage": "DDR[0]"}
    banks, _ = link("replay", "u50")
    assert banks == {**dict.fromkeys(host, "HBM[0]"), "storage": "HBM[1]"}
    assert set(link("gae", "u50")[0].values()) == {"HBM[0]"}


@pytest.mark.parametrize("board", ["u200", "u50"])
@pytest.mark.parametrize("design", DESIGNS)
def test_an_estimate_is_not_enough_for_a_die(design, board):
    """It leaves most of the logic out: a learner would be kept where it does not fit."""
    assert link(design, board)[1] == []
    _, files = texts(design, board)
    assert f"After `rlfabric report\n{design} --board {board}`" in files["README.md"]


@pytest.mark.parametrize(
    "board, mapped, die",
    [
        # That of the host's bank, which is the middle one, with half the logic of the others.
        ("u200", SMALL, ["1"]),
        # Shares of FINN's: 0.7 of 159854 lookup tables, 0.8 of 160 blocks.
        ("u200", {**SMALL, "lut": 111_897}, ["1"]),
        ("u200", {**SMALL, "lut": 111_898}, ["0"]),
        ("u200", {**SMALL, "uram": 129}, ["0"]),
        ("u200", DQN, ["0"]),
        ("u200", {**DQN, "lut": 250_000}, []),
        ("u50", DQN, ["0"]),
        ("u50", {**DQN, "dsp": 2_100}, ["1"]),
        ("u50", {**DQN, "lut": 400_000}, []),
    ],
)
def test_die_by_what_is_mapped(board, mapped, die):
    assert link("dqn", board, {"mapped": mapped})[1] == die
    _, files = texts("dqn", board, {"mapped": mapped})
    said = f"kept in SLR{die[0]}, where" if die else "kept in one die: it is too large for each"
    assert said in files["README.md"]


# hw_core 12
def test_banks_of_no_known_die(monkeypatch):
    """``Bank.region`` may be None: the tools place the kernel; one that is known decides."""
    board = boards.get("u50")
    for known, die in (((), []), ((1,), ["1"])):
        regions = [*known, *[None] * (32 - len(known))]
        banks = tuple(
            replace(bank, region=region) for bank, region in zip(board.banks, regions, strict=True)
        )
        monkeypatch.setitem(boards.BOARDS, "u50", replace(board, banks=banks))
        assert link("dqn", "u50", {"mapped": SMALL})[1] == die
        _, files = texts("dqn", "u50", {"mapped": SMALL})
        assert ("the dies of its memory banks are not known" in files["README.md"]) != bool(die)


def test_a_large_buffer_has_a_range_of_banks():
    """Through the RAMA at the port of the first, which no other master has."""
    beats = (256 << 20) // 64
    for capacity, name in (
        (beats, "HBM[1]"),
        (beats + 1, "HBM[1:2].1.RAMA"),
        (2 * beats + 1, "HBM[1:3].1.RAMA"),
    ):
        assert link("replay", "u50", capacity=capacity)[0]["storage"] == name


@pytest.mark.parametrize(
    "storage_bytes, name",
    [
        (1, "HBM[1]"),
        (256 << 20, "HBM[1]"),
        ((256 << 20) + 1, "HBM[1:2].1.RAMA"),
        # 2^18 frames of Atari, 28 KB each.
        ((28 << 10) << 18, "HBM[1:28].1.RAMA"),
        (31 * (256 << 20), "HBM[1:31].1.RAMA"),
    ],
)
def test_storage_of_long_experiences(storage_bytes, name):
    banks, _ = link("replay", "u50", {"storage_bytes": storage_bytes})
    assert banks["storage"] == name and banks["program"] == "HBM[0]"
    _, files = texts("replay", "u50", {"storage_bytes": storage_bytes})
    assert f"| `m_axi_storage` | `storage` | `{name}` |" in files["README.md"]


@pytest.mark.parametrize(
    "board, limit, bank",
    [("u50", 31 * (256 << 20), r"HBM\[1:31\]"), ("u200", 16 << 30, r"DDR\[0\]"),
     ("zcu106", 2 << 30, "DDR_HIGH"), ("ulx3s", 192 << 10, r"BRAM\[1\]")],
)  # fmt: skip
def test_more_storage_than_there_is(board, limit, bank):
    where = rf"\(buffer storage in bank {bank} of {limit} bytes\), not {limit + 1}"
    message = rf"storage_bytes must be at most {limit} on .* {where}"
    with pytest.raises(DoesNotFit, match=message):
        texts("replay", board, {"storage_bytes": limit + 1})
