"""``python -m rlfabric.sim.uart FOLDER``: a generated folder's board, behind a pseudo-terminal.

FOLDER is ``build/ulx3s/<design>``: ``system.v``, which the bitstream is made of, runs Verilated.
The first line of output is the path to give to ``--card uart:PATH``. Ctrl-C ends it.

Most clocks of a training go by while bytes are on the line. With ``--bit-clocks 4`` the line is
faster, and the results are the same.
"""

import argparse
import os
import select
import tty
from dataclasses import replace
from pathlib import Path

from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.shell.description import KernelDescription
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog
from sim.uart import VerilatedSystem

__all__ = ["board_in", "serve"]

#: Time without a byte, in times of a byte, after which the board is looked at less often.
_QUIET = 10_000
_REST_S = 0.02


def serve(system, terminal):
    """Carries bytes between ``system`` and the file descriptor ``terminal``; it never returns.

    The board is simulated at full speed while bytes come or go, and for the time of ``_QUIET``
    bytes afterwards. Then it runs slowly, until a byte comes.
    """
    slice_clocks, quiet = 100 * system.divisor, 0
    while True:
        rests = quiet > _QUIET and not system.waiting
        readable, _, _ = select.select([terminal], [], [], _REST_S if rests else 0)
        data = os.read(terminal, 4096) if readable else b""
        answer = system.run(slice_clocks, data)
        quiet = 0 if data or answer else quiet + 10
        while answer:
            answer = answer[os.write(terminal, answer) :]


def board_in(folder, bit_clocks=None):
    """``(verilog, divisor)`` of the board in ``folder``: its ``system.v`` and the clocks of a bit.

    With another number of ``bit_clocks`` than the board's own, the Verilog is written anew from
    ``kernel.json`` and ``uart.json``. UsageError below 4, which the receiver needs.
    """
    config = UartConfig.from_json((folder / "uart.json").read_text(encoding="utf-8"))
    if bit_clocks in (None, config.divisor):
        return (folder / "system.v").read_text(encoding="utf-8"), config.divisor
    if bit_clocks < 4:
        raise UsageError(f"bit-clocks must be at least 4, not {bit_clocks}")
    config = replace(config, baud=config.clock_hz // bit_clocks)
    text = (folder / "kernel.json").read_text(encoding="utf-8")
    description = KernelDescription.from_json(text)
    design = DESIGNS[description.name]
    kernel = design.kernel(design.config_type.from_dict(description.config))
    return to_verilog(System(kernel, config), name="system"), config.divisor


def main():
    parser = argparse.ArgumentParser(prog="python -m rlfabric.sim.uart", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bit-clocks", type=int, help="Clocks of a bit. [default: the board's]")
    given = parser.parse_args()
    try:
        verilog, divisor = board_in(given.folder, given.bit_clocks)
    except UsageError as error:
        parser.error(str(error))
    system = VerilatedSystem(verilog, divisor=divisor)
    # The other end stays open here too: without it a client's leaving would be an error.
    terminal, client = os.openpty()
    tty.setraw(client)
    print(os.ttyname(client), flush=True)
    try:
        serve(system, terminal)
    except KeyboardInterrupt:
        pass
    finally:
        system.close()


if __name__ == "__main__":
    main()
