"""Alveo U200: three dies, four banks of DDR4, PCIe shell with XRT.

Part and platform: FINN, hls4ml. Banks: UG1702 "Memory Information". Clocks: UG1702 "Clocks".
Regions: ThunderGP's device file of the shell xilinx_u200_xdma_201830_2, equal to UG1393's sample.
AMD's libraries dropped the card in release 2025.2: build with Vitis 2025.1 or older.
"""

from boards.board import Bank, Board, Clock, Resources

__all__ = ["U200"]

U200 = Board(
    name="u200",
    title="Alveo U200",
    part="xcu200-fsgd2104-2-e",
    family="xcup",
    data_width=512,
    # DDR[1] is first, and so the default among equal banks: its controller is in the static region.
    banks=tuple(
        Bank(name=f"DDR[{index}]", kind="DDR4", size=16 << 30, region=region)
        for index, region in ((1, 1), (0, 0), (2, 1), (3, 2))
    ),
    total=Resources(lut=1_182_240, ff=2_364_480, bram36=2160, uram=960, dsp=6840),
    regions=(
        Resources(lut=354_831, ff=723_372, bram36=638, uram=320, dsp=2265),
        Resources(lut=159_854, ff=331_711, bram36=326, uram=160, dsp=1317),
        Resources(lut=354_962, ff=723_353, bram36=638, uram=320, dsp=2265),
    ),
    clocks=(
        Clock(name="DATA", mhz=300, scalable=True),
        Clock(name="KERNEL", mhz=500, scalable=True),
    ),
    platform="xilinx_u200_gen3x16_xdma_2_202110_1",
    flow="vitis",
    releases=("2021.2", "2025.1"),
    unverified=(
        "total: counts of the VU9P, taken to be the same die",
        "releases: 2022.2 and 2023.2 are known to be used, but not those from 2024.1 to 2025.1",
        "regions: of the older shell 201830_2; the default platform leaves somewhat more",
    ),
)
