"""hw.names: what a name in a file may be, and where such names are used."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from card.copy_kernel import CopyConfig, describe

import boards
from boards.bitstream import counts_in
from host.compose.machine import Machine
from host.kernels.kernel_folder import MANIFEST, write
from host.runs.run_folder import run_folder
from hw.errors import UsageError
from hw.extras import python
from hw.names import LABEL, WORD, check_no_links, inside
from hw.shell.description import KernelDescription
from rlfabric.__main__ import _off_the_path
from sim import compiled
from system.lock import locked

OUTSIDE = (
    *("", ".", "..", "../a", "a/../b", "a/..", "./a", "/a", "//a", "a//b", "a/", "a\0b", "a\nb"),
    *("\x1b[2J", "..\\a", "C:\\a", "a" * 2000, None, 7, ["a"], b"a"),
)


@pytest.mark.parametrize("name", OUTSIDE, ids=repr)
def test_what_leads_outside_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="^name must be a name in its folder, not "):
        inside(tmp_path, name, "name")


def test_what_is_inside(tmp_path):
    for name in ("a", ".a", "a.b-c", "sub/a", "a b", "ä", "...", "-a"):
        assert inside(tmp_path, name, "name") == tmp_path / name
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "out").symlink_to(tmp_path / "other")
    (tmp_path / "in" / "own").symlink_to(tmp_path / "in")
    assert inside(tmp_path / "in", "own/a", "name") == tmp_path / "in" / "own" / "a"
    with pytest.raises(UsageError, match="name must be in its folder, not behind a link: 'out/a'"):
        inside(tmp_path / "in", "out/a", "name")


@pytest.mark.parametrize("text", ["", "a b", 'a"', "a;b", "a\n", "$a", "[a]", "`a`", "a|b", None])
def test_words_and_labels(text):
    for rule in (WORD, LABEL):
        with pytest.raises(UsageError, match="^field must be a "):
            rule.check("field", text)
        rule.check("field", "m_axi_host")
    for label in ("a.b-1", "...", ".a", "..a", "a.", "a-"):
        LABEL.check("field", label)
    for other in (".", "..", "-", "-Wno-lint"):
        with pytest.raises(UsageError, match="^field must be a .* begun by a dash, not '"):
            LABEL.check("field", other)
    with pytest.raises(UsageError):
        WORD.check("field", "1a")


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("name", ["../precious", "{absolute}", "out/precious"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_manifest_removes_nothing_elsewhere(tmp_path, name, overwrite):
    """host S3: a manifest had a file of the user elsewhere removed, or moved into the folder."""
    precious, folder = tmp_path / "precious", tmp_path / "kernel"
    precious.write_bytes(b"mine")
    folder.mkdir()
    if name.startswith("out"):
        (folder / "sub").mkdir()
        (folder / "sub" / "out").symlink_to(tmp_path)
        name = f"sub/{name}"
    listed = {name.format(absolute=precious): digest(b"mine")}
    (folder / MANIFEST).write_text(json.dumps({"config_hash": "0x1", "sha256": listed}))
    before = sorted(folder.rglob("*"))
    with pytest.raises(UsageError, match=rf"^name in {folder / MANIFEST} must be "):
        write(folder, {"config_hash": "0x2"}, {"a": b"a"}, overwrite=overwrite)
    assert precious.read_bytes() == b"mine" and sorted(folder.rglob("*")) == before


def test_nothing_is_written_through_a_link(tmp_path):
    precious, folder = tmp_path / "precious", tmp_path / "folder"
    precious.write_bytes(b"mine")
    for name in (".lock", "progress.csv", "actors.csv", "trace.vcd", "outcome.json", "top.v"):
        folder.mkdir()
        (folder / name).symlink_to(precious)
        with pytest.raises(UsageError, match=f"folder without links, not {folder}: {name}"):
            check_no_links(folder)
        with pytest.raises(UsageError, match="without links"), run_folder(folder, overwrite=True):
            pass
        (folder / name).unlink()
        (folder / name).symlink_to(tmp_path / "not there yet")
        with pytest.raises(UsageError, match=f"folder without links, not {folder}: {name}"):
            check_no_links(folder)
        with pytest.raises(UsageError, match="without links"):
            write(folder, {"config_hash": "0x2"}, {})
        (folder / name).unlink()
        folder.rmdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "tensorboard").mkdir()
    (tmp_path / "run" / "tensorboard" / "events.out.tfevents.1").symlink_to(precious)
    with pytest.raises(UsageError, match="links"), run_folder(tmp_path / "run", overwrite=True):
        pass
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(UsageError, match="lock must be a file, not a link"):
        with locked(tmp_path / "lock"):
            pass
    assert precious.read_bytes() == b"mine"


def test_of_old_files_only_our_own_are_removed(tmp_path, monkeypatch):
    """build/compiled of an archive may be a link to the user's documents."""
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    names = "thesis.tex", f"toy.times-{'0' * 64}", f"toy.times-{'0' * 64}.123", f"x-{'0' * 63}"
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1, 1))
    compiled._prepare.__wrapped__()
    assert {path.name for path in tmp_path.iterdir()} == {names[0], names[3]}


KERNEL = json.loads(describe(CopyConfig()).to_json())
EVIL = 'x"); system("id"); //'
WRONG_KERNELS = {
    "name of a kernel": {"name": "../../evil"},
    "verilog": {"verilog": "../../etc/passwd"},
    "verilog ": {"verilog": ".."},
    "verilog  ": {"verilog": "."},
    "config_hash": {"config_hash": "0x1"},
    "name of a master": {"masters": [KERNEL["masters"][0] | {"name": EVIL}]},
    "data_width": {"masters": [KERNEL["masters"][0] | {"data_width": EVIL}]},
    "data_width ": {"masters": [KERNEL["masters"][0] | {"data_width": 8.0}]},
    "access of m_axi_host": {"masters": [KERNEL["masters"][0] | {"access": "x"}]},
    "access of m_axi_host ": {"masters": [KERNEL["masters"][0] | {"access": ""}]},
    "access of m_axi_host  ": {"masters": [KERNEL["masters"][0] | {"access": None}]},
    "argument of m_axi_host": {"masters": [KERNEL["masters"][0] | {"arguments": [EVIL]}]},
    "name of an argument": {"arguments": [KERNEL["arguments"][0] | {"name": EVIL}]},
    "master of program": {"arguments": [KERNEL["arguments"][0] | {"master": EVIL}]},
    "kind of program": {"arguments": [KERNEL["arguments"][0] | {"kind": EVIL}]},
    "offset of program": {"arguments": [KERNEL["arguments"][0] | {"offset": -4}]},
    "kernel.json": {"arguments": 7},
    "kernel.json ": {"evil": 7},
}


@pytest.mark.parametrize("field", WRONG_KERNELS)
def test_a_kernel_s_names_are_words(field):
    """They enter C++, a path and a command."""
    assert (
        KernelDescription.from_json(json.dumps(KERNEL)).to_json()
        == json.dumps(KERNEL, indent=2, sort_keys=True) + "\n"
    )
    with pytest.raises(UsageError, match=f"^{field.strip()}.* must be "):
        KernelDescription.from_json(json.dumps(KERNEL | WRONG_KERNELS[field]))


def fields_of_a_kernel():
    """(field, kernel.json as a dict) of each field, with a text that none may have."""
    for each in KERNEL:
        if each not in ("arguments", "masters"):
            yield each, KERNEL | {each: EVIL}
    for group in ("arguments", "masters"):
        first, *rest = KERNEL[group]
        for each in first:
            yield f"{each} of {group}", KERNEL | {group: [first | {each: EVIL}, *rest]}


@pytest.mark.parametrize("field, kernel", [*fields_of_a_kernel()], ids=lambda each: str(each)[:24])
def test_each_field_of_a_kernel_is_checked(field, kernel):
    """Also one that a later version adds."""
    with pytest.raises(UsageError, match=" must be .*, not "):
        KernelDescription.from_json(json.dumps(kernel))


@pytest.mark.parametrize("text", ["", "[]", "7", "{}", "[" * 100_000, '{"arguments": [[]]}'])
def test_a_damaged_kernel_json(text):
    with pytest.raises(UsageError, match="^kernel.json must be a whole file"):
        KernelDescription.from_json(text)


DEVICES = "name,kind,board,cores,clock_mhz,launch_us,watts,source\n"
LINKS = "a,b,latency_us,gb_per_s,source\n{0},{0},1,1,x\n"


@pytest.mark.parametrize("name", ['cpu"""', "cpu 0", "cpu\\", "cpu|x", "$(id)", "`id`", "a;b"])
def test_names_of_devices(tmp_path, name):
    """host S2: the name of a device became code of the generated program."""
    quoted = '"' + name.replace('"', '""') + '"'
    (tmp_path / "devices.csv").write_text(f"{DEVICES}{quoted},cpu,,,,,,x\n")
    (tmp_path / "links.csv").write_text(LINKS.format(quoted))
    with pytest.raises(UsageError, match=r"^name must be a name of .* \(devices.csv line 2\)$"):
        Machine.read(tmp_path / "devices.csv", tmp_path / "links.csv")


@pytest.mark.parametrize("source", ["\x1b[2Jx", "a\rb", '"a\nb"'])
def test_sources_of_devices(tmp_path, source):
    (tmp_path / "devices.csv").write_text(f"{DEVICES}cpu0,cpu,,,,,,{source}\n", newline="")
    (tmp_path / "links.csv").write_text(LINKS.format("cpu0"))
    with pytest.raises(UsageError, match=r"^(source must be a text|cells must be)"):
        Machine.read(tmp_path / "devices.csv", tmp_path / "links.csv")


@pytest.mark.parametrize(
    "counts", ['{"lut": "x"}', '{"lut": NaN}', '{"a b": 1}', "7", "[1]", '{"lut": 1', "null"]
)
def test_counts_of_a_damaged_report_are_not_taken(tmp_path, counts):
    path = tmp_path / "report.json"
    path.write_text('{"config_hash": "0x1", "kernel": {"lut": 7, "bram36": 0.5}}')
    assert counts_in(path, "kernel", config_hash="0x1") == {"lut": 7, "bram36": 0.5}
    assert counts_in(path, "kernel", config_hash="0x2") is None
    path.write_text(f'{{"config_hash": "0x1", "kernel": {counts}}}')
    assert counts_in(path, "kernel", config_hash="0x1") is None


def test_the_current_folder_is_taken_off_the_path(tmp_path, monkeypatch):
    """host O1: `python -m rlfabric` ran sim.py of the folder in which it was started."""
    monkeypatch.chdir(tmp_path)
    for first in ("", str(tmp_path)):
        path = [first, "a", "b"]
        _off_the_path(path)
        assert path == ["a", "b"]
        _off_the_path(path)
        assert path == ["a", "b"]
    monkeypatch.chdir(os.path.dirname(os.path.dirname(boards.__file__)))
    path = [os.getcwd(), "a"]
    _off_the_path(path)
    assert path == [os.getcwd(), "a"]  # where the project itself is


def test_tools_do_not_import_from_their_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)  # what a user puts there is imported
    (tmp_path / "colorsys.py").write_text("print('RAN')")
    words = python("import colorsys, sys; print(sys.argv[1:], '' in sys.path)", "a", "b")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "['a', 'b'] False\n" and words[0] == sys.executable
