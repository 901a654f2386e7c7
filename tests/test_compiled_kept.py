"""sim.compiled: what is said while it compiles, and whose files it takes up."""

import hashlib
import hmac
import importlib
import pickle

import numba
import pytest
from numba.core.caching import FunctionCache
from test_compiled import *

from sim.compiled import compiled
from system import cache


def test_who_waits_for_numba_is_told_once(folder, capfd):
    """user D11: the first run on card model stood still for 20 s."""
    module._announce.cache_clear()
    assert toy(folder, 3)(7) == 21 and toy(folder, 4)(7) == 28
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "compiling twins of kernels with numba, which takes" in said
    assert toy(folder, 3)(7) == 21
    assert capfd.readouterr().err == ""


class Evil:
    """Runs code where it is unpickled."""

    ran = False

    def __reduce__(self):
        return setattr, (Evil, "ran", True)


EVIL = pickle.dumps(Evil())
#: What a stranger may write, who knows the format but not the key.
FORGED = {
    "a digest": hashlib.sha256(EVIL).digest(),
    "another key": hmac.digest(bytes(32), EVIL, "sha256"),
    "no seal": b"",
    "zeros": bytes(32),
}


@pytest.mark.parametrize("seal", FORGED)
def test_a_stranger_s_pickle_is_not_read(folder, seal):
    """host S1: build/compiled of a cloned repository belongs to the user."""
    assert toy(folder)(7) == 21
    (entry,) = (folder / "kept").iterdir()
    entry.write_bytes(FORGED[seal] + EVIL)
    times = toy(folder)
    assert times(7) == 21 and not hits(times) and not Evil.ran
    times = toy(folder)
    assert times(7) == 21 and hits(times)


def test_code_of_another_file_is_not_read(folder):
    """A seal is of a name, too: else an older version could stand in for a newer one."""
    toy(folder, 3)(7), toy(folder, 4)(7)
    one, other = (folder / "kept").iterdir()
    data = one.read_bytes(), other.read_bytes()
    one.write_bytes(data[1]), other.write_bytes(data[0])
    times = toy(folder, 3)
    assert times(7) == 21 and not hits(times)


def test_permissions_do_not_matter(folder):
    """public F13: where chmod does nothing, twins were compiled at every start."""
    assert toy(folder)(7) == 21
    (entry,) = (folder / "kept").iterdir()
    entry.chmod(0o777)
    times = toy(folder)
    assert times(7) == 21 and hits(times)


def test_each_user_has_its_own(folder, monkeypatch):
    assert toy(folder)(7) == 21
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_key", lambda: (b"other" * 8, True))
        times = toy(folder)
        assert times(7) == 21 and not hits(times) and len(list((folder / "kept").iterdir())) == 2
    times = toy(folder)
    assert times(7) == 21 and hits(times)


def test_without_a_place_for_the_key_nothing_is_read_or_kept(folder, monkeypatch, capfd):
    assert toy(folder)(7) == 21
    (entry,) = (folder / "kept").iterdir()
    monkeypatch.setattr(cache, "_key", lambda: (b"own" * 10, False))
    module._announce.cache_clear()
    for _ in range(2):
        times = toy(folder)
        assert times(7) == 21 and not hits(times)
    assert list((folder / "kept").iterdir()) == [entry]
    assert capfd.readouterr().err.endswith("takes seconds, at each start\n")
    module._announce.cache_clear()


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
