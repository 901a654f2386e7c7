"""What is generated of the small design: clean Verilog, its document, every board's files."""

import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import serial
from design.adder.commands import Opcode
from design.adder.design import DESIGN
from design.adder_programs import kernel_config
from uart.serial_port import SerialPort

import boards
from boards.memory import banks
from host.cards import open_card
from host.cli import main
from host.kernels import generate
from host.programs.launcher import Launcher
from hw.shell.description import KernelDescription
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog
from sim.uart import VerilatedSystem
from system.tools import require
from tests.boards.packed import check_block_design, check_ip, check_kernel
from tests.boards.test_verilog import TOOLS
from tests.boards.vendor import described, run, written

#: Bits of the masters, half of the board's for the vectors.
WIDTHS = {"u50": (512, 256), "u200": (512, 256), "zcu106": (128, 64), "ulx3s": (128, 64)}


def test_command_line_and_lint(tmp_path, monkeypatch, capsys):
    command = ["rlfabric", "verilog", "adder", "--board", "u50", "--lint", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    codes = []
    monkeypatch.setattr(main, "leave", codes.append)
    main.main()
    assert codes == [0]
    assert "clean under verilator --lint-only -Wall" in capsys.readouterr().out


@pytest.mark.parametrize("board", ["u50", "zcu106"])
def test_verilog_is_clean(tmp_path, board):
    directory = generate("adder", board, tmp_path)
    for tool in TOOLS:
        tool(directory, "adder")


def test_document(tmp_path):
    """All that a user of the registers needs, from the tables that the user wrote."""
    text = (generate("adder", "u50", tmp_path, capacity=500) / "registers.md").read_text()
    for line in (
        "| 4 | `x` | 0x040 | 8 | buffer, read through `m_axi_vectors` |",
        "| 6 | `command_count` | 0x058 | 4 | commands |",
        "| 11 | `x_bytes` | 0x080 | 4 | bytes of `x` |",
        "| `m_axi_host` | 512 | 64 | read and written | "
        "`program`, `operands`, `results`, `status` |",
        "| `m_axi_vectors` | 256 | 32 | read | `x`, `y` |",
        "| 0x04 | `count` | u32 | 1..500 | numbers, u32 each |",
        "| 0x10 | `x` | u32 |  | byte offset in x, a multiple of 64 |",
        "- `results`: `count` sums; zeros fill the last beat",
        "- error 16 unless a BIAS came before",
        "| 0x10 | `cycles` | u32 |  | last ADD: clocks from its start to its end |",
        "| 16 | `bias` | ADD before any BIAS |",
        "| `vectors_engine.data_width` | `256` |",
    ):
        assert f"{line}\n" in text, line
    bias = text.split("### BIAS")[1].split("### ADD")[0]
    assert "| 0x04 | `count` | u32 | 0 | 0 |\n" in bias, "it has none"


@pytest.mark.parametrize("board", WIDTHS)
def test_widths_follow_the_board(board):
    description = described("adder", board)
    assert tuple(master.data_width for master in description.masters) == WIDTHS[board]
    assert [master.access for master in description.masters] == ["rw", "r"]
    assert KernelDescription.from_json(description.to_json()) == description


def test_alveo(tmp_path):
    """kernel.xml, link.cfg and the packaging script, which runs under tclsh."""
    require("tclsh")
    description, folder = described("adder", "u50"), tmp_path / "kernel"
    written(folder, description, "u50")
    record = run(folder, "package.tcl", description)
    check_ip(record, description, boards.get("u50"), vitis=True)
    check_kernel(record, description)
    root = ElementTree.fromstring((folder / "kernel.xml").read_text())
    ports = {port.get("name"): port.get("dataWidth") for port in root.iter("port")}
    assert ports == {"s_axi_control": "32", "m_axi_host": "512", "m_axi_vectors": "256"}
    text = (folder / "link.cfg").read_text()
    found = dict(re.findall(r"^sp=adder_1\.(\w+):(\S+)$", text, re.M))
    host = dict.fromkeys(("program", "operands", "results", "status"), "HBM[0]")
    assert found == {**host, "x": "HBM[1]", "y": "HBM[1]"}


@pytest.mark.parametrize("width", [128, 512])
def test_zynq(tmp_path, width):
    """The processor's port is as wide as the board's, whatever the masters are."""
    require("tclsh")
    board, folder = boards.get("zcu106"), tmp_path / "kernel"
    settings = {"engine.data_width": width, "engine.burst_beats": 64}
    description = described("adder", "zcu106", **settings)
    written(folder, description, "zcu106")
    record = run(folder, "build.tcl", description)
    check_ip(record, description, board, vitis=False)
    check_block_design(record, description, board, megahertz=board.clocks[0].mhz, shared=False)
    assert "`S_AXI_HP0_FPD`, 128 bits" in (folder / "README.md").read_text()


class Line:
    """A Verilated board as ``SerialPort`` wants one."""

    def __init__(self, system):
        self.system = system

    def exchange(self, data):
        clocks = 10 * self.system.divisor * (len(data) + 40)
        answer = self.system.run(clocks, data)
        while more := self.system.run(clocks):
            answer += more
        return answer


@pytest.mark.long
def test_serial_line(tmp_path, monkeypatch):
    """Block RAM of its own width behind each master, through the host's card ``uart``."""
    config = kernel_config(128, 64)
    description = DESIGN.describe(config)
    uart = UartConfig(clock_hz=12_000_000, banks=(20 << 10, 8 << 10))
    verilog = to_verilog(System(DESIGN.kernel(config), uart), name="system")
    system = VerilatedSystem(verilog, divisor=uart.divisor)
    monkeypatch.setattr(serial, "Serial", lambda *_, **__: SerialPort(Line(system)))
    (tmp_path / "kernel.json").write_text(description.to_json())
    x, y = np.arange(33, dtype="<u4"), np.arange(33, dtype="<u4") << 16
    with open_card("uart:/dev/board") as card:
        kernel = card.load(tmp_path / "kernel.json")
        vectors = {name: kernel.buffer(name, 4096) for name in ("x", "y")}
        for name, vector in (("x", x), ("y", y)):
            vectors[name].write(vector)
        launcher = Launcher(kernel, pointers=vectors)
        raw = launcher.run(
            [(Opcode.BIAS, {"bias": 9}), (Opcode.ADD, {"count": 33})], results_bytes=192
        )
    system.close()
    np.testing.assert_array_equal(raw[:132].view("<u4"), x + y + 9)
    assert not raw[132:144].any()


def test_ulx3s(tmp_path):
    """A bank for each master; the default fits, and one number more does not."""
    description = described("adder", "ulx3s")
    written(tmp_path, description, "ulx3s")
    config = json.loads((tmp_path / "uart.json").read_text())
    assert config["banks"] == [bank.size for bank in banks(description, boards.get("ulx3s"))]
    assert description.config["capacity"] == 24_576
    with pytest.raises(boards.DoesNotFit, match=r"capacity must be at most 24576 .*BRAM\[1\]"):
        described("adder", "ulx3s", capacity=24_577)
