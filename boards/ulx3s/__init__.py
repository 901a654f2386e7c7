"""ULX3S-85F: an ECP5 with 32 MB of SDRAM and open tools from Verilog to bitstream.

Part: amaranth-boards. Total: Lattice map reports of the LFE5U-85F.
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
    banks=(Bank(name="SDRAM", kind="SDRAM", size=32 << 20),),
    total=_LFE5U_85F,
    regions=(_LFE5U_85F,),
    clocks=(Clock(name="clk25", mhz=25, scalable=False),),
    platform=None,
    flow="nextpnr",
    unverified=(
        "banks: 32 MB, from memory",
        "clocks: a 25 MHz oscillator, from memory",
        "part: speed grade 6 and package are sourced, the suffix C is from memory",
        "data_width: a choice; nothing on the board speaks AXI",
    ),
)
