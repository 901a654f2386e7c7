"""Alveo U50: two dies, 8 GB of HBM2 in 32 banks, PCIe shell with XRT.

Part: hls4ml. Platform and regions: FINN. Banks: UG1120. Total: a Vivado utilization report.
"""

from boards.board import Bank, Board, Clock, Resources

__all__ = ["U50"]

U50 = Board(
    name="u50",
    title="Alveo U50",
    part="xcu50-fsvh2104-2-e",
    family="xcup",
    data_width=512,
    banks=tuple(
        Bank(name=f"HBM[{index}]", kind="HBM2", size=256 << 20, region=0) for index in range(32)
    ),
    total=Resources(lut=871_680, ff=1_743_360, bram36=1344, uram=640, dsp=5952),
    regions=(
        Resources(lut=374_400, ff=748_800, bram36=564, uram=304, dsp=2592),
        Resources(lut=368_160, ff=736_320, bram36=564, uram=304, dsp=2760),
    ),
    clocks=(
        Clock(name="DATA", mhz=300, scalable=True),
        Clock(name="KERNEL", mhz=500, scalable=True),
    ),
    platform="xilinx_u50_gen3x16_xdma_5_202210_1",
    flow="vitis",
    releases=("2022.1", None),
    joins=True,
    unverified=("total.uram: 640 as in DS965, not seen in a report",),
)
