"""A kernel's clock and reset under the names that the shell's benches know."""

__all__ = ["Pins"]


class Pins:
    """The kernel's pins, and ``clk`` and ``rst`` as the shell's benches know them."""

    def __init__(self, dut):
        self._dut, self.clk, self.rst = dut, dut.ap_clk, self

    @property
    def value(self):
        """Of ``rst``."""
        return not int(self._dut.ap_rst_n.value)

    def __getattr__(self, name):
        return getattr(self._dut, name)
