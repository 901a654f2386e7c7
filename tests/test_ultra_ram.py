"""One rule for deep memories: UltraRAM where the board has it, else block RAM (hw_arrays 12)."""

import re
from dataclasses import replace

import pytest

import boards
from host.settings import leaves, override
from hw.designs import DESIGNS
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.memory.gradient_queue import GradientQueue
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.parameter_buffer import ParameterBuffer
from hw.verilog import to_verilog

#: Changes of a default config by which it has a memory of 2048 words and more.
DEEP = {
    "replay": {"capacity": 4096},
    "gae": {"gae.depth": 4096},
    "dqn": {"capacity": 4096},
    "ddpg": {"capacity": 4096},
    "fixar": {"capacity": 4096, "learner.hidden": (400, 300)},
    "a3c": {"parameter_rows": 4096},
}


@pytest.mark.parametrize("name", DEEP)
def test_the_flag_of_the_board(name):
    """Every flag of a default is the board's, and what is deep follows it, in the estimate too."""
    for board in boards.BOARDS.values():
        default = DESIGNS[name].default(board.numbers)
        flags = {field for field, _, _ in leaves(default) if field.endswith("ultra_ram")}
        config = override(default, DEEP[name])
        found = {field: value for field, value, _ in leaves(config) if field in flags}
        assert len(found) == 1 and set(found.values()) == {bool(board.total.uram)}
        assert bool(DESIGNS[name].estimate(config).uram) == bool(board.total.uram), board.name
        without = DESIGNS[name].estimate(override(config, dict.fromkeys(flags, False)))
        assert not without.uram and without.bram36 > 0


@pytest.mark.parametrize("ultra_ram, style", [(True, "ultra"), (False, "block")])
@pytest.mark.parametrize("unit", [FeatureBuffer, ParameterBuffer, GradientQueue])
def test_memories_of_a3c(unit, ultra_ram, style):
    """The Verilog is of the style that the flag says: they had two rules, and no flag."""
    config = replace(Fa3cConfig(), ultra_ram=ultra_ram)
    text = to_verilog(unit(config), name="dut")
    assert re.findall(r'RAM_STYLE\("(\w+)"\)', text) == [style]
