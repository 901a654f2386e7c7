"""Bit-exact twin of ``hw.shell.kernel`` and ``hw.shell.sequencer``: a launch around a core's twin.

Clock counts are the one thing that a twin does not know: they stay 0 in its status blocks.
"""

import numpy as np

from hw.shell.program import COMMAND_BYTES, MAGIC, STATUS

__all__ = ["ProgramTwin", "leaves"]


def leaves(offset, size, buffer_bytes):
    """Whether ``size`` bytes from ``offset`` leave a buffer, or begin off a whole command's."""
    return offset % COMMAND_BYTES != 0 or int(offset) + size > buffer_bytes


class ProgramTwin:
    """A kernel's twin (see ``sim.model.kernels.KernelTwin``) around ``self.core``.

    A subclass gives ``make_core(description)``. The core has ``execute(command, arguments, memory)
    -> (error, detail)``, where ``command`` is 64 uint8, and ``status()``, the bytes of its block.
    """

    def __init__(self, description):
        self.description = description
        self.core = self.make_core(description)

    def execute(self, arguments, memory):
        """One launch: commands in order until the first error, then the status block."""
        status = np.zeros((), STATUS.dtype)
        status["magic"], status["config_hash"] = MAGIC, self.description.config_hash
        for position in range(arguments["command_count"]):
            address = arguments["program"] + position * COMMAND_BYTES
            command = memory.view(address, COMMAND_BYTES)
            error, detail = self.core.execute(command, arguments, memory)
            if error:
                status["error"], status["error_command"] = error, position
                status["error_detail"] = detail
                break
            status["executed"] += 1
        block = np.concatenate([np.frombuffer(status.tobytes(), np.uint8), self.core.status()])
        memory.view(arguments["status"], len(block))[:] = block
