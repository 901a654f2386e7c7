"""Files of a stranger, through the command line: one line each, nothing run, nothing elsewhere."""

import hashlib
import json
import pickle
import zipfile

import numpy as np
import pytest
from card.copy_kernel import CopyConfig, describe
from test_trusted import ALGO, ENV, EVIL, MODULE, TRAINER, policy, summary
from typer.testing import CliRunner

import rlfabric
from host.cli.app import app
from host.terminal.exit_codes import report

HEADS = "name,kind,board,cores,clock_mhz,launch_us,watts,source\n"
LINKS = "a,b,latency_us,gb_per_s,source\ncpu0,cpu0,1,1,x\n"
DEEP = "[" * 100_000
KERNEL = json.loads(describe(CopyConfig()).to_json())


class Evil:
    def __reduce__(self):
        return open, ("ran", "w")


def manifest(folder, name):
    place = folder / "build" / "u50" / "gae"
    place.mkdir(parents=True)
    digest = hashlib.sha256(b"mine").hexdigest()
    listed = {"config_hash": "0x1", "sha256": {name.format(folder.parent): digest}}
    (place / "manifest.json").write_text(json.dumps(listed))
    return place


def verilog(*more):
    return ["verilog", "gae", "--board", "u50", "--out", "build", *more]


def compose(folder, devices, links=LINKS):
    (folder / "devices.csv").write_text(devices)
    (folder / "links.csv").write_text(links)
    files = "--devices", "devices.csv", "--links", "links.csv"
    return ["compose", "dqn", "--env", "CartPole-v1", *files]


def written(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def config(folder, text):
    return ["train", "dqn", "--config", written(folder / "config.json", text)]


def npz(folder, **arrays):
    np.savez(folder / "best.npz", **arrays)
    return ["evaluate", "best.npz"]


def bomb(folder):
    with zipfile.ZipFile(folder / "best.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("tree.npy", bytes(1 << 24))
    return ["evaluate", "best.npz"]


def linked(folder, name):
    """A run's folder with a link to a file of the user."""
    (folder / "run" / name).parent.mkdir(parents=True)
    (folder / "run" / name).symlink_to(folder.parent / "precious")
    train = "train", "dqn", "--env", "CartPole-v1", "--steps", "100"
    return [*train, "--overwrite", "--out", "run"]


def kernel_link(folder, place, target):
    (folder / place).parent.mkdir(parents=True)
    (folder / place).symlink_to(folder.parent / target)
    return verilog()


def loads(folder, card="model", text="", **fields):
    """A program that loads a kernel's folder."""
    (folder / KERNEL["verilog"]).write_text(text)
    path = written(folder / "kernel.json", json.dumps(KERNEL | fields))

    def program():
        with rlfabric.open_card(card) as opened:
            opened.load(path)

    return program


def master(**fields):
    return {"masters": [KERNEL["masters"][0] | fields]}


#: What the stranger gives -> it writes the files, and returns what the user types, or a program.
FILES = {
    "manifest, above": lambda f: manifest(f, "../../../../precious") and verilog(),
    "manifest, absolute": lambda f: manifest(f, "{}/precious") and verilog(),
    "manifest, overwrite": lambda f: manifest(f, "{}/precious") and verilog("--overwrite"),
    "manifest, through a link": lambda f: (
        (manifest(f, "out/precious") / "out").symlink_to(f.parent) or verilog("--overwrite")
    ),
    "kernel's folder is a link": lambda f: kernel_link(f, "build/u50/gae", "folder"),
    "board's folder is a link": lambda f: kernel_link(f, "build/u50", "folder"),
    "kernel's file is a link": lambda f: kernel_link(f, "build/u50/gae/gae.v", "precious"),
    "device, docstring": lambda f: compose(f, f'{HEADS}"cpu""""""; {EVIL[:9]}",cpu,,,,,,x\n'),
    "device, path": lambda f: compose(f, f"{HEADS}../../cpu,cpu,,,,,,x\n"),
    "device, terminal": lambda f: compose(f, f"{HEADS}cpu0,cpu,,,,,,\x1b[2J\n"),
    "device, board": lambda f: compose(f, f"{HEADS}cpu0,card,{ALGO},,,,,x\n"),
    "device, no CSV": lambda f: compose(f, f'{HEADS}"cpu0,cpu\n'),
    "links, unknown": lambda f: compose(f, f"{HEADS}cpu0,cpu,,,,,,x\n", LINKS + "a,b,1,1,x\n"),
    "config, environment": lambda f: config(f, json.dumps({"env": ENV})),
    "config, list": lambda f: config(f, json.dumps({"env": [ENV]})),
    "config, algorithm": lambda f: config(f, json.dumps({"algo": ALGO})),
    "config, unknown field": lambda f: config(f, json.dumps({"__class__": ALGO})),
    "config, deep": lambda f: config(f, DEEP),
    "plan, environment": lambda f: config(f, json.dumps({"config": {"env": ENV}})),
    "exploration, board": lambda f: config(
        f, json.dumps({"choice": {"fields": {}}, "rule": "ours", "board": "../x", "design": ALGO})
    ),
    "summary, algorithm": lambda f: ["verilog", "dqn", "--for-run", str(summary(f, ALGO))],
    "summary, trainer": lambda f: ["verilog", "dqn", "--for-run", str(summary(f, TRAINER))],
    "summary, kernel": lambda f: [
        *("verilog", "dqn", "--for-run"),
        written(f / "s.json", json.dumps({"config": {"algo": 7}, "kernel": [ALGO]})),
    ],
    "policy, algorithm": lambda f: ["evaluate", str(policy(f, ALGO))],
    "policy, environment": lambda f: ["evaluate", str(policy(f, env=ENV))],
    "policy, pickle": lambda f: npz(f, tree=np.array([Evil()], object)),
    "policy, only a pickle": lambda f: (
        (f / "best.npz").write_bytes(pickle.dumps(Evil())) and ["evaluate", "best.npz"]
    ),
    "policy, bomb": bomb,
    "policy, deep": lambda f: npz(f, tree=np.frombuffer(DEEP.encode(), np.uint8)),
    "run, log": lambda f: linked(f, "progress.csv"),
    "run, lock": lambda f: linked(f, ".lock"),
    "run, events": lambda f: linked(f, "tensorboard/events.out.tfevents.1"),
    "kernel, name": lambda f: loads(f, name="../../evil"),
    "kernel, C++": lambda f: loads(f, **master(name='x"); system("touch ran"); //')),
    "kernel, width": lambda f: loads(f, **master(data_width="8; system()")),
    "kernel, path": lambda f: loads(f, "sim", verilog="../precious"),
    "kernel, damaged": lambda f: loads(f, arguments=7),
    "kernel, Verilog": lambda f: loads(
        f, "sim", 'module copy; initial $system("touch ran"); endmodule\n'
    ),
}


def tree(folder):
    return {
        path: path.is_file() and (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if "project" not in path.parts
    }


@pytest.mark.parametrize("given", FILES)
def test_a_stranger_s_files(tmp_path, monkeypatch, capsys, given):
    project = tmp_path / "project"
    (tmp_path / "folder").mkdir()
    (tmp_path / "precious").write_bytes(b"mine")
    project.mkdir()
    (project / f"{MODULE}.py").write_text(EVIL)
    monkeypatch.chdir(project)
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", project / "build")
    asked = FILES[given](project)
    before = tree(tmp_path)
    if callable(asked):
        with pytest.raises(Exception) as caught:
            asked()
        error = caught.value
    else:
        error = CliRunner().invoke(app, asked).exception
    capsys.readouterr()
    assert report(error) == 2
    said = capsys.readouterr().err
    assert said.startswith("rlfabric: ") and said.count("\n") == 1, said
    assert tree(tmp_path) == before and not (project / "ran").exists()
    assert "Traceback" not in said and "\x1b" not in said


def test_there_are_thirty():
    assert len(FILES) >= 30
