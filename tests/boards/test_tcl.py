"""Generated Tcl runs to its end under a real tclsh; what it asked of the tools is right."""

import re
from dataclasses import replace

import pytest

import boards
from boards.memory import banks
from hw.designs import DESIGNS
from system.tools import require
from tests.boards.packed import check_block_design, check_ip, check_kernel
from tests.boards.vendor import VendorError, described, run, written

ALVEO, ZYNQ = ("u200", "u50"), ("zcu106",)


@pytest.fixture(autouse=True, scope="module")
def tclsh():
    require("tclsh")


def package(folder, design, board, change=lambda file, text: text, **settings):
    description = described(design, board, **settings)
    written(folder / "kernel", description, board, change)
    record = run(folder / "kernel", "package.tcl", description)
    check_ip(record, description, boards.get(board), vitis=True)
    check_kernel(record, description)


def block_design(
    folder,
    design,
    board,
    change=lambda file, text: text,
    *arguments,
    settings=None,
    masters=None,
    **environment,
):
    """``settings`` : what to change of the design's default. ``masters`` : how many it has, if not
    its own number."""
    description, board = described(design, board, **(settings or {})), boards.get(board)
    if masters:
        (first, *_) = description.masters
        more = tuple(replace(first, name=f"m_axi_{k}") for k in range(masters))
        description = replace(description, masters=more)
    written(folder / "kernel", description, board.name, change)
    record = run(folder / "kernel", "build.tcl", description, *arguments, **environment)
    check_ip(record, description, board, vitis=False)
    megahertz = arguments[0] if arguments else board.clocks[0].mhz
    shared = banks(description, board) == (board.shared,)
    check_block_design(record, description, board, megahertz=megahertz, shared=shared)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("board", ALVEO)
def test_kernel_is_packed(tmp_path, design, board):
    package(tmp_path, design, board)
    assert (tmp_path / "kernel" / f"{design}.xo").exists()


def test_masters_are_packed_as_their_engines_are(tmp_path):
    settings = {"engine.depth": 16, "engine.burst_beats": 8, "engine.bursts": 4}
    package(tmp_path, "replay", "u200", **settings)
    text = (tmp_path / "kernel" / "ip.tcl").read_text()
    for line in ("MAX_BURST_LENGTH 8", "NUM_READ_OUTSTANDING 16", "NUM_WRITE_OUTSTANDING 4"):
        assert text.count(f" {line}\n") == 2


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("board", ZYNQ)
def test_block_design(tmp_path, design, board):
    block_design(tmp_path, design, board)
    names = {path.name for path in (tmp_path / "kernel").iterdir()}
    assert {f"{design}.bit", f"{design}.hwh", "system.xsa"} <= names
    # PYNQ 3.0 and 3.1 refuse a bitstream beside which one of its name lies.
    assert f"{design}.xsa" not in names
    clock = (tmp_path / "kernel" / "clock.txt").read_text()
    assert clock == f"pl_clk0 {boards.get(board).clocks[0].mhz} 187.498 0.125\n"


# user D4
@pytest.mark.parametrize("masters", [3, 5, 9])
def test_masters_share_the_ports_of_the_processor(tmp_path, masters):
    """A port each, as far as there are ports; ``check_block_design`` has it of every design."""
    block_design(tmp_path, "replay", "zcu106", masters=masters)
    text = (tmp_path / "kernel" / "README.md").read_text()
    groups = re.findall(r"^\| (`m_axi.*`) \| .* `S_AXI_HP(\d)_FPD`", text, re.M)
    assert [int(port) for _, port in groups] == list(range(min(4, masters)))
    names = [re.findall(r"m_axi_(\d)", row) for row, _ in groups]
    assert names == [[str(k) for k in range(port, masters, 4)] for port in range(min(4, masters))]


def test_block_design_with_memory_on_chip(tmp_path):
    block_design(tmp_path, "gae", "zcu106")
    text = (tmp_path / "kernel" / "README.md").read_text()
    assert "| `m_axi_host` | 1024 KB of UltraRAM at 0xA010_0000, 128 bits |" in text
    assert "S_AXI_HP0" not in text


def test_readme_says_why_memory_is_not_on_chip(tmp_path):
    for design, settings, said in (("gae", {"gae.rows": 128}, True), ("replay", {}, False)):
        block_design(tmp_path, design, "zcu106", settings=settings)
        text = (tmp_path / "kernel" / "README.md").read_text()
        assert ("are larger than URAM, the 1024 KB that" in text) == said
        assert "| `m_axi_host` | the processor's memory, through `S_AXI_HP0_FPD`, 128 bits" in text
        storage = "| `m_axi_storage` | the processor's memory, through `S_AXI_HP1_FPD`, 128 bits |"
        assert (storage in text) == (design == "replay")


def test_another_clock(tmp_path):
    block_design(tmp_path, "replay", "zcu106", lambda file, text: text, "150")
    assert (tmp_path / "kernel" / "clock.txt").read_text().startswith("pl_clk0 150 ")


@pytest.mark.parametrize(
    "environment, message",
    [
        ({"NO_BOARD": "1"}, "board files of ZCU106 must be installed"),
        ({"PROGRESS": "40%"}, "impl_1 must end with a bitstream, not with synth_design Error"),
        ({"SEGMENTS": "QSPI"}, "m_axi_host must reach memory of the processor, which has no"),
    ],
)
def test_block_design_says_what_is_wrong(tmp_path, environment, message):
    with pytest.raises(VendorError, match=message):
        block_design(tmp_path, "replay", "zcu106", **environment)


def planted(old, new):
    """A change that puts ``new`` for ``old`` in the one file of the board that has it."""
    found = []

    def change(file, text):
        if old in text and file.endswith(".tcl"):
            found.append(file)
            return text.replace(old, new, 1)
        return text

    return change, found


IP_ERRORS = [
    ("    m_axi_storage\n} {", "} {"),
    ("    s_axi_control\n", ""),
    ("    m_axi_host\n", "    m_axi_hosts\n"),
    ("-clock ap_clk", "-clock ap_clk_2"),
    ("add_files -norecurse replay.v", "add_files -norecurse kernel.v"),
    ("update_compile_order -fileset sources_1\n", "update_compile_order sources_1 -all\n"),
    ("ipx::unload_core ip/component.xml\n", ""),
    ("ipx::unload_core ip/component.xml", "ipx::unload_core component.xml"),
    ("set core [ipx::current_core]", "set core {}"),
    ("ipx::remove_user_parameter", "ipx::remove_user_parameters"),
    ("AP_DONE 1 read-only", "AP_DONE 2 read-only"),
    ("AP_DONE 1 read-only", "AP_DONE 1 read-write"),
    ("oneToToggle", "modify"),
    ("set register [declare $block GIER 0x004 32", "set register [declare $block GIER 0x008 32"),
    ("declare $block operands 0x01C 64", "declare $block operands 0x01C 32"),
    ("declare $block storage 0x040", "declare $block storage 0x044"),
    ("set_property value m_axi_storage", "set_property value m_axi_host"),
    ("slave_memory_map_ref s_axi_control", "slave_memory_map_ref control"),
    ("set_property value 300000000", "set_property value 250000000"),
    ("set_property value_resolve_type user $frequency\n", ""),
    ("sdx_kernel true", "sdx_kernel false"),
    ("check_integrity -kernel", "check_integrity"),
    ("ipx::update_checksums $core\n", ""),
    ("ipx::save_core $core\n", ""),
    ("MAX_BURST_LENGTH 16", "MAX_BURST_LENGTH 256"),
    ("m_axi_storage NUM_READ_OUTSTANDING 64", "m_axi_storage NUM_READ_OUTSTANDING 2"),
    ("m_axi_host NUM_READ_OUTSTANDING 64", "m_axi_storage NUM_READ_OUTSTANDING 64"),
    ("NUM_WRITE_OUTSTANDING 64", "NUM_READ_OUTSTANDING 64"),
    ("    m_axi_host SUPPORTS_NARROW_BURST 0\n", ""),
    ("SUPPORTS_NARROW_BURST 0", "SUPPORTS_NARROW_BURST 1"),
    ("    set_property value_source constant $parameter\n", ""),
    ("-of $core $interface]]\n    set", "-of $core ap_clk]]\n    set"),
    ("$interface:APERTURE_0", "$interface:APERTURE_1"),
    ("catch {set_property vitis_drc {ctrl_protocol ap_ctrl_hs} $core}\n", ""),
    ("ctrl_protocol ap_ctrl_hs", "ctrl_protocol ap_ctrl_chain"),
    ("ignore_freq_hz true", "ignore_freq_hz false"),
    ("    current_project $project\n    close", "    close"),
    ("close_project -delete", "close_project"),
    ("xcu200-fsgd2104-2-e", "xcu250-figd2104-2L-e"),
    ("source ip.tcl\n", ""),
    ("-kernel_xml kernel.xml", "-kernel_xml kernels.xml"),
    ("-kernel_name replay", "-kernel_name kernel"),
    ("cd [file dirname [file normalize [info script]]]\n", ""),
]


@pytest.mark.parametrize("old, new", IP_ERRORS)
def test_planted_errors_in_packaging(tmp_path, old, new):
    change, found = planted(old, new)
    with pytest.raises((VendorError, AssertionError)):
        package(tmp_path, "replay", "u200", change)
    assert len(found) == 1, "the error must be planted"


DESIGN_ERRORS = [
    ("    m_axi_storage SAXIGP3\n} {\n    set space", "} {\n    set space"),
    ("    m_axi_storage SAXIGP3\n", "    m_axi_storage SAXIGP2\n"),
    ("interface replay_1/m_axi_storage memory_1/S00_AXI\n", ""),
    ("memory_1/S00_AXI", "memory_0/S00_AXI"),
    ("memory_1/M00_AXI processor/S_AXI_HP1", "memory_1/M00_AXI processor/S_AXI_HP0"),
    ("memory_1/M00_AXI processor/S_AXI_HP1", "memory_1/M00_AXI processor/S_AXI_HP2"),
    ("processor/$port/*", "processor/SAXIGP2/*"),
    ("CONFIG.PSU__USE__S_AXI_GP3 1", "CONFIG.PSU__USE__S_AXI_GP3 0"),
    ("CONFIG.PSU__USE__S_AXI_GP4 0", "CONFIG.PSU__USE__S_AXI_GP4 1"),
    ("PSU__SAXIGP3__DATA_WIDTH 128", "PSU__SAXIGP3__DATA_WIDTH 64"),
    ("    processor/saxihp1_fpd_aclk \\\n", ""),
    (" memory_1/aclk", ""),
    (" memory_1/aresetn", ""),
    ("interface control/M00_AXI replay_1/s_axi_control\n", ""),
    (
        "NUM_SI 1 CONFIG.NUM_MI 1] [get_bd_cells memory_1]",
        "NUM_SI 2 CONFIG.NUM_MI 1] [get_bd_cells memory_1]",
    ),
    ("    processor/saxihp0_fpd_aclk \\\n", ""),
    (" replay_1/ap_clk", ""),
    ("control/aclk memory_0/aclk", "control/aclk"),
    ("net resets/peripheral_aresetn replay_1/ap_rst_n\n", ""),
    ("control/aresetn memory_0/aresetn", "control/aresetn"),
    ("net processor/pl_resetn0", "net processor/pl_clk0"),
    ("cell resets", "cell reset"),
    ("-offset 0xA0000000", "-offset 0x80000000"),
    ("-range 4K", "-range 64K"),
    ("string match *DDR*", "string match *DDR_LOW*"),
    ("string match *DDR*", "string match *HP0*"),
    ("$port/*]", "$port/*DDR*]"),
    ("            exclude_bd_addr_seg", "            set excluded"),
    ("-file system.xsa", "-file replay.xsa"),
    ("foreach project [get_projects -quiet] {", "foreach project {} {"),
    (
        "set map [",
        "set_property value 200000000 [ipx::add_bus_parameter -quiet FREQ_HZ "
        "[ipx::get_bus_interfaces -of $core ap_clk]]\nset map [",
    ),
    ("SAXIGP2__DATA_WIDTH 128", "SAXIGP2__DATA_WIDTH 64"),
    ("USE__S_AXI_GP2 1", "USE__S_AXI_GP3 1"),
    ("-dictionary [get_board_parts", "[get_board_parts"),
    ("validate_bd_design\n", ""),
    ("-include_bit ", ""),
    ("impl_1/system_wrapper.bit replay.bit", "impl_1/system.bit replay.bit"),
    ("wait_on_run impl_1\n", ""),
    ("create_project -force system", "create_project -quiet system"),
]


@pytest.mark.parametrize("old, new", DESIGN_ERRORS)
def test_planted_errors_in_the_block_design(tmp_path, old, new):
    change, found = planted(old, new)
    with pytest.raises((VendorError, AssertionError)):
        block_design(tmp_path, "replay", "zcu106", change)
    assert len(found) == 1, "the error must be planted"


SHARED_ERRORS = [
    ("CONFIG.DATA_WIDTH 128", "CONFIG.DATA_WIDTH 64"),
    ("CONFIG.SINGLE_PORT_BRAM 1 \\\n", "\\\n"),
    ("CONFIG.READ_LATENCY 3", "CONFIG.READ_LATENCY 2"),
    ("CONFIG.READ_LATENCY_B 3", "CONFIG.READ_LATENCY_B 2"),
    ("Type True_Dual_Port_RAM", "Type Single_Port_RAM"),
    ("Implement URAM", "Implement BRAM"),
    ("Assume_Synchronous_Clk true", "Assume_Synchronous_Clk false"),
    ("NUM_SI 1 CONFIG.NUM_MI 2", "NUM_SI 1 CONFIG.NUM_MI 1"),
    ("foreach side {processor kernel}", "foreach side {processor}"),
    ("interface control/M01_AXI shared_processor/S_AXI\n", ""),
    ("memory_0/M00_AXI shared_kernel/S_AXI", "memory_0/M00_AXI processor/S_AXI_HP0_FPD"),
    ("shared_kernel/BRAM_PORTA shared/BRAM_PORTB", "shared_kernel/BRAM_PORTA shared/BRAM_PORTA"),
    ("shared_processor/s_axi_aclk ", ""),
    ("shared_kernel/s_axi_aclk ", ""),
    (" shared_kernel/s_axi_aresetn", ""),
    (" shared_processor/s_axi_aresetn", ""),
    ("    processor/Data shared_processor/S_AXI/Mem0\n", ""),
    ("    gae_1/m_axi_host shared_kernel/S_AXI/Mem0\n", ""),
    ("gae_1/m_axi_host shared_kernel/S_AXI", "gae_1/m_axi_host shared_processor/S_AXI"),
    ("shared_kernel/S_AXI/Mem0", "kernel_shared/S_AXI/Mem0"),
    ("-offset 0xA0100000", "-offset 0xA0080000"),
    ("-offset 0xA0100000", "-offset 0xA0000000"),
    ("-offset 0xA0100000", "-offset 0xB0000000"),
    ("-offset 0xA0100000 ", "-offset [incr other 0xA0100000] "),
    ("-range 0x00100000", "-range 0x00080000"),
    ("USE__S_AXI_GP2 0", "USE__S_AXI_GP2 1"),
]


@pytest.mark.parametrize("old, new", SHARED_ERRORS)
def test_planted_errors_in_memory_on_chip(tmp_path, old, new):
    change, found = planted(old, new)
    with pytest.raises((VendorError, AssertionError)):
        block_design(tmp_path, "gae", "zcu106", change)
    assert len(found) == 1, "the error must be planted"
