"""ZCU106: Zynq UltraScale+ with 4 GB of DDR4 at its processor, which runs the host program.

Resources: an HLS report of the part. Masters go through S_AXI_HP0_FPD to S_AXI_HP3_FPD, 128 bits
wide, or go to UltraRAM that the processor reaches too (HEPPO, section IV: BRAM between PS and PL).
"""

from boards.board import Bank, Board, Clock, Resources

__all__ = ["ZCU106"]

_XCZU7EV = Resources(lut=230_400, ff=460_800, bram36=312, uram=96, dsp=1728)

ZCU106 = Board(
    name="zcu106",
    title="ZCU106",
    part="xczu7ev-ffvc1156-2-e",
    family="xcup",
    data_width=128,
    banks=(
        Bank(name="DDR_LOW", kind="DDR4", size=2 << 30),
        Bank(name="DDR_HIGH", kind="DDR4", size=2 << 30),
    ),
    shared=Bank(name="URAM", kind="UltraRAM", size=1 << 20),
    total=_XCZU7EV,
    regions=(_XCZU7EV,),
    clocks=(Clock(name="pl_clk0", mhz=200, scalable=True),),
    platform="xilinx.com:zcu106:part0:2.6",
    flow="vivado",
    releases=("2020.2", None),
    unverified=(
        "total.uram: 96 from memory",
        "banks: 4 GB, half of it above 0x8_0000_0000, from memory",
        "clocks: 200 MHz is what we ask for, not a property of the board",
        "shared: 32 blocks of UltraRAM, read in 3 clocks, meet the clock",
    ),
)
