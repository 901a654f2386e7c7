"""sim.compiled: what is said while it compiles, and whose files it takes up."""

import importlib

import numba
from numba.core.caching import FunctionCache
from test_compiled import *

from sim.compiled import compiled


def test_who_waits_for_numba_is_told_once(folder, capfd):
    """user D11: the first run on card model stood still for 20 s."""
    module._announce.cache_clear()
    assert toy(folder, 3)(7) == 21 and toy(folder, 4)(7) == 28
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "compiling twins of kernels with numba, which takes" in said
    assert toy(folder, 3)(7) == 21
    assert capfd.readouterr().err == ""


def test_what_others_may_write_is_compiled_again(folder):
    """host 25: to unpickle a file is to run what its writer wants."""
    assert toy(folder)(7) == 21
    (entry,) = (folder / "kept").iterdir()
    assert entry.stat().st_mode & 0o022 == 0
    for mode, found in ((0o664, False), (0o644, True)):
        entry.chmod(mode)
        times = toy(folder)
        assert times(7) == 21 and hits(times) == found


def test_a_folder_that_cannot_be_written(folder, capfd):
    """It is said once; everything goes on."""
    (folder / "kept").touch()
    times = toy(folder)
    assert (times(7), times(0.5)) == (21, 1.5)
    said = capfd.readouterr().err
    assert said.count("compiled code cannot be kept in") == 1
    assert "RLFABRIC_BUILD names another" in said


def test_functions_of_others_are_numbas_own_affair(folder):
    """Their cache is where numba has it."""
    (folder / "other.py").write_text("def double(x):\n    return 2 * x")
    double = importlib.import_module("other").double
    assert numba.njit(cache=True)(double)(2) == 4
    assert type(numba.njit(cache=True)(double)._cache) is FunctionCache
    assert list((folder / "__pycache__").glob("other.double*.nbc"))
    assert not (folder / "kept").exists()
    assert compiled(double)(2) == 4 and len(list((folder / "kept").iterdir())) == 1
