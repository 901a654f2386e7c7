"""The U50 goes through Vitis as every Alveo card does."""

from boards.xilinx.vitis import TARGETS, files, run

__all__ = ["TARGETS", "files", "run"]
