"""Every config that is allowed becomes Verilog, without a warning: hw_arrays 1.

A whole kernel takes seconds, nearly all of them Amaranth's netlist: those of ``QUICK`` are quick,
200 of each design are long.
"""

import gc
import warnings
from contextlib import contextmanager

import pytest
from legal_configs import legal_config

from hw.designs import DESIGNS
from hw.verilog import to_verilog

#: Small ones, or the first; a3c's has one layer, and a unit that trains it.
QUICK = {
    "replay": (0, 1),
    "gae": (0, 1),
    "dqn": (11,),
    "ddpg": (9,),
    "fixar": (4,),
    "a3c": (86,),
}
#: Configs of one long test, and how many such tests a design has.
BLOCK, BLOCKS = 20, 10


@contextmanager
def no_warnings():
    """Also those of what was made and is used by nothing, which come when it goes."""
    gc.collect()  # what others left
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert not found, [str(each.message) for each in found]


def check(name, seed):
    """A kernel with all of its units, each in its own role."""
    config, design = legal_config(name, seed), DESIGNS[name]
    try:
        assert design.describe(config).config == config.to_dict()
        text = to_verilog(design.kernel(config), name=name)
    except Exception as error:
        raise AssertionError(f"{name} {seed}, {config.to_json()}: {error!r}") from error
    assert f"module {name}(" in text


@pytest.mark.parametrize("name", DESIGNS)
def test_some_become_verilog(name):
    with no_warnings():
        for seed in QUICK.get(name, (0,)):
            check(name, seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("name", DESIGNS)
def test_all_become_verilog(name, block):
    with no_warnings():
        for seed in range(block * BLOCK, (block + 1) * BLOCK):
            check(name, seed)
