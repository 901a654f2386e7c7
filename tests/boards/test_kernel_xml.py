"""kernel.xml: the facts of its schema, and the registers that the Verilog has."""

import xml.etree.ElementTree as ElementTree

import pytest

import boards
from boards import bitstream
from host.kernels import configure
from hw.designs import DESIGNS
from tests.boards.vendor import described, small

#: attribute -> what it may be, from the samples of Vitis_Accel_Examples and XRT's xclbin_parser.
KERNEL = {
    "language": {"ip", "ip_c"},
    "hwControlProtocol": {"ap_ctrl_hs", "ap_ctrl_chain", "ap_ctrl_none", "user_managed"},
    "interrupt": {"true", "false"},
    "attributes": {""},
    "preferredWorkGroupSizeMultiple": {"0"},
    "workGroupSize": {"1"},
}
PORT = {
    "mode": {"slave", "master", "read_only", "write_only"},
    "portType": {"addressable", "stream"},
    "base": {"0x0"},
}
SCALAR, GLOBAL = "0", "1"


def document(design, board):
    return bitstream.files(described(design, board), boards.get(board))["kernel.xml"]


@pytest.mark.parametrize("board", ["u200", "u50"])
@pytest.mark.parametrize("design", DESIGNS)
def test_schema(design, board):
    description = described(design, board)
    root = ElementTree.fromstring(document(design, board))
    assert root.tag == "root" and root.get("versionMajor") == "1"
    assert root.get("versionMinor") in ("5", "6")
    (kernel,) = root
    assert set(kernel.attrib) == {"name", "vlnv", *KERNEL}
    assert all(kernel.get(name) in values for name, values in KERNEL.items())
    # The kernel, the IP and the option of package_xo have one name.
    assert kernel.get("name") == description.name == kernel.get("vlnv").split(":")[2]
    assert kernel.get("vlnv").count(":") == 3
    assert [part.tag for part in kernel] == ["ports", "args"]

    ports = {port.get("name"): port for port in kernel.find("ports")}
    assert list(ports) == ["s_axi_control", *(master.name for master in description.masters)]
    for name, port in ports.items():
        assert set(port.attrib) == {"name", "range", "dataWidth", *PORT}
        assert all(port.get(key) in values for key, values in PORT.items())
        assert port.get("mode") == ("slave" if name == "s_axi_control" else "master")
    widths = {master.name: str(master.data_width) for master in description.masters}
    assert {name: port.get("dataWidth") for name, port in ports.items()} == {
        "s_axi_control": "32",
        **widths,
    }

    arguments = list(kernel.find("args"))
    assert [int(argument.get("id")) for argument in arguments] == list(range(len(arguments)))
    for argument, expected in zip(arguments, description.arguments, strict=True):
        assert set(argument.attrib) == {
            *("name", "addressQualifier", "id", "port", "size", "offset"),
            *("hostOffset", "hostSize", "type"),
        }
        pointer = expected.kind == "pointer"
        assert argument.get("name") == expected.name
        assert argument.get("addressQualifier") == (GLOBAL if pointer else SCALAR)
        assert argument.get("port") == (expected.master if pointer else "s_axi_control")
        assert argument.get("port") in ports
        assert int(argument.get("size"), 16) == int(argument.get("hostSize"), 16) == expected.size
        assert int(argument.get("offset"), 16) == expected.offset
        assert argument.get("type").endswith("*") == pointer
    # XRT sends all of it in one command of 4 KB, its header in front.
    assert max(int(argument.get("offset"), 16) for argument in arguments) < 0x800


_NARROW = {"engine.depth": 64, "burst_beats": 4, "bursts": 4}


@pytest.mark.parametrize(
    "design",
    [pytest.param(name, marks=[pytest.mark.long] * (name != "gae"))
     for name in DESIGNS],
)  # fmt: skip
def test_decoder_of_the_verilog(simulate, design):
    """cocotb writes each register of the XML and reads it back, then launches by them."""
    entry, board = DESIGNS[design], boards.get("u200")
    config = configure(entry, board, {**small(design), **_NARROW})
    description = entry.describe(config)
    simulate(
        entry.kernel(config),
        "tests.boards.kernel_xml_bench",
        name=design,
        xml=bitstream.files(description, board)["kernel.xml"],
        config_hash=str(description.config_hash),
    )
