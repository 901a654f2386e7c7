"""``python -m rlfabric.sim.uart FOLDER``: a generated folder's board, behind a pseudo-terminal.

FOLDER is ``build/ulx3s/<design>``: ``system.v``, which the bitstream is made of, runs Verilated.
The first line of output is the path to give to ``--card uart:PATH``. Ctrl-C ends it.
"""

import argparse
import os
import select
import tty
from pathlib import Path

from hw.uart.config import UartConfig
from sim.uart import VerilatedSystem

__all__ = ["serve"]

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


def main():
    parser = argparse.ArgumentParser(prog="python -m rlfabric.sim.uart", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    config = UartConfig.from_json((folder / "uart.json").read_text(encoding="utf-8"))
    system = VerilatedSystem(
        (folder / "system.v").read_text(encoding="utf-8"), divisor=config.divisor
    )
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
