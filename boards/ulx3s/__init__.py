"""ULX3S-85F: an ECP5 on a serial line over USB, with open tools from Verilog to bitstream.

Kernels have block RAM behind their masters (``hw.uart.system``): 160 of the part's 208 blocks of
2 KB. The board's 32 MB of SDRAM are not used.

Part, pins: amaranth-boards. Total: Lattice map reports of the LFE5U-85F.
"""

from boards.board import Bank, Board, Clock, Resources

__all__ = ["ULX3S"]

# 208 block RAMs of 18 kbit are 104 of 36; a LUT has 4 inputs, not 6; no UltraRAM.
_LFE5U_85F = Resources(lut=83_640, ff=None, bram36=104, uram=0, dsp=156)

ULX3S = Board(
    name="ulx3s",
    title="ULX3S-85F",
    part="LFE5U-85F-6BG381C",
    family="ecp5",
    data_width=128,
    # The host's buffers, which hold the priorities of 4096 experiences; and 4096 experiences of 48
    # bytes, as those of CartPole.
    banks=(
        Bank(name="BRAM[0]", kind="BRAM", size=128 << 10),
        Bank(name="BRAM[1]", kind="BRAM", size=192 << 10),
    ),
    total=_LFE5U_85F,
    regions=(_LFE5U_85F,),
    # 62 MHz are routed; 60 is the next lower multiple of 3 Mbaud.
    clocks=(Clock(name="KERNEL", mhz=60, scalable=False),),
    platform=None,
    cuts=True,
    flow="nextpnr",
    unverified=("part: speed grade 6 and package are sourced, the suffix C is from memory",),
)
