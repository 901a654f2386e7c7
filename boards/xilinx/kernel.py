"""Describes a kernel to the vendor's tools: as an IP of Vivado, and as kernel.xml."""

from boards.memory import configured
from boards.templates import heading, render
from hw.shell.axi import engine_of
from hw.shell.control import PREFIX
from hw.shell.control_map import CONTROL

__all__ = ["common"]

#: Most transactions that an interconnect is asked to keep in flight for one master: as many as a
#: port of the HBM has, and as Vivado's own masters ask for.
_IN_FLIGHT = 64


def _interface(config, master):
    """Parameters of an AXI4 master. Without them Vivado assumes 2 reads in flight, and spends logic
    on bursts narrower than the bus.
    """
    engine = engine_of(config, master.name.removeprefix("m_axi_"))
    return {
        "MAX_BURST_LENGTH": engine.burst_beats,
        # Every read may have only one beat.
        "NUM_READ_OUTSTANDING": min(engine.depth, _IN_FLIGHT),
        "NUM_WRITE_OUTSTANDING": min(engine.bursts, _IN_FLIGHT),
        "SUPPORTS_NARROW_BURST": 0,
    }


def common(description, board, *, vitis):
    """``{file: text}``: ``ip.tcl``, which packs the Verilog as an IP of Vivado, and if ``vitis``
    also ``kernel.xml``, which describes the kernel to Vitis."""
    _, config = configured(description)
    values = dict(
        heading=heading(description, board),
        kernel=description,
        board=board,
        control=CONTROL,
        slave=PREFIX,
        interfaces={master.name: _interface(config, master) for master in description.masters},
        vitis=vitis,
    )
    names = ["ip.tcl", "kernel.xml"] if vitis else ["ip.tcl"]
    return {name: render(__package__, name, **values) for name in names}
