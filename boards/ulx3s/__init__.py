"""ULX3S-85F: an ECP5 on a serial line over USB, with open tools from Verilog to bitstream.

Kernels have block RAM behind their masters (``hw.uart.system``): 160 of the part's 208 blocks of
2 KB, and 64 for a kernel that learns, which needs blocks of its own. The board's 32 MB of SDRAM
are not used.

Part, pins: amaranth-boards. Total: Lattice map reports of the LFE5U-85F.
"""

from boards.board import Bank, Board, Clock, Resources, Setup

__all__ = ["ULX3S"]

# 208 block RAMs of 18 kbit are 104 of 36; a slice has two LUTs of 4 inputs and two registers; no
# UltraRAM.
_LFE5U_85F = Resources(lut=83_640, ff=83_640, bram36=104, uram=0, dsp=156)
# Without the banks, the serial line and what connects them, as yosys maps them around `replay`:
# 3 977 LUTs, 1 709 registers, 162 block RAMs.
_LEFT = Resources(lut=79_663, ff=81_931, bram36=23, uram=0, dsp=156)
# The same around a kernel that learns.
_LEFT_TO_LEARNER = Resources(lut=79_663, ff=81_931, bram36=71, uram=0, dsp=156)
# Routed at the clock below: 34 % of all LUTs and 92 % of all block RAMs. Fuller kernels are not
# known to route: a user of nextpnr reports that an ECP5 with 60 % of its LUTs taken is placed with
# some seeds only (github.com/YosysHQ/nextpnr/issues/1062). So what is beyond these shares is
# refused, and what is within them may still fail. With the banks, they allow 96 % of all block
# RAMs. The two registers of a slice have one clock, enable and reset, so that some stay empty.
_SHARE = Resources(lut=0.85, ff=0.85, bram36=0.85, uram=0.85, dsp=0.85)

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
    regions=(_LEFT,),
    share=_SHARE,
    # 62 to 64 MHz are routed; 60 is the multiple of 3 Mbaud below.
    clocks=(Clock(name="KERNEL", mhz=60, scalable=False),),
    setups=(
        Setup(
            designs=("dqn",),
            # Parameters and lists; and 2048 experiences of 48 bytes.
            banks=(
                Bank(name="BRAM[0]", kind="BRAM", size=32 << 10),
                Bank(name="BRAM[1]", kind="BRAM", size=96 << 10),
            ),
            regions=(_LEFT_TO_LEARNER,),
            # A multiple of 3 Mbaud, a quarter below the replay memory's: the part is twice as full.
            # The default is routed at 50 to 56 MHz. One that plays is at 44 to 50, with --mhz 42
            # (docs/results/bitstreams.md).
            clocks=(Clock(name="KERNEL", mhz=45, scalable=False),),
        ),
    ),
    platform=None,
    cuts=True,
    flow="nextpnr",
    unverified=("part: speed grade 6 and package are sourced, the suffix C is from memory",),
)
