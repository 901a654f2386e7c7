"""The PLAY on a board with a serial line as a second program sees it, while the kernel plays.

Registers and memory banks answer during a launch, and are only read here. One program at a time
has the port, so the one that started the launch has ended.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from host.cards import CardError
from host.cards.uart import device, hw_context, kernel, xclbin
from hw.learner.play.commands import PLAYING, PlayOpcode
from hw.learner.play.episodes import EPISODE
from hw.learner.play.play_contract import PLAY_SETTINGS
from hw.shell.control_map import CTRL
from hw.shell.program import COMMAND_BYTES

__all__ = ["PlayView", "Seen"]

_PLAY = PLAYING[PlayOpcode.PLAY]


class Seen(NamedTuple):
    """The result of ``PlayView.look``: whether the launch goes on, and the EPISODE records in its
    ring, the first that ended first."""

    running: bool
    episodes: NDArray[np.void]


class PlayView:
    """The PLAY that the board at the serial port ``port`` has been given last.

    Parameters
    ----------
    port : str
    path : path
        The board's kernel.json.

    CardError, in one line, if the port does not open, if nothing answers, and if the kernel is
    another, was given no PLAY or writes no episodes.

    Attributes
    ----------
    environments : int
        Of the kernel.
    """

    def __init__(self, port, path):
        self._device = device(port, resets=False)
        try:
            context = hw_context(self._device, xclbin(path))
            description = context.description
            play = description.config.get("play")
            if not play or not play["environments"]:
                raise CardError(f"the kernel at {port} must be one that plays, not another")
            self.environments = play["environments"]
            self._kernel = kernel(context, description.name)
            self._arguments = description.arguments
            [width] = [m.data_width for m in description.masters if "results" in m.arguments]
            self._beat = width // 8
            self._find()
        except BaseException:
            self.close()
            raise

    def close(self):
        self._device.close()

    def _register(self, name):
        """The number in the registers of the argument ``name``."""
        found = next(argument for argument in self._arguments if argument.name == name)
        words = [self._kernel.read(found.offset + low) for low in range(0, found.size, 4)]
        return sum(word << 32 * index for index, word in enumerate(words))

    def _find(self):
        """Reads the program that the registers point to, and the settings of its PLAY."""
        line, count = self._device.line, self._register("command_count")
        at = self._register("program") if count else 0
        commands = [line.read(at + k * COMMAND_BYTES, COMMAND_BYTES) for k in range(count)]
        plays = [
            raw for raw in commands if int.from_bytes(raw[:4], "little") == PlayOpcode.PLAY.value
        ]
        if not plays:
            raise CardError(
                f"the board at {line.port} must play, or have played in its last launch; it was "
                "given no PLAY"
            )
        play = _PLAY.unpack(plays[-1])
        if not play["episodes"]:
            raise CardError(f"the PLAY at {line.port} must have a ring of episodes, not 0 records")
        settings = self._register("operands") + play["source"]
        begin = PLAY_SETTINGS.unpack(line.read(settings, PLAY_SETTINGS.size))["step"]
        self._steps = begin, begin + play["count"]
        self._ring = self._register("results") + play["destination"], play["episodes"]

    def look(self):
        """Reads the ring. Places that are not written yet are left out: they are 0, or have records
        of an earlier launch, whose steps are before."""
        running = not self._kernel.read(CTRL.offset) & 1 << CTRL.bit("ap_idle")  # before the ring
        at, places = self._ring
        raw = np.frombuffer(self._device.line.read(at, places * self._beat), np.uint8)
        rows = np.ascontiguousarray(raw.reshape(places, self._beat)[:, : EPISODE.size])
        rows = rows.view(EPISODE.dtype)[:, 0]
        begin, end = self._steps
        written = (rows["step"] >= begin) & (rows["step"] < end) & (rows["length"] > 0)
        rows = rows[written & (rows["environment"] < self.environments) & (rows["end"] > 0)]
        return Seen(running, rows[np.lexsort((rows["environment"], rows["step"]))])
