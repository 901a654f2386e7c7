"""The boards are what the sources say, and refuse what does not fit."""

from dataclasses import replace

import pytest

import boards
from boards.board import Board
from hw.estimate import Estimate, fits, times, together

#: Bytes of a bank of the Alveo U50.
_HBM = 256 << 20


def test_names_and_titles():
    assert list(boards.BOARDS) == ["u200", "u50", "ulx3s", "zcu106"]
    assert boards.get("U200") is boards.get("u200")
    assert all(board.name == name for name, board in boards.BOARDS.items())


@pytest.mark.parametrize(
    "name, part, family, platform",
    [
        ("u200", "xcu200-fsgd2104-2-e", "xcup", "xilinx_u200_gen3x16_xdma_2_202110_1"),
        ("u50", "xcu50-fsvh2104-2-e", "xcup", "xilinx_u50_gen3x16_xdma_5_202210_1"),
        ("zcu106", "xczu7ev-ffvc1156-2-e", "xcup", "xilinx.com:zcu106:part0:2.6"),
        ("ulx3s", "LFE5U-85F-6BG381C", "ecp5", None),
    ],
)
def test_what_tools_call_it(name, part, family, platform):
    board = boards.get(name)
    assert (board.part, board.family, board.platform) == (part, family, platform)


@pytest.mark.parametrize(
    "name, regions",
    [
        # UG1702, "Memory Information": the SLR of each controller.
        ("u200", {"DDR[0]": 0, "DDR[1]": 1, "DDR[2]": 1, "DDR[3]": 2}),
        # UG1120: the stack is at the lower die.
        ("u50", {f"HBM[{index}]": 0 for index in range(32)}),
    ],
)
def test_region_of_each_bank(name, regions):
    assert {bank.name: bank.region for bank in boards.get(name).banks} == regions


def test_unknown_board_names_the_known_ones():
    message = "board must be one of u200, u50, ulx3s, zcu106, not 'u280'"
    with pytest.raises(ValueError, match=message):
        boards.get("u280")


@pytest.mark.parametrize(
    "name, banks, bank_bytes, data_width",
    [
        ("u200", 4, 16 << 30, 512),
        ("u50", 32, 31 * (256 << 20), 512),
        ("zcu106", 2, 2 << 30, 128),
        ("ulx3s", 2, 192 << 10, 128),
    ],
)
def test_memory(name, banks, bank_bytes, data_width):
    board = boards.get(name)
    assert len(board.banks) == banks
    assert len({bank.name for bank in board.banks}) == banks
    assert board.numbers["bank_bytes"] == bank_bytes
    assert board.numbers["data_width"] == data_width
    assert board.numbers["ultra_ram"] == (name != "ulx3s")


def test_usable_is_the_planning_share_of_what_the_shell_leaves():
    # Floor of 0.8 x (320 + 160 + 320), of 0.7 x (354831 + 159854 + 354962), of 0.5 x ...
    usable = boards.get("u200").usable
    assert (usable.uram, usable.lut, usable.ff) == (640, 608_752, 889_218)
    # 0.85 x (83640 - 3977), 0.85 x (83640 - 1709), 0.85 x (104 - 81), 0.85 x 156
    usable = boards.get("ulx3s").usable
    assert (usable.lut, usable.ff, usable.bram36, usable.dsp) == (67_713, 69_641, 19, 132)


@pytest.mark.parametrize("board", boards.BOARDS.values(), ids=lambda board: board.name)
def test_regions_are_no_more_than_the_part(board):
    for name, total in board.total.to_dict().items():
        counts = [getattr(region, name) for region in board.regions]
        assert total is None or sum(counts) <= total, name
    assert board.numbers["clock_hz"] == board.clocks[0].mhz * 10**6


def test_fits_up_to_the_last_item():
    board = boards.get("zcu106")
    boards.fits(board, (2 << 30) // 48, 48, buffer="storage")
    with pytest.raises(boards.DoesNotFit) as error:
        boards.fits(board, (2 << 30) // 48 + 1, 48, buffer="storage")
    assert str(error.value) == (
        "capacity must be at most 44739242 on ZCU106 "
        "(buffer storage in bank DDR_LOW of 2147483648 bytes, 48 bytes each), not 44739243"
    )


def test_banks_that_join_fit_as_one():
    board = boards.get("u50")
    limit = 31 * (256 << 20) // 64
    boards.fits(board, limit, 64, buffer="storage")
    with pytest.raises(boards.DoesNotFit, match=rf"at most {limit} .*bank HBM\[1:31\] of"):
        boards.fits(board, limit + 1, 64, buffer="storage")


@pytest.mark.parametrize(
    "name, sizes, expected",
    [
        ("u200", [1], ["DDR[1]"]),
        ("u200", [0, 0, 16 << 30], ["DDR[1]", "DDR[0]", "DDR[2]"]),
        ("u200", [1] * 6, ["DDR[1]", "DDR[0]", "DDR[2]", "DDR[3]", "DDR[3]", "DDR[3]"]),
        ("u50", [_HBM + 1], ["HBM[0:1]"]),
        ("u50", [0, _HBM], ["HBM[0]", "HBM[1]"]),
        ("u50", [0, _HBM + 1], ["HBM[0]", "HBM[1:2]"]),
        ("u50", [0, 31 * _HBM], ["HBM[0]", "HBM[1:31]"]),
        # Whichever master it is, the others' banks lie beside its range, as long as there are any.
        ("u50", [0, _HBM + 1, 0, 0], ["HBM[0]", "HBM[1:2]", "HBM[3]", "HBM[4]"]),
        ("u50", [2 * _HBM, 0, 3 * _HBM], ["HBM[0:1]", "HBM[2]", "HBM[3:5]"]),
        ("u50", [0, 31 * _HBM, 0], ["HBM[0]", "HBM[1:31]", "HBM[31]"]),
        ("zcu106", [0, 1], ["DDR_LOW", "DDR_HIGH"]),
        # What grows is not on chip.
        ("zcu106", [1], ["DDR_LOW"]),
    ],
)
def test_assign(name, sizes, expected):
    banks = boards.get(name).assign(sizes)
    assert [bank.name for bank in banks] == expected
    assert all(bank.size >= size for bank, size in zip(banks, sizes, strict=True))


@pytest.mark.parametrize(
    "name, masters, storage, expected",
    [
        # Of ten masters, those of the storage take turns on the banks from its first one on.
        ("u200", 10, 2, "1 0 2 3 2 3 2 3 2 3"),
        ("u200", 7, 1, "1 0 2 3 0 2 3"),
        ("u200", 6, 3, "1 0 2 3 3 3"),
        ("u200", 4, 1, "1 0 2 3"),
        # It has no bank of its own.
        ("u200", 7, 5, "1 0 2 3 3 3 3"),
    ],
)
def test_more_masters_than_banks(name, masters, storage, expected):
    banks = boards.get(name).assign([0] * masters, storage=storage)
    assert [bank.name for bank in banks] == [f"DDR[{number}]" for number in expected.split()]


def test_memory_of_each_master_alone_is_cut():
    """Block RAM behind two masters is not there twice; a part is whole pages."""
    board = boards.get("ulx3s")
    assert [bank.size for bank in board.assign([0, 0])] == [128 << 10, 192 << 10]
    assert [bank.size for bank in board.assign([0, 0, 0])] == [128 << 10, 96 << 10, 96 << 10]
    parts = [bank.size for bank in board.assign([0] * 6)]
    assert parts == [128 << 10] + [9 * 4096] * 5


@pytest.mark.parametrize(
    "masters, taken, expected",
    [
        (1, 4096, ["URAM"]),
        (1, 1 << 20, ["URAM"]),
        (1, (1 << 20) + 1, ["DDR_LOW"]),
        # Storage has a master of its own.
        (2, 4096, ["DDR_LOW", "DDR_HIGH"]),
    ],
)
def test_memory_on_chip_holds_all_that_is_taken_at_once(masters, taken, expected):
    banks = boards.get("zcu106").assign([1] * masters, taken=taken)
    assert [bank.name for bank in banks] == expected
    assert boards.get("u200").assign([1], taken=4096)[0].name == "DDR[1]"


def test_no_board_is_listed_by_hand(tmp_path, monkeypatch):
    """A folder is all that a new board is."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text(
        "from dataclasses import replace\nimport boards\n"
        "MINE = replace(boards.get('u50'), name='mine', title='Mine')\n"
    )
    monkeypatch.setattr(boards, "__path__", [str(tmp_path)])
    assert [board.name for board in boards._found()] == ["mine"]


def test_resources_up_to_the_last_one():
    board = boards.get("zcu106")
    boards.fits_resources(board, Estimate(uram=76))
    with pytest.raises(boards.DoesNotFit, match="uram must be at most 76 on ZCU106 .*, not 77"):
        boards.fits_resources(board, Estimate(uram=77))


def test_an_ecp5_is_judged_by_its_own_counts():
    board, few = boards.get("ulx3s"), Estimate(lut=10, ff=10, bram36=1, uram=0, dsp=1)
    assert boards.needs(board, replace(few, ecp5=(20, 11, 2, 0, 3)))["lut"] == 20
    for number, (name, limit) in enumerate(board.usable.to_dict().items()):
        need = [0] * 5
        need[number] = limit
        boards.fits_resources(board, replace(few, ecp5=tuple(need)))
        need[number] += 1
        with pytest.raises(boards.DoesNotFit, match=f"^{name} must be at most {limit} on ULX3S"):
            boards.fits_resources(board, replace(few, ecp5=tuple(need)))


def test_unknown_needs_are_named():
    ulx3s, u200 = boards.get("ulx3s"), boards.get("u200")
    known = Estimate(lut=10**9, ff=1, bram36=1, uram=0, dsp=1)
    assert boards.unknown(ulx3s, known) == ["lut", "ff", "bram36", "uram", "dsp"]
    assert boards.unknown(u200, known) == []
    assert boards.unknown(u200, Estimate(lut=1, ff=1, bram36=1, uram=0)) == ["dsp"]
    boards.fits_resources(ulx3s, replace(known, dsp=132))  # unknown there
    with pytest.raises(boards.DoesNotFit, match="^lut must be at most"):
        boards.fits_resources(u200, known)


def test_a_lower_bound_refuses_what_is_unknown():
    """Counts that are known, and of the rest a multiplier for each DSP block, or a bound of its
    own. Not what UltraScale+ would take."""
    board, known = boards.get("ulx3s"), Estimate(lut=1, ff=1, ecp5=(67_000, 1, 2, 0, 30))
    for need, name, limit, least in (
        ([known, Estimate(lut=10**6, dsp=102)], None, None, None),
        ([known, Estimate(lut=10**6, dsp=103)], "dsp", 132, 133),
        ([known, Estimate(dsp=1, ecp5_least=(713, 0, 17, 0, 102))], None, None, None),
        ([known, Estimate(dsp=1, ecp5_least=(714, 0, 0, 0, 0))], "lut", 67_713, 67_714),
        ([known, Estimate(dsp=1, ecp5_least=(0, 0, 17.5, 0, 0))], "bram36", 19, 19.5),
    ):
        whole = together([*need, times(0, Estimate(dsp=10**3))])
        assert boards.unknown(board, whole) == ["lut", "ff", "bram36", "uram", "dsp"]
        assert set(boards.needs(board, whole).values()) == {None}
        assert fits(whole, board.numbers) == (name is None)
        if name is None:
            boards.fits_resources(board, whole)
        else:
            message = f"^{name} must be at most {limit} on ULX3S-85F .*, not {least} or more$"
            with pytest.raises(boards.DoesNotFit, match=message):
                boards.fits_resources(board, whole)
    # What is known exactly is said exactly, and a bound beside it does not count.
    with pytest.raises(boards.DoesNotFit, match="not 200$"):
        boards.fits_resources(board, Estimate(dsp=1, ecp5=(0, 0, 0, 0, 200)))
    boards.fits_resources(board, replace(known, ecp5_least=(10**6,) * 5))


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(data_width=256), "data_width must be 128 or 512, not 256"),
        (dict(releases=None), "releases must be those of platform 'xilinx_u50_.*', not None"),
        (dict(platform=None), r"releases must be those of platform None, not \('2022.1', None\)"),
        (dict(flow="ise"), "flow must be one of vitis, vivado, nextpnr, not 'ise'"),
        (dict(banks=()), r"banks must be one or more, not \(\)"),
        (dict(regions=()), r"regions must be one or more, not \(\)"),
        (dict(clocks=()), r"clocks must be one or more, not \(\)"),
    ],
)
def test_bad_boards_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(boards.get("u50"), **change)


def test_board_to_json_is_stable():
    board = boards.get("u200")
    assert board.to_json() == replace(board).to_json()
    assert isinstance(board, Board) and board.hash64 == replace(board).hash64
