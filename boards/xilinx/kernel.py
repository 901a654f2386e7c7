"""The kernel as the vendor's tools are told of it: as an IP of Vivado, and as kernel.xml."""

from boards.templates import heading, render
from hw.shell.control import PREFIX
from hw.shell.control_map import CONTROL

__all__ = ["common"]


def common(description, board, *, vitis):
    """``{file: text}``: ``ip.tcl``, which packs the Verilog as an IP; kernel.xml for Vitis."""
    values = dict(
        heading=heading(description, board),
        kernel=description,
        board=board,
        control=CONTROL,
        slave=PREFIX,
        vitis=vitis,
    )
    names = ["ip.tcl", "kernel.xml"] if vitis else ["ip.tcl"]
    return {name: render("boards.xilinx", name, **values) for name in names}
