"""Card pynq over a stand-in for the package pynq: buffers, launches, what may be missing."""

import sys

import numpy as np
import pytest

from host.cards import CapacityError, CardError, CardTimeout, open_card
from hw.errors import MissingTool
from hw.shell.control_map import CTRL
from tests.host.pynq_board import CONTROLLER, DESCRIPTION, DONE, SHARED, SHARED_SIZE, Board, Clocks


@pytest.fixture
def board(monkeypatch):
    board = Board()
    monkeypatch.setitem(sys.modules, "pynq", board)
    return board


@pytest.fixture
def on_chip(board):
    """The board with memory on chip, in which the kernel's buffers must lie."""
    board.types.append(CONTROLLER)
    return board


@pytest.fixture
def files(tmp_path):
    (tmp_path / "kernel.json").write_text(DESCRIPTION.to_json())
    for name in ("copy.bit", "copy.hwh"):
        (tmp_path / name).write_text("")
    return tmp_path


def prepared(kernel, data):
    arguments = {
        a.name: kernel.buffer(a.name, 4096) for a in DESCRIPTION.arguments if a.kind == "pointer"
    }
    arguments["operands"].write(data)
    sizes = {"command_count": 1, "operands_bytes": data.nbytes, "results_bytes": 4096}
    return arguments | sizes


@pytest.mark.parametrize("place", ["board", "on_chip"])
def test_launches(request, place, files):
    board = request.getfixturevalue(place)
    data = np.random.default_rng(0).integers(0, 1 << 32, 512, np.uint32)
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        assert board.log == [str(files / "copy.bit")]
        kernel = card.load(files / "kernel.json")
        kernel.check()
        arguments = prepared(kernel, data)
        for count in (512, 17):
            arguments["results"].write(np.zeros(1024, np.uint32))
            kernel.launch(**{**arguments, "operands_bytes": 4 * count})
            got = arguments["results"].read(np.uint32, 1024)
            assert (got[:count] == data[:count]).all() and not got[count:].any()
            arguments["results"].view[:] = 0
            part = arguments["results"].read(np.uint32, 9, offset=32)
            assert (part == data[8:17]).all() and not arguments["results"].view[:32].any()
    offsets = [a.offset for a in DESCRIPTION.arguments]
    assert set(offsets) <= set(board.registers)


@pytest.mark.parametrize("place", ["board", "on_chip"])
def test_what_is_not_copied_to_the_card_is_not_seen(request, place, files):
    """The stand-in itself: without it, a forgotten flush would pass."""
    request.getfixturevalue(place)
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        arguments = prepared(kernel, np.zeros(4, np.uint32))
        arguments["operands"].view[:16] = 5
        kernel.launch(**arguments)
        assert not arguments["results"].read(np.uint8, 16).any()
        arguments["operands"].to_device(16)
        kernel.launch(**arguments)
        assert not (arguments["results"].view[:16] == 5).any()
        assert (arguments["results"].read(np.uint8, 16) == 5).all()


def test_the_end_of_an_abandoned_launch_is_not_taken_for_the_next_ones(board, files):
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        arguments = prepared(kernel, np.full(4, 7, np.uint32))
        board.registers[CTRL.offset] = DONE | 4
        kernel.launch(**arguments)
        assert (arguments["results"].read(np.uint32, 4) == 7).all()


def test_a_launch_that_does_not_end(board, files):
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        arguments = prepared(kernel, np.zeros(4, np.uint32))
        board.stuck = True
        with pytest.raises(CardTimeout, match=r"not stand still: CTRL reads 0x1 \(ap_start\)"):
            kernel.launch(timeout_s=0.05, **arguments)
        with pytest.raises(CardError, match="must have ended its last launch"):
            kernel.launch(**arguments)
        board.stuck, overlays = False, len(board.log)
        # Nothing but the bitstream stops what the kernel does.
        kernel = card.load(files / "kernel.json")
        assert len(board.log) == overlays + 1
        arguments = prepared(kernel, np.full(4, 7, np.uint32))
        kernel.launch(**arguments)
        assert (arguments["results"].read(np.uint32, 4) == 7).all()


def test_no_kernel_at_the_address(board, files):
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        arguments = prepared(kernel, np.zeros(4, np.uint32))
        board.dead = True
        with pytest.raises(CardError, match="CTRL reads 0xffffffff: no kernel at its address"):
            kernel.launch(**arguments)


@pytest.mark.parametrize("count", [0, 2])
def test_overlay_without_the_kernel(board, files, count):
    board.types = ["rlfabric:kernel:copy:1.0"] * count + ["rlfabric:kernel:copy2:1.0"]
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        with pytest.raises(RuntimeError, match=f"must have one kernel copy, not {count}; it has"):
            card.load(files / "kernel.json")


def test_no_memory_left(board, files):
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        with pytest.raises(RuntimeError, match="size must fit what is left .*, not 2097152 bytes"):
            kernel.buffer("results", 2 << 20)


def test_buffers_lie_on_chip(on_chip, files):
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        arguments = prepared(kernel, np.arange(64, dtype=np.uint32))
        pointers = [a for a in DESCRIPTION.arguments if a.kind == "pointer"]
        places = [arguments[a.name].bo.address() for a in pointers]
        assert places == [SHARED + 4096 * k for k in range(len(pointers))] and not on_chip.cells
        kernel.launch(**arguments)
        for argument, place in zip(pointers, places, strict=True):
            words = [on_chip.registers[argument.offset + k] for k in (0, 4)]
            assert words == [place, 0]
        at = arguments["results"].bo.address() - SHARED
        assert (on_chip.shared[at : at + 256].view(np.uint32) == np.arange(64)).all()


@pytest.mark.parametrize("offset, size", [(0, 1), (3, 2), (5, 6), (4, 8), (60, 4), (63, 1), (7, 0)])
def test_parts_of_words_on_chip(on_chip, files, offset, size):
    """What is read is the part; what is written is the words that it is in."""
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        buffer = card.load(files / "kernel.json").buffer("results", 64)
        at = buffer.bo.address() - SHARED
        card_data, data = on_chip.shared[at : at + 64], np.arange(100, 164, dtype=np.uint8)
        card_data[:] = np.arange(64)
        buffer.view[:] = 255
        buffer.from_device(size, offset)
        expected = np.full(64, 255)
        expected[offset : offset + size] = np.arange(64)[offset : offset + size]
        assert (buffer.view == expected).all()
        buffer.view[:] = data
        buffer.to_device(size, offset)
        expected = np.arange(64)
        if size:
            words = slice(offset // 4 * 4, -(-(offset + size) // 4) * 4)
            expected[words] = data[words]
        assert (card_data == expected).all()


def test_no_memory_left_on_chip(on_chip, files):
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        kernel = card.load(files / "kernel.json")
        message = r"at most 65536 bytes for results \(bank URAM of 64 KB, 0 bytes used\), not 65537"
        with pytest.raises(CapacityError, match=message):
            kernel.buffer("results", SHARED_SIZE + 1)
        kept = kernel.buffer("results", SHARED_SIZE)
        with pytest.raises(CapacityError, match="at most 0 bytes for program .* 65536 bytes used"):
            kernel.buffer("program", 1)
        del kept
        kernel.buffer("program", SHARED_SIZE)


def test_memory_on_chip_that_keeps_nothing(on_chip, files):
    on_chip.window.stuck = True
    with open_card(f"pynq:{files / 'copy.bit'}") as card:
        buffer = card.load(files / "kernel.json").buffer("operands", 64)
        with pytest.raises(CardError, match="at 0xa0100000 must hold what .* 0x7, not 0xeeeeeeee"):
            buffer.write(np.full(4, 7, np.uint32))


@pytest.mark.parametrize("missing", ["copy.bit", "copy.hwh"])
def test_files_that_are_missing(board, files, missing):
    (files / missing).unlink()
    with pytest.raises(FileNotFoundError, match=f"{missing} must be built first"):
        open_card(f"pynq:{files / 'copy.bit'}")


def test_a_hardware_description_beside_the_bitstream(board, files):
    """The stand-in refuses it as PYNQ does; the card says why."""
    (files / "copy.xsa").write_text("")
    with pytest.raises(RuntimeError, match="UnknownInputFileExtension"):
        board.Overlay(str(files / "copy.bit"))
    with pytest.raises(FileExistsError, match="copy.xsa must have another name .* beside copy.bit"):
        open_card(f"pynq:{files / 'copy.bit'}")
    (files / "copy.xsa").rename(files / "system.xsa")
    open_card(f"pynq:{files / 'copy.bit'}")


@pytest.mark.parametrize(
    "text, pll, divider, then",
    [
        ("pl_clk0 200 187.498125 0.125", 1499.985, 8, 187.498125),
        ("pl_clk0 200 187.498125 0.125", 1499.985, 9, 166.665),  # slower is right
        ("pl_clk0 200 187.498125 0.125", 1500, 8, 187.5),  # 0.001 % is none
        ("pl_clk0 200 187.498125 0.125", 1499.985, 7, 187.498125),  # faster is set
        ("pl_clk0 200 200.0 -0.556", 1800, 9, 180),  # what missed its timing runs slower
        ("pl_clk0 200 187.498125 0.125", 1333.32, 7, None),  # no divider gives 187, 7 gives 190
        ("pl_clk0 200 187.498125 0.125", 187.7, 1, None),
        (None, 3000, 1, 3000),
    ],
)
def test_clock(board, files, text, pll, divider, then):
    board.Clocks = Clocks(pll, divider)
    if text:
        (files / "clock.txt").write_text(f"{text}\n")
    if then is None:
        with pytest.raises(CardError, match=r"pl_clk0 must be at most 187.498 MHz.*, not 1\d\d\."):
            open_card(f"pynq:{files / 'copy.bit'}")
        assert board.Clocks.written
    else:
        open_card(f"pynq:{files / 'copy.bit'}")
        assert board.Clocks.fclk0_mhz == then


def test_pynq_missing(monkeypatch, files):
    monkeypatch.setitem(sys.modules, "pynq", None)
    with pytest.raises(MissingTool, match="pynq must be importable for card pynq"):
        open_card(f"pynq:{files / 'copy.bit'}")


def test_no_options(board, files):
    with pytest.raises(ValueError, match="options must be none for card pynq:x, not banks"):
        open_card("pynq:x", banks=())
