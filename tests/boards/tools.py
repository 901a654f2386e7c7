"""Stand-ins for the programs of Alveo boards, and builds with them."""

import boards
from boards import bitstream
from tests.boards.vendor import described, written

__all__ = ["build", "calls", "install", "vitis_tools"]

#: What FormattedOutput.cxx of XRT's xclbinutil prints, between other sections.
INFO = """\
Hardware Platform (Shell) Information
-------------------------------------
   Vendor:                 xilinx

Scalable Clocks
---------------
   Name:      KERNEL_CLK
   Index:     0
   Type:      KERNEL
   Frequency: 500 MHz

   Name:      {name}
   Index:     1
   Type:      DATA
   Frequency: {mhz} MHz

System Clocks
------
   Name:           ulp_ucs_aclk_kernel_00
   Type:           SCALABLE
   Default Freq:   300 MHz
   Requested Freq: 300 MHz
   Achieved Freq:  287.3 MHz

Memory Configuration
--------------------
   Name:         HBM[0]
"""


def install(file):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")


#: The last option of v++ but one is --output, whose value is made.
_OUTPUT = 'while [ $# -gt 1 ]; do [ "$1" = --output ] && echo made > "$2"; shift; done'


def vitis_tools(version="2022.2", mhz="300", name="DATA_CLK"):
    banner = f'[ "$1" = --version ] && echo "****** v++ v{version} (64-bit)" && exit 0'
    info = INFO.format(name=name, mhz=mhz)
    return {
        "vpp": f"{banner}\n{_OUTPUT}",
        "vivado": "echo made > replay.xo",
        "xclbinutil": f"cat <<'END'\n{info}END",
        "emconfigutil": f'echo "$*"; echo config > {"${4}"}/emconfig.json',
    }


def build(folder, board="u200", **options):
    description = described("replay", board)
    written(folder / "kernel", description, board)
    return bitstream.build(folder / "kernel", description, boards.get(board), **options)


def calls(folder):
    return (folder / "calls").read_text().splitlines()
