"""The ZCU106 goes through Vivado as every Zynq does."""

from boards.xilinx.vivado import TARGETS, files, run

__all__ = ["TARGETS", "files", "run"]
