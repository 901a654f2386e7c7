"""What the record of a packaging script must show; each rule is an assertion with words."""

from hw.designs import DESIGNS
from hw.shell.control_map import CONTROL
from tests.boards.vendor import properties

__all__ = ["check_block_design", "check_ip", "check_kernel"]

_ORDER = (
    "create_project", "add_files", "update_compile_order", "ipx::package_project",
    "ipx::unload_core", "ipx::edit_ip_in_project", "ipx::current_core",
    "ipx::associate_bus_interfaces", "ipx::add_bus_parameter", "ipx::add_memory_map",
    "ipx::add_address_block", "ipx::add_register", "ipx::add_field", "ipx::create_xgui_files",
    "ipx::update_checksums", "ipx::check_integrity", "ipx::save_core", "close_project",
)  # fmt: skip


def _options(words):
    return dict(zip(words[::2], words[1::2], strict=False))


def _all(record, name):
    return [words for command, *words in record if command == name]


def _ordered(record, names):
    """The first of each of ``names`` in the record, in this order."""
    commands = [command for command, *_ in record]
    places = []
    for name in names:
        assert name in commands, f"{name} is missing"
        places.append(commands.index(name))
    assert places == sorted(places), f"order is {sorted(names, key=commands.index)}"


def check_ip(record, description, board, *, vitis):
    """The IP: clock of every interface, every register with its size, bits and master."""
    _ordered(record, _ORDER)
    assert ["-force", "pack", "pack", "-part", board.part] in _all(record, "create_project")
    assert ["-norecurse", description.verilog] in _all(record, "add_files")
    clocked = [_options(words) for words in _all(record, "ipx::associate_bus_interfaces")]
    assert all(words["-clock"] == "ap_clk" for words in clocked)
    interfaces = ["s_axi_control", *(master.name for master in description.masters)]
    assert [words["-busif"] for words in clocked] == interfaces
    removed = {words[0] for words in _all(record, "ipx::remove_user_parameter")}
    assert removed == {"DATA_WIDTH", "DEPTH"}

    declared = {
        name.split(":")[1].split("@")[0]: (int(values["address_offset"], 16), int(values["size"]))
        for name, values in properties(record, "register").items()
    }
    expected = {register.name: (register.offset, 32) for register in CONTROL}
    expected |= {a.name: (a.offset, 8 * a.size) for a in description.arguments}
    assert declared == expected

    bits = {
        tuple(part.split("@")[0] for part in name.removeprefix("field:").split("@register:")): (
            int(values["BIT_OFFSET"]),
            values["ACCESS"],
            "oneToToggle" in values.values(),
        )
        for name, values in properties(record, "field").items()
        if values["BIT_WIDTH"] == "1"
    }
    assert bits == {
        (bit.name.upper(), register.name): (
            bit.bit,
            "read-write" if bit.writable else "read-only",
            bit.toggles,
        )
        for register in CONTROL
        for bit in register.bits
    }
    masters = {
        name.split("@register:")[1].split("@")[0]: values["value"]
        for name, values in properties(record, "parameter").items()
        if name.startswith("parameter:ASSOCIATED_BUSIF")
    }
    assert masters == {a.name: a.master for a in description.arguments if a.master}
    frequency = properties(record, "parameter").get("parameter:FREQ_HZ@interface:ap_clk")
    hertz = str(board.clocks[0].mhz * 1_000_000)
    # A block design's clock is what the processor makes of its dividers.
    assert frequency == ({"value": hertz, "value_resolve_type": "user"} if vitis else None)
    settings = [words for words in _all(record, "set_property")]
    assert ["slave_memory_map_ref", "s_axi_control", "interface:s_axi_control"] in settings
    assert ["ipi_drc", "ignore_freq_hz true", "core"] in settings
    # The second project lies in the IP's folder, which must hold the IP alone.
    assert _all(record, "close_project")[:2] == [["-delete"], ["-delete"]]
    kernel = [["sdx_kernel", "true"], ["sdx_kernel_type", "rtl"]]
    kernel += [["vitis_drc", "ctrl_protocol ap_ctrl_hs"]]
    kernel = [[*words, "core"] for words in kernel] * vitis
    assert [words for words in settings if words[0].startswith(("sdx", "vitis"))] == kernel
    assert _all(record, "ipx::check_integrity") == [["-kernel"] * vitis + ["core"]]
    _check_masters(record, description)
    # Neither project of the packaging is open when the next is made.
    closed = [words[-1] for command, *words in record if command == "current_project" and words]
    assert closed[:2] == ["pack", "edit"] and len(_all(record, "close_project")) >= 2


def _check_masters(record, description):
    """What interconnects are told of each master is what its engines do."""
    found = {}
    for name, values in properties(record, "parameter").items():
        parameter, _, interface = name.removeprefix("parameter:").partition("@interface:")
        if interface.startswith("m_axi_"):
            assert values.get("value_source") == "constant"
            found.setdefault(interface, {})[parameter] = int(values["value"])
    config = DESIGNS[description.name].config_type.from_dict(description.config)
    engines = {
        master.name: getattr(config, f"{master.name[6:]}_engine", config.engine)
        for master in description.masters
    }
    assert found == {
        name: {
            "MAX_BURST_LENGTH": engine.burst_beats,
            # Single beats, as many as have room; 64 are all that a port of the HBM takes.
            "NUM_READ_OUTSTANDING": min(64, engine.depth),
            "NUM_WRITE_OUTSTANDING": min(64, engine.bursts),
            "SUPPORTS_NARROW_BURST": 0,
        }
        for name, engine in engines.items()
    }
    removed = _all(record, "ipx::remove_segment")
    assert removed == [["-quiet", f"{name}:APERTURE_0", f"space:{name}"] for name in engines]


def check_kernel(record, description):
    """The kernel object is the last thing, made of the IP and of kernel.xml."""
    assert record[-1][0] == "package_xo"
    assert _options(record[-1][2:]) == {
        "-xo_path": f"{description.name}.xo",
        "-kernel_name": description.name,
        "-ip_directory": "ip",
        "-kernel_xml": "kernel.xml",
    }


def check_block_design(record, description, board, *, megahertz, shared):
    """Every port of the kernel is connected, every cell has its clock and reset, addresses lie.

    ``shared`` : whether the kernel's memory is the one on chip.
    """
    name, unit = description.name, f"{description.name}_1"
    _ordered(
        record,
        ("ipx::save_core", "get_board_parts", "update_ip_catalog", "create_bd_design",
         "apply_bd_automation", "connect_bd_intf_net", "connect_bd_net", "assign_bd_address",
         "validate_bd_design", "save_bd_design", "make_wrapper", "launch_runs", "wait_on_run",
         "open_run", "write_hw_platform"),
    )  # fmt: skip
    cells = {words[-1]: _options(words[:-1])["-vlnv"] for words in _all(record, "create_bd_cell")}
    own = {"shared", "shared_processor", "shared_kernel"} if shared else set()
    # user D4: a port of the processor each, then in turn; one where the memory is on chip.
    ports = [0] if shared else range(min(4, len(description.masters)))
    reached = {port: [] for port in ports}
    for index, master in enumerate(description.masters):
        reached[index % 4].append(master.name)
    memories = [f"memory_{port}" for port in ports]
    assert set(cells) == {"processor", "resets", "control", *memories, unit, *own}
    assert cells[unit] == f"rlfabric:kernel:{name}:1.0"
    assert ["board_part", "a:b:part0:2.10", "system"] in _all(record, "set_property")

    wide = {w[-1]: w[1].split() for w in _all(record, "set_property") if w[0] == "-dict"}
    wide = {cell: _options(words) for cell, words in wide.items()}
    processor = {key.split("PSU__")[-1]: value for key, value in wide["processor"].items()}
    assert processor.get("USE__M_AXI_GP0") == "1"
    for port in range(4):
        used = not shared and port in ports
        assert processor[f"USE__S_AXI_GP{port + 2}"] == str(int(used))
        width = processor.get(f"SAXIGP{port + 2}__DATA_WIDTH")
        assert width == (str(board.data_width) if used else None)
    assert processor["CRL_APB__PL0_REF_CTRL__FREQMHZ"] == str(megahertz)
    for port, names in reached.items():
        sides = {"CONFIG.NUM_SI": str(len(names)), "CONFIG.NUM_MI": "1"}
        assert wide[f"memory_{port}"] == sides
    assert wide["control"]["CONFIG.NUM_MI"] == ("2" if shared else "1")
    if shared:
        _check_shared(record, cells, wide, board)

    links = [tuple(words) for words in _all(record, "connect_bd_intf_net")]
    assert set(links) == {
        ("processor/M_AXI_HPM0_FPD", "control/S00_AXI"),
        ("control/M00_AXI", f"{unit}/s_axi_control"),
        *(
            _SHARED_LINKS
            if shared
            else ((f"memory_{port}/M00_AXI", f"processor/S_AXI_HP{port}_FPD") for port in ports)
        ),
        *(
            (f"{unit}/{name}", f"memory_{port}/S{index:02}_AXI")
            for port, names in reached.items()
            for index, name in enumerate(names)
        ),
    }
    assert len(links) == len(set(links))
    nets = {}
    for source, pin in _all(record, "connect_bd_net"):
        assert pin not in nets, f"{pin} is driven twice"
        nets[pin] = source
    controllers = ["shared_processor", "shared_kernel"] * shared
    clocked = ["processor/maxihpm0_fpd_aclk", f"{unit}/ap_clk"]
    clocked += [f"{cell}/s_axi_aclk" for cell in controllers]
    clocked += [f"processor/saxihp{port}_fpd_aclk" for port in ports if not shared]
    clocked += ["resets/slowest_sync_clk", "control/aclk", *(f"{each}/aclk" for each in memories)]
    assert nets == {
        **dict.fromkeys(clocked, "processor/pl_clk0"),
        "resets/ext_reset_in": "processor/pl_resetn0",
        "control/aresetn": "resets/interconnect_aresetn",
        **{f"{each}/aresetn": "resets/interconnect_aresetn" for each in memories},
        f"{unit}/ap_rst_n": "resets/peripheral_aresetn",
        **{f"{cell}/s_axi_aresetn": "resets/peripheral_aresetn" for cell in controllers},
        "processor/pl_ps_irq0": f"{unit}/interrupt",
    }
    assigned = [(_options(w[:-1]), w[-1]) for w in _all(record, "assign_bd_address")]
    registers = {"-offset": "0xA0000000", "-range": "4K", "-target_address_space": "processor/Data"}
    assert assigned[0] == (registers, f"{unit}/s_axi_control/reg0")
    if shared:
        (host,) = description.masters
        _check_addresses(assigned, f"{unit}/{host.name}", board.shared.size)
    else:
        excluded = [(_options(w[:-1]), w[-1]) for w in _all(record, "exclude_bd_addr_seg")]
        for segments, kinds in ((assigned[1:], _MEMORY), (excluded, _OTHERS)):
            assert sorted(segments, key=str) == sorted(
                (
                    (
                        {"-target_address_space": f"{unit}/{name}"},
                        f"processor/SAXIGP{port + 2}/HP{port}_{segment}",
                    )
                    for port, names in reached.items()
                    for name in names
                    for segment in kinds
                ),
                key=str,
            )
    platform = _all(record, "write_hw_platform")
    assert platform == [["-fixed", "-include_bit", "-force", "-file", "system.xsa"]]


#: Segments of a port of the processor: what is not assigned is excluded, or Vivado refuses it.
_MEMORY = ("DDR_HIGH", "DDR_LOW")
_OTHERS = ("LPS_OCM", "PCIE_LOW", "QSPI")

_SHARED_LINKS = {
    ("control/M01_AXI", "shared_processor/S_AXI"),
    ("memory_0/M00_AXI", "shared_kernel/S_AXI"),
    ("shared_processor/BRAM_PORTA", "shared/BRAM_PORTA"),
    ("shared_kernel/BRAM_PORTA", "shared/BRAM_PORTB"),
}


def _check_shared(record, cells, wide, board):
    """Two controllers as wide as the kernel's master, in step with a memory of two ports."""
    assert cells["shared"].startswith("xilinx.com:ip:blk_mem_gen:")
    memory = {name.removeprefix("CONFIG."): value for name, value in wide["shared"].items()}
    assert memory["Memory_Type"] == "True_Dual_Port_RAM"
    assert memory["PRIM_type_to_Implement"] == "URAM"
    assert memory["Assume_Synchronous_Clk"] == "true", "UltraRAM has one clock"
    # Each block has 4096 words of 8 bytes of data.
    assert board.shared.size // (8 * 4096) <= board.usable.uram
    for cell, port in (("shared_processor", "A"), ("shared_kernel", "B")):
        assert cells[cell].startswith("xilinx.com:ip:axi_bram_ctrl:")
        assert wide[cell] == {
            "CONFIG.SINGLE_PORT_BRAM": "1",
            "CONFIG.DATA_WIDTH": str(board.data_width),
            "CONFIG.READ_LATENCY": memory[f"READ_LATENCY_{port}"],
        }
        assert memory[f"Operating_Mode_{port}"] == "NO_CHANGE"


def _check_addresses(assigned, host, size):
    """One range for both sides, aligned to its size, in the processor's window for its port."""
    shared = {words["-target_address_space"]: (words, target) for words, target in assigned[1:]}
    assert len(assigned) == 3 and set(shared) == {"processor/Data", host}
    (own, target), (other, other_target) = shared["processor/Data"], shared[host]
    assert target == "shared_processor/S_AXI/Mem0"
    assert other_target == "shared_kernel/S_AXI/Mem0"
    begin = int(own["-offset"], 16)
    assert begin == int(other["-offset"], 16), "a pointer must mean one place on both sides"
    assert int(own["-range"], 16) == int(other["-range"], 16) == size
    assert begin % size == 0
    # Past the registers' 4 KB, within the 256 MB of M_AXI_HPM0_FPD.
    assert 0xA000_1000 <= begin and begin + size <= 0xB000_0000
