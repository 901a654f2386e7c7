"""The contract between environments on the card and their user: commands, words and items.

The user sends a command, then the words that this command takes on ``i``, and gets its items on
``o``. Environments are numbered from 0; all words and items of environment 0 come first, then those
for environment 1. ::

    command   words on i                                   items on o
    LOAD      an image (hw.environment.machine_image)      none
    BEGIN     none                                         observation of each environment in mask
    STEP      actions of each environment                  observation and reward of each
    SAVE      none                                         state of each environment
    RESTORE   state of each environment, as SAVE gave it   none

A command is taken after all items of the previous one; one of another kind does nothing. Only the
image says what an environment is; any component with these ports, such as a maze in block RAM, can
stand in for the machine.
"""

from dataclasses import dataclass
from enum import IntEnum

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import ConfigBase, check_range

__all__ = ["ITEM", "WORD_BITS", "Command", "EnvironmentPorts", "MachineConfig", "command_layout"]

#: Bits of a word of an image, the widest on ``i``. Actions and states are its low 32 bits.
WORD_BITS = 36
#: Clocks from the read of an instruction to the write of its result, and so the fewest slots.
_FEWEST_SLOTS = 8


class Command(IntEnum):
    """Kinds of commands."""

    LOAD = 0
    BEGIN = 1
    STEP = 2
    SAVE = 3
    RESTORE = 4


#: word : a number of an observation, the reward, or a word of a state.
#: fraction : its fraction bits; 0 for a word of a state.
#: last : the last item of its environment. The other fields are 0 without it.
#: terminated, truncated : after STEP, whether the step has ended the episode, and whether the
#:     episode has reached its limit.
#: clipped : after BEGIN and STEP, whether a sum or product of this command was beyond 32 bits; one
#:     of 2^31, which becomes 2^31 - 1, does not count.
ITEM = data.StructLayout(
    {
        "word": signed(32),
        "fraction": 6,
        "last": 1,
        "terminated": 1,
        "truncated": 1,
        "clipped": 1,
    }
)


@dataclass(frozen=True, kw_only=True)
class MachineConfig(ConfigBase):
    """Sizes of the machine.

    environments : 1..64. Fewer than 8 take as long as 8 in ``step`` and ``reset``.
    """

    environments: int = 8

    def __post_init__(self):
        check_range("environments", self.environments, 1, 64)

    @property
    def slots(self):
        """Clocks of an instruction, one for each environment; those without one are idle."""
        return max(_FEWEST_SLOTS, self.environments)


def command_layout(config):
    """Layout of a command: ``kind`` is a Command; bit e of ``mask`` is environment e in a BEGIN."""
    return data.StructLayout({"kind": 3, "mask": config.environments})


class EnvironmentPorts(wiring.Signature):
    """Ports of environments, as they see them: In enters them.

    Parameters
    ----------
    config : MachineConfig

    Members
    -------
    command : In(stream of command_layout)
    i : In(stream of 36 bits)
        Words of an image, actions, or words of states.
    random : In(stream of 32 bits)
        Random words, such as the low halves of an ``Sfc64``'s numbers: one for the first RANDOM
        instruction of each environment that runs, in order, then for the second, and so on.
    o : Out(stream of ITEM)
    """

    def __init__(self, config):
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "i": In(stream.Signature(unsigned(WORD_BITS))),
                "random": In(stream.Signature(unsigned(32))),
                "o": Out(stream.Signature(ITEM)),
            }
        )
