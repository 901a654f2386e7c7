"""Every config that is allowed becomes Verilog, without a warning: hw_arrays 1.

A whole kernel takes seconds to be written out, nearly all of them Amaranth's netlist. Elaboration,
where a config that nobody thought of fails, is a fifth of that: the quick test elaborates some of
each design, and writes one out of those that are small; the long one writes out 200 of each.
"""

import gc
import warnings
from contextlib import contextmanager

import pytest
from amaranth.hdl import Fragment
from legal_configs import legal_config
from marks import long_but

from hw.designs import DESIGNS
from hw.shared import SHARED
from hw.verilog import no_collection, to_verilog

#: Designs of which the tests of their kernels write one out.
LARGE = ("dqn", "ddpg", "fixar", "a3c")
#: Configs that the quick test elaborates.
QUICK = 3
#: Configs of one long test, and how many such tests a design has.
BLOCK, BLOCKS = 20, 10


@contextmanager
def no_warnings():
    """Also those of what was made and is used by nothing, which come when it goes."""
    gc.collect()  # what others left
    with no_collection(), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert not found, [str(each.message) for each in found]


@contextmanager
def named(name, seed):
    """The config and its kernel; what goes wrong with them says which they are."""
    config, design = legal_config(name, seed), DESIGNS[name]
    try:
        assert design.describe(config).config == config.to_dict()
        yield design.kernel(config)
    except Exception as error:
        raise AssertionError(f"{name} {seed}, {config.to_json()}: {error!r}") from error


def write(name, seed):
    """A kernel with all of its units, each in its own role, as Verilog."""
    with named(name, seed) as kernel:
        assert f"module {name}(" in to_verilog(kernel, name=name)


def elaborate(name, seed):
    """A kernel and the shared modules that it names first, which name others in turn."""
    with named(name, seed) as kernel:
        have = set(SHARED)
        Fragment.get(kernel, None)
        while new := set(SHARED) - have:
            have |= new
            for each in sorted(new):
                Fragment.get(SHARED[each], None)


@pytest.mark.parametrize("name", long_but(["replay", "gae", "dqn"], DESIGNS))
def test_some_become_verilog(name):
    with no_warnings():
        if name not in LARGE:
            write(name, 0)
        for seed in range(QUICK):
            elaborate(name, seed)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("name", DESIGNS)
def test_all_become_verilog(name, block):
    with no_warnings():
        for seed in range(block * BLOCK, (block + 1) * BLOCK):
            write(name, seed)
            gc.collect()  # or memory runs out
