"""host.checkpoint: what was saved comes back, what was damaged is refused."""

import io
import json
import os

import numpy as np
import pytest

from host import checkpoint as module
from host.checkpoint import CheckpointError, atomic_write, check_writable, load, save

STATE = {
    "array": np.arange(6, dtype=np.uint32).reshape(2, 3),
    "empty": np.zeros((0, 4), np.float32),
    "flags": np.array([True, False]),
    "nested": {"list": [1, None, "text", 2.5, {"deep": np.float32([1.5])}], "scalar": np.int64(7)},
    "rng": np.random.default_rng(1).bit_generator.state,
    "sfc": np.random.Generator(np.random.SFC64(1)).bit_generator.state,
}


def same(one, two):
    if isinstance(one, np.ndarray):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)
    elif isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            same(one[key], two[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            same(a, b)
    else:
        assert one == two


def test_round_trip(tmp_path):
    path = tmp_path / "checkpoint.npz"
    save(path, "training", {"a": 1, "b": {"c": (1, 2)}}, STATE)
    config, state = load(path, "training", {"a": 1, "b": {"c": [1, 2]}})
    same(STATE, state)
    assert config == {"a": 1, "b": {"c": [1, 2]}}
    state["array"][0, 0] = 9  # writable
    rng = np.random.default_rng()
    rng.bit_generator.state = state["rng"]
    assert rng.integers(1 << 62) == np.random.default_rng(1).integers(1 << 62)
    assert os.listdir(tmp_path) == ["checkpoint.npz"], "no temporary file stays"


def test_other_config_names_each_difference(tmp_path):
    path = tmp_path / "c.npz"
    save(path, "training", {"seed": 1, "dqn": {"gamma": 0.9, "hidden": [4]}}, {})
    with pytest.raises(CheckpointError) as caught:
        load(path, "training", {"seed": 2, "dqn": {"gamma": 0.99, "hidden": (4,)}})
    message = str(caught.value)
    assert "seed must be 1 as in the checkpoint, not 2" in message
    assert "dqn.gamma must be 0.9 as in the checkpoint, not 0.99" in message
    assert "hidden" not in message
    with pytest.raises(CheckpointError, match="^checkpoint must be of kind 'policy', not 'train"):
        load(path, "policy")


def test_absent(tmp_path):
    with pytest.raises(CheckpointError, match=r"^checkpoint must be a file, not .*\(none there\)$"):
        load(tmp_path / "none.npz", "training")


def test_w_damage_is_found(tmp_path):
    path = tmp_path / "c.npz"
    save(path, "training", {}, {"a": np.arange(1000)})
    whole = path.read_bytes()
    damaged = [b"", b"PK", b"not a zip at all", whole[: len(whole) // 2], whole[:-1], whole[100:]]
    rng = np.random.default_rng(2)
    for at in rng.integers(60, len(whole) - 400, 20):  # inside the members: their checksums
        damaged.append(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
    found = 0
    for content in damaged:
        path.write_bytes(content)
        try:
            _, state = load(path, "training")
        except CheckpointError as error:
            assert "checkpoint must be a whole file that rlfabric wrote, not " in str(error)
            found += 1
        else:  # a flipped bit in a header field that is not used changes nothing
            np.testing.assert_array_equal(state["a"], np.arange(1000))
    assert found >= len(damaged) - 4


def test_w_foreign_npz(tmp_path):
    path = tmp_path / "c.npz"
    np.savez(path, weights=np.ones(3))
    with pytest.raises(CheckpointError, match="^checkpoint must be a whole file"):
        load(path, "training")


def test_w_pickles_are_not_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "exploded"),))

    path = tmp_path / "c.npz"
    np.savez(path, tree=np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(CheckpointError):
        load(path, "training")
    assert not (tmp_path / "exploded").exists()


def test_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        atomic_write(path, fail)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["file"]
    atomic_write(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"


def test_directory_must_be_writable(tmp_path, monkeypatch):
    check_writable(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match="^out must be a directory that can be written, not "):
            check_writable(bad)

    def refuse(**options):
        raise PermissionError(13, "Permission denied")

    # A directory without write permission does not stop root, who may be running this.
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(ValueError, match="^out must be .*Permission denied"):
        check_writable(tmp_path)


def test_k1_float64_stays_float64(tmp_path):
    path = tmp_path / "c.npz"
    array = np.array([0.1, 1 / 3, 1e300])
    save(path, "training", {}, {"partial": array})
    found = load(path, "training")[1]["partial"]
    assert found.dtype == np.float64 and found.tolist() == array.tolist()


def test_k4_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done, path = [], tmp_path / "file"
    fsync, replace = os.fsync, os.replace

    def flushed(descriptor):
        done.append(("fsync", os.stat(descriptor).st_ino, os.fstat(descriptor).st_size))
        fsync(descriptor)

    def renamed(old, new):
        done.append(("replace", os.stat(old).st_ino, os.stat(old).st_size))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    atomic_write(path, lambda file: file.write(b"content"))
    inode = path.stat().st_ino
    assert done == [("fsync", inode, 7), ("replace", inode, 7)]


@pytest.mark.parametrize("mask, mode", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_z_the_umask_is_obeyed(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        save(tmp_path / "c.npz", "training", {}, {})
    finally:
        os.umask(before)
    assert (tmp_path / "c.npz").stat().st_mode & 0o777 == mode


def test_x_a_checkpoint_of_another_version(tmp_path, monkeypatch):
    """It is named where something does not fit, and does not matter where all does."""
    path = tmp_path / "c.npz"
    monkeypatch.setattr(module, "version", lambda name: "0.0.1")
    save(path, "training", {"seed": 1}, {"a": 1})
    monkeypatch.undo()
    assert load(path, "training", {"seed": 1})[1] == {"a": 1}
    words = f"which rlfabric 0.0.1 wrote, and this is {module.version('rlfabric')}"
    with pytest.raises(CheckpointError) as caught:
        load(path, "training", {"seed": 1, "depth": 3})
    assert str(caught.value) == (
        f"depth must be absent as in the checkpoint, not 3 ({path}, {words})"
    )
    with pytest.raises(CheckpointError) as caught:
        with module.restoring(path):
            load(path, "training")[1]["b"]
    assert str(caught.value).startswith("checkpoint must hold the state that this version saves")
    assert f"KeyError: 'b'; {path}, {words}" in str(caught.value)
    save(path, "training", {"seed": 1}, {})
    with pytest.raises(CheckpointError) as caught:
        load(path, "training", {"seed": 2})
    assert str(caught.value) == f"seed must be 1 as in the checkpoint, not 2 ({path})"


def test_records_come_back_whole(tmp_path):
    """With the bytes between and behind their fields, which NumPy's own file format leaves out."""
    kinds = {"names": ["a", "b"], "formats": [("<f4", (3,)), "u1"], "offsets": [0, 16]}
    for count in (0, 1, 7):
        records = np.zeros(count, np.dtype(kinds | {"itemsize": 48}))
        records.view(np.uint8)[...] = np.arange(48 * count) % 251
        dirty = [np.full(size, 255, np.uint8) for size in (48, 336) * 200]
        del dirty  # what is left out comes from here, and is not as it was by chance
        save(tmp_path / "file", "test", {}, {"records": records, "plain": [records["b"]]})
        _, state = load(tmp_path / "file", "test")
        assert state["records"].dtype == records.dtype and state["records"].flags.writeable
        assert state["records"].tobytes() == records.tobytes()
        np.testing.assert_array_equal(state["plain"][0], records["b"])


def written(path, **changes):
    """A file as ``save`` writes it, but for ``changes`` of its tree; None takes a key out."""
    tree = dict(format="rlfabric-checkpoint-1", kind="training", version="0.0.1")
    tree |= dict(config={"seed": 1}, state={"a": 1}) | changes
    tree = {name: value for name, value in tree.items() if value is not None}
    np.savez(path, tree=np.frombuffer(json.dumps(tree).encode(), np.uint8))
    return path


@pytest.mark.parametrize(
    "changes",
    [dict(format="another"), dict(config=[1]), dict(state=[1]), dict(state=None), dict(kind=None)],
    ids=str,
)
def test_a_tree_that_is_no_checkpoints(tmp_path, changes):
    assert load(written(tmp_path / "good.npz"), "training") == ({"seed": 1}, {"a": 1})
    with pytest.raises(CheckpointError, match="^checkpoint must be a whole file that rlfabric wro"):
        load(written(tmp_path / "c.npz", **changes), "training")


def test_a_checkpoint_without_a_version(tmp_path):
    path = written(tmp_path / "c.npz", version=None)
    assert load(path, "training", {"seed": 1}) == ({"seed": 1}, {"a": 1})
    with pytest.raises(CheckpointError, match="which rlfabric 0.1.0 or older wrote, and this is"):
        load(path, "training", {"seed": 2})
    with pytest.raises(CheckpointError, match="'b'; .*which rlfabric 0.1.0 or older wrote, and"):
        with module.restoring(path):
            load(path, "training")[1]["b"]


def test_what_is_absent_is_not_none(tmp_path):
    path = written(tmp_path / "c.npz")
    for expected, words in (
        ({"seed": 1, "depth": None}, "depth must be absent as in the checkpoint, not None"),
        ({}, "seed must be 1 as in the checkpoint, not absent"),
    ):
        with pytest.raises(CheckpointError, match=f"^{words} "):
            load(path, "training", expected)


def test_an_error_that_says_all_is_not_said_again(tmp_path):
    with pytest.raises(CheckpointError, match="^open must be 3$"):
        with module.restoring(written(tmp_path / "c.npz")):
            raise CheckpointError("open must be 3")


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_w_what_is_larger_than_its_file(tmp_path, share):
    """A small file cannot ask for much memory: nothing is compressed."""
    array = np.random.default_rng(0).integers(0, 256, 10_000).astype(np.uint8)
    array[: int(10_000 * share)] = 0
    tree = written(tmp_path / "tree.npz")
    with np.load(tree) as file:
        np.savez_compressed(tmp_path / "c.npz", tree=file["tree"], a=array)
    with pytest.raises(CheckpointError, match=r"it is \d+ bytes long, and holds 1\d{4}\)$"):
        load(tmp_path / "c.npz", "training")


def test_a_file_that_is_open(tmp_path):
    """With arrays in tuples, which come back in lists."""
    file = io.BytesIO()
    save(file, "policy", {}, {"pair": (np.float32([1.5]), 2)})
    file.seek(5)
    pair = load(file, "policy", {})[1]["pair"]
    assert pair[0].tolist() == [1.5] and pair[1] == 2 and len(pair) == 2


@pytest.mark.parametrize("kind, noun", [("training", "checkpoint"), ("policy", "policy")])
def test_a_folder_is_no_file(tmp_path, kind, noun):
    with pytest.raises(CheckpointError, match=f"^{noun} must be a file, not '{tmp_path}' .none th"):
        load(tmp_path, kind)


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def strike(file):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic_write(tmp_path / "file", strike)
    assert os.listdir(tmp_path) == []
