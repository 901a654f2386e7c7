"""link.cfg: the bank of every buffer, and the die of the kernel."""

import re
from dataclasses import replace

import boards
from boards import bitstream
from hw.designs import DESIGNS


def link(design, board, **changes):
    """``{argument: bank}`` and the die of ``link.cfg``."""
    board, entry = boards.get(board), DESIGNS[design]
    config = entry.default(board.numbers)
    if changes:
        config = replace(config, replay=replace(config.replay, **changes))
    text = bitstream.files(entry.describe(config), board)["link.cfg"]
    assert f"nk={design}:1:{design}_1\n" in text
    banks = dict(re.findall(rf"^sp={design}_1\.(\w+):(\S+)$", text, re.M))
    die = re.findall(rf"^slr={design}_1:SLR(\d)$", text, re.M)
    assert sorted(banks) == sorted(
        a.name for a in entry.describe(config).arguments if a.kind == "pointer"
    )
    return banks, die


def test_banks_and_dies():
    host = ("program", "operands", "results", "status")
    banks, die = link("replay", "u200")
    # Its UltraRAM exceeds that of the middle die, where the host's bank is.
    assert banks == {**dict.fromkeys(host, "DDR[1]"), "storage": "DDR[0]"} and die == ["0"]
    assert link("replay", "u200", capacity=1 << 16)[1] == ["1"]
    banks, die = link("replay", "u50")
    assert banks == {**dict.fromkeys(host, "HBM[0]"), "storage": "HBM[1]"} and die == ["0"]
    assert set(link("gae", "u50")[0].values()) == {"HBM[0]"}


def test_a_large_buffer_has_a_range_of_banks():
    beats = (256 << 20) // 64
    for capacity, name in ((beats, "HBM[1]"), (beats + 1, "HBM[1:2]"), (2 * beats + 1, "HBM[1:3]")):
        assert link("replay", "u50", capacity=capacity)[0]["storage"] == name
    # More than a die holds: nothing is said, and the tools spread it.
    assert link("replay", "u200", capacity=beats)[1] == []
