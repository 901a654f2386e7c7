"""cocotbext-axi's memories behind the masters of a whole kernel, watched, with pauses."""

import random

from cocotbext.axi import AxiBus, AxiRam
from pauses import pauses
from shell.axi_rules import Rules
from shell.kernel_pins import Pins

__all__ = ["memories"]

_BYTES = (1 << 63) - 1  # more than AxiRam can count


def memories(dut, masters, *, gap, seed):
    """``{master: AxiRam}`` and ``{master: Rules}``; channels pause as ``pauses(gap)`` does."""
    rng, result, rules = random.Random(seed), {}, {}
    for name in masters:
        rules[name] = Rules(Pins(dut), prefix=name)
        result[name] = memory = AxiRam(
            AxiBus.from_prefix(dut, name),
            dut.ap_clk,
            reset=dut.ap_rst_n,
            reset_active_level=False,
            size=_BYTES,
        )
        write, read = memory.write_if, memory.read_if
        for channel in (
            write.aw_channel,
            write.w_channel,
            write.b_channel,
            read.ar_channel,
            read.r_channel,
        ):
            channel.set_pause_generator(pauses(gap, rng))
    return result, rules
