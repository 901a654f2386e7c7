"""Resources of the whole kernel ``replay``, and of its core, which is in other kernels as well.

Multipliers, memory blocks and registers are counted as the units have them. Lookup tables are as
yosys maps them to UltraScale+, module by module: those of a unit follow from the widths of what it
adds, compares and chooses.
"""

from functools import lru_cache

from hw.estimate import Estimate, together
from hw.replay.commands import BUFFERS, COMMANDS
from hw.replay.gather import Gather
from hw.replay.insert import Insert
from hw.replay.item_reader import ItemReader
from hw.replay.operation_issuer import OperationIssuer
from hw.replay.records import REPLAY_STATUS
from hw.replay.replay_state import ReplayState
from hw.replay.tree.estimate import parts as manager_parts
from hw.replay.tree.manager import ReplayManager
from hw.shell import estimate as shell

__all__ = ["core_parts", "estimate", "parts"]

#: DSP blocks of reading commands: of a command's items by the granules of an experience.
_PRODUCTS = 1


@lru_cache(maxsize=256)  # kernels with a learner ask again and again
def core_parts(config):
    """``{unit: Estimate}`` of the ReplayCore of a ReplayKernelConfig."""
    replay, engine = config.replay, config.engine
    width = engine.data_width
    return {
        "commands": shell.dispatcher(COMMANDS, config, products=_PRODUCTS),
        **manager_parts(replay, ReplayManager.latency_of(replay)),
        "items": ItemReader.estimate(replay, width),
        "gather": Gather.estimate(replay, width, engine.depth),
        "insert": Insert.estimate(replay, width),
        "core": together(
            [
                OperationIssuer.estimate(replay),
                ReplayState.estimate(replay, engine.beat_bytes),
                # The states of a command; four clocks of the last batch.
                Estimate(lut=350, ff=132),
            ]
        ),
    }


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a ReplayKernelConfig."""
    return core_parts(config) | shell.parts(config, BUFFERS, REPLAY_STATUS)


def estimate(config):
    """Resources of the whole kernel of a ReplayKernelConfig."""
    return together(parts(config).values())
