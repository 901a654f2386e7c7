"""A folder holds files of one kernel; what cannot be made again is not lost. user D1, D2"""

import hashlib
import json

import pytest

from host.kernels import describe, generate, read_description
from host.kernels.kernel_folder import MANIFEST, take, write
from tests.host.stub_designs import StubDesign


@pytest.fixture(autouse=True)
def designs(monkeypatch):
    monkeypatch.setattr("host.kernels.DESIGNS", {"stub": StubDesign()})


OURS, OTHER = ({"design": "stub", "config_hash": f"{k:#018x}"} for k in (1, 2))


@pytest.fixture
def folder(tmp_path):
    """Of a kernel with files for tools; its description, as ``write`` is given it, is another's
    with every hash."""
    return write(tmp_path / "stub", OURS, files(OURS, "stub.v", "Makefile", "link.cfg"))


def files(identity, *names):
    number = int(identity["config_hash"], 16)
    description = json.dumps({"config_hash": number}).encode()
    return {"kernel.json": description, **{name: f"{name} of {number}".encode() for name in names}}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def listed(folder):
    return json.loads((folder / MANIFEST).read_text())["sha256"]


def check_manifest(folder, *others):
    found = contents(folder)
    manifest = found.pop(MANIFEST)
    assert set(found) == set(json.loads(manifest)["sha256"]) | set(others)
    for name, digest in json.loads(manifest)["sha256"].items():
        assert hashlib.sha256(found[name]).hexdigest() == digest


def test_files_of_another_kernel_go(folder):
    """What tools need is not left beside another kernel's Verilog."""
    (folder / "notes.txt").write_text("mine")
    write(folder, OTHER, files(OTHER, "stub.v"))
    assert set(contents(folder)) == {"stub.v", "kernel.json", MANIFEST, "notes.txt"}
    assert (folder / "stub.v").read_text() == "stub.v of 2"
    check_manifest(folder, "notes.txt")


def test_files_of_the_same_kernel_stay(folder):
    """Verilog alone, then: what tools need is still this kernel's, and is listed."""
    before = {name: (folder / name).stat().st_mtime_ns for name in contents(folder)}
    write(folder, OURS, files(OURS, "stub.v"))
    assert {name: (folder / name).stat().st_mtime_ns for name in contents(folder)} == before
    check_manifest(folder)


def test_another_version_is_another_kernel(folder):
    newer = {**OURS, "version": "2"}
    (folder / "stub.xclbin").write_text("hours")  # which still goes with the description
    write(folder, newer, files(newer, "stub.v"))
    assert "Makefile" not in contents(folder) and (folder / "stub.xclbin").exists()


@pytest.mark.parametrize("bitstream", ["stub.xclbin", "stub.bit", "system.xsa"])
def test_a_finished_bitstream_keeps_its_description(folder, bitstream, capsys):
    (folder / bitstream).write_text("hours")
    (folder / "info.txt").write_text("clock")
    before = contents(folder)
    with pytest.raises(ValueError) as error:
        write(folder, OTHER, files(OTHER, "stub.v"))
    assert str(error.value) == (
        f"out must be a folder without the finished bitstream of another kernel, not {folder} "
        f"with {', '.join(sorted(['info.txt', bitstream]))}, which needs the kernel.json there "
        "(config hash 0x0000000000000001): --overwrite moves it to 0x0000000000000001 inside, "
        "--out names another folder"
    )
    assert contents(folder) == before
    write(folder, OURS, files(OURS, "stub.v"))  # its own
    write(folder, OTHER, files(OTHER, "stub.v"), overwrite=True)
    check_manifest(folder)
    kept = contents(folder / "0x0000000000000001")
    assert kept == {name: before[name] for name in (bitstream, "info.txt", "kernel.json")}
    assert "0x0000000000000001" in capsys.readouterr().err
    # Once more: no folder takes another's place.
    (folder / bitstream).write_text("more hours")
    write(folder, OURS, files(OURS, "stub.v"), overwrite=True)
    (folder / bitstream).write_text("again")
    write(folder, OTHER, files(OTHER, "stub.v"), overwrite=True)
    places = [path.name for path in sorted(folder.iterdir()) if path.is_dir()]
    assert places == [f"0x{1:016x}", f"0x{1:016x}-2", f"0x{2:016x}"]
    assert contents(folder / "0x0000000000000001") == kept


def test_a_description_without_a_manifest_says_whose_the_bitstream_is(tmp_path):
    """As it comes from the machine with the tools."""
    (tmp_path / "kernel.json").write_bytes(files(OURS)["kernel.json"])
    (tmp_path / "stub.xclbin").write_text("hours")
    with pytest.raises(ValueError, match="config hash 0x0000000000000001"):
        write(tmp_path, OTHER, files(OTHER, "stub.v"))
    write(tmp_path, OURS, files(OURS, "stub.v"))
    (tmp_path / "stub.xclbin").rename(tmp_path / "kept")
    write(tmp_path, OTHER, files(OTHER, "stub.v"))


def test_a_bitstream_alone_waits_for_its_description(tmp_path):
    (tmp_path / "stub.xclbin").write_text("hours")
    write(tmp_path, OURS, files(OURS))
    assert (tmp_path / "kernel.json").exists() and (tmp_path / "stub.xclbin").exists()


@pytest.mark.parametrize("identity", [OURS, OTHER])
@pytest.mark.parametrize("name", ["Makefile", "stub.v"])
def test_what_was_changed_by_hand_is_not_lost(folder, identity, name):
    """Neither replaced, nor removed as another kernel's."""
    (folder / name).write_text("mine")
    before, new = contents(folder), files(identity, "stub.v", "link.cfg")
    if name == "Makefile" and identity is OURS:
        new |= files(identity, "Makefile")
    with pytest.raises(ValueError) as error:
        write(folder, identity, new)
    assert str(error.value).startswith(
        f"{folder / name} must be as rlfabric wrote it to be replaced, not changed: --overwrite"
    )
    assert contents(folder) == before
    write(folder, identity, new, overwrite=True)
    assert (folder / "0x0000000000000001" / name).read_text() == "mine"
    check_manifest(folder)


def test_a_file_that_is_not_in_the_manifest_is_somebodys(tmp_path):
    (tmp_path / "Makefile").write_text("mine")
    with pytest.raises(ValueError, match="Makefile must be as rlfabric wrote it"):
        write(tmp_path, OURS, files(OURS, "Makefile"))
    write(tmp_path, OURS, files(OURS, "stub.v"))  # which does not touch it
    assert (tmp_path / "Makefile").read_text() == "mine"
    write(tmp_path, OURS, files(OURS, "Makefile"), overwrite=True)
    assert (tmp_path / f"0x{1:016x}" / "Makefile").read_text() == "mine"


def test_what_an_interrupt_left_is_written_again(folder):
    """New files beside the old manifest."""
    for name, data in files(OTHER, "stub.v").items():
        (folder / name).write_bytes(data)
    write(folder, OTHER, files(OTHER, "stub.v"))
    assert set(contents(folder)) == {"stub.v", "kernel.json", MANIFEST}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"sha256": 3}'])
def test_a_damaged_manifest_is_none(folder, text):
    """Equal files are ours, whatever it says."""
    whole = contents(folder)
    (folder / MANIFEST).write_text(text)
    write(folder, OURS, files(OURS, "stub.v", "Makefile", "link.cfg"))
    assert contents(folder) == whole


def test_taking_a_folder_that_is_not_there(tmp_path):
    take(tmp_path / "none", OURS, overwrite=True)
    assert not list(tmp_path.iterdir())


def test_every_generator_takes_its_folder(tmp_path):
    """A design for a board: another config's files go, and its description never says another."""
    folder = generate("stub", "u200", tmp_path, fanout=8)
    (folder / "stub.xclbin").write_text("hours")
    for make in (generate, describe):
        with pytest.raises(ValueError, match="without the finished bitstream of another kernel"):
            make("stub", "u200", tmp_path, fanout=4)
    assert read_description(folder / "kernel.json").config["fanout"] == 8
    generate("stub", "u200", tmp_path, fanout=4, overwrite=True)
    assert read_description(folder / "kernel.json").config["fanout"] == 4
    describe("stub", "u200", tmp_path, fanout=16)
    assert {path.name for path in folder.iterdir() if path.is_file()} == {"kernel.json", MANIFEST}
