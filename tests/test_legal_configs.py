"""Every config that is allowed becomes Verilog, without a warning, and compares nothing with a
limit that a type keeps: hw_arrays 1.

A whole kernel takes seconds to be written out, nearly all of them Amaranth's netlist. Elaboration,
where a config that nobody thought of fails, is a fifth of that: the quick test elaborates 11
configs of the whole space, at the ends of their fields and between, and writes out one of replay
and gae; the long ones elaborate 204 of the whole space and write out 200 small ones of each design.
"""

import gc
import warnings
from contextlib import contextmanager

import pytest
from amaranth.hdl import Fragment
from config_limits import full_config
from decided import decided_comparisons
from legal_configs import VALUES, legal_config

from hw.designs import DESIGNS
from hw.shared import SHARED
from hw.verilog import no_collection, to_verilog

#: Designs that are written out quickly; of the others the tests of their kernels write one out.
SMALL = ("replay", "gae")
#: Configs that the quick test elaborates.
QUICK = {"replay": 4, "gae": 4, "dqn": 1, "fixar": 1, "a3c": 1}
#: Lookup tables, by the estimate, of a kernel that is elaborated quickly, or within half a minute.
QUICK_LUT, LONG_LUT = 100_000, 400_000
#: Configs of one long test, and how many such tests a design has.
BLOCK, BLOCKS = 20, 10
#: Configs of the whole space that a long test elaborates.
FULL = 34


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
def named(name, config):
    """The kernel of a config; what goes wrong with it says which it is."""
    design = DESIGNS[name]
    try:
        assert design.describe(config).config == config.to_dict()
        with decided_comparisons() as decided:
            yield design.kernel(config)
        assert not decided, "hw.comparison makes these: " + ", ".join(sorted({*decided}))
    except Exception as error:
        raise AssertionError(f"{name} {config.to_json()}: {error!r}") from error


def write(name, seed):
    """A kernel with all of its units, each in its own role, as Verilog."""
    with named(name, legal_config(name, seed)) as kernel:
        assert f"module {name}(" in to_verilog(kernel, name=name)


def full_configs(name, count, most):
    """Configs of the whole space whose kernels have at most so many lookup tables."""
    design = DESIGNS[name]

    def fits(config):
        return design.estimate(config).resources["lut"] <= most

    return [full_config(name, seed, fits) for seed in range(count)]


def elaborate(name, config):
    """A kernel and the shared modules that it names first, which name others in turn."""
    with named(name, config) as kernel:
        have = set(SHARED)
        Fragment.get(kernel, None)
        while new := set(SHARED) - have:
            have |= new
            for each in sorted(new):
                Fragment.get(SHARED[each], None)


def test_a_field_without_values_says_where_they_go(monkeypatch):
    monkeypatch.delitem(VALUES["gae"], "gae.rows")
    with pytest.raises(LookupError, match=r'^gae: no values .* add "gae.rows": .*VALUES.*\.py$'):
        legal_config("gae", 0)


def test_a_design_without_values_says_where_they_go(monkeypatch):
    monkeypatch.delitem(VALUES, "gae")
    with pytest.raises(LookupError, match=r"to VALUES\['gae'\] in tests/legal_configs.py$"):
        legal_config("gae", 0)


@pytest.mark.parametrize("name", QUICK)
def test_some_become_verilog(name):
    configs = full_configs(name, QUICK[name], QUICK_LUT)
    with no_warnings():
        if name in SMALL:
            write(name, 0)
        for config in configs:
            elaborate(name, config)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", DESIGNS)
def test_the_whole_space_is_elaborated(name):
    for config in full_configs(name, FULL, LONG_LUT):
        with no_warnings():
            elaborate(name, config)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("name", DESIGNS)
def test_all_become_verilog(name, block):
    with no_warnings():
        for seed in range(block * BLOCK, (block + 1) * BLOCK):
            write(name, seed)
            gc.collect()  # or memory runs out
