"""What the README shows works as shown."""

import re
from pathlib import Path

import numpy as np

import rlfabric

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_library_example(tmp_path, monkeypatch):
    """With a policy that has learned less."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    monkeypatch.chdir(tmp_path)
    config = {"evaluation_episodes": 1, "hidden": (16,)}
    rlfabric.train("dqn", steps=64, out="runs/demo", config=config, progress=False)
    shown = {}
    exec(code, shown)
    assert shown["action"].shape == () and shown["action"] in (0, 1)
    batch, replay = shown["batch"], shown["replay"]
    assert batch["obs"].shape == (4, 4) and batch["weights"].max() == 1
    np.testing.assert_array_equal(batch["reward"], batch["indexes"])
    assert replay.launches == 1, "set-up; card model launches no more"


ROOT = Path(__file__).parent.parent


def test_example_of_fixar(tmp_path, monkeypatch):
    """It learns, and has switched to half precision, in which nothing was clipped."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "fixar.md").read_text(), re.S)
    monkeypatch.chdir(tmp_path)
    shown = {}
    exec(code, shown)
    replay = shown["replay"]
    assert replay.precision.activations and replay.precision.errors
    assert len(set(replay.precision.error_shifts)) > 1 and max(replay.saturations) == 0
    assert len(replay) == 40 * 32


def shown_by(page, number, tmp_path, monkeypatch):
    """What there is after a page's Python block of that number was run."""
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.S)
    monkeypatch.chdir(tmp_path)
    shown = {}
    exec(code[number], shown)
    return shown


def test_example_of_a_dict_of_observations(tmp_path, monkeypatch):
    """user D6: what was stored by parts comes back by parts."""
    shown = shown_by("replay.md", 0, tmp_path, monkeypatch)
    obs = shown["obs"]
    assert obs["camera"].shape == (16, 8, 8, 3) and obs["camera"].dtype == np.uint8
    assert obs["speed"].shape == (16, 2) and len(shown["replay"]) == 32
    at = np.flatnonzero(shown["batch"]["indexes"] == 31)
    for row in at:  # the last one that was added
        assert (obs["camera"][row] == shown["before"]["camera"]).all()


def test_example_of_n_steps(tmp_path, monkeypatch):
    """user D6: in a loop of one's own; a step gives one experience, two steps later."""
    shown = shown_by("replay.md", 1, tmp_path, monkeypatch)
    batch = shown["batch"]
    rewards = np.round(batch["reward"], 4)
    assert 96 <= len(shown["replay"]) <= 100 and set(rewards) <= set(np.float32([1, 1.99, 2.9701]))
    whole = rewards == np.float32(2.9701)
    assert whole.any()
    assert set(np.round(batch["discount"][whole], 4)) <= set(np.float32([0, 0.9703]))


def misnamed(text):
    """Python files and pages that ``text`` names, and that are not there."""
    folders = ("hw", "system", "sim", "boards", "host", "rlfabric", "bench", "tests")
    folders += ("examples", "scripts")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py*")]
    # A template's file is there once it is generated.
    sources = {f"/{path.relative_to(ROOT)}".removesuffix(".j2") for path in paths}
    for name in re.findall(r"`([\w/]+\.py)`", text):
        if not any(source.endswith(f"/{name}") for source in sources):
            yield name
    for page in re.findall(r"\]\(([\w/]+\.md)(?:#[\w-]*)?\)", text):
        if not (ROOT / "docs" / page).exists():
            yield page


def test_pages_name_files_that_are_there():
    pages = sorted((ROOT / "docs").glob("*.md"))
    assert len(pages) > 8
    found = {page.name: bad for page in pages if (bad := list(misnamed(page.read_text())))}
    assert not found


def test_the_check_of_pages_itself():
    there = "`tree/draw.py`, `hw/replay/core.py`, [a](learner.md), [b](gae.md#widths), `gone.txt`"
    assert not list(misnamed(there))
    gone = "`tree/drawn.py`, `aw.py`, [a](learners.md), [b](gaes.md#widths)"
    assert list(misnamed(gone)) == ["tree/drawn.py", "aw.py", "learners.md", "gaes.md"]


FIRST_RUN = (Path(__file__).parent.parent / "docs" / "first_run.md").read_text()


def test_commands_exist():
    """Every `make` target and `rlfabric` command that is named is there."""
    from typer.main import get_command

    from host.cli.app import app

    makefile = (Path(__file__).parent.parent / "Makefile").read_text()
    targets = set(re.findall(r"`make ([a-z-]+)", README + FIRST_RUN))
    assert targets and targets <= set(re.findall(r"^([a-z-]+):", makefile, re.M))
    known = get_command(app).commands
    for command, words in re.findall(r"`rlfabric ([a-z]+)([^`]*)`", README + FIRST_RUN):
        options = {name for parameter in known[command].params for name in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", words)) <= options, (command, words)
    commands = set(re.findall(r"(?:`|\$ )rlfabric ([a-z]+)", README))
    assert {"train", "show", "doctor"} <= commands <= set(get_command(app).commands)


def undescribed(text):
    """Options of `rlfabric train` that ``text`` does not have, in any of their forms."""
    from typer.main import get_command

    from host.cli.app import app

    params = [each for each in get_command(app).commands["train"].params if each.opts[0][0] == "-"]
    assert len(params) > 20
    blocks = re.findall(r"```(.*?)```", text, re.S)
    spans = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    named = {word for code in (*blocks, *spans) for word in code.split()}
    return [each.opts[-1] for each in params if not named & set(each.opts)]


def test_pages_describe_every_option_of_train():
    """README says so of docs/training.md, which leaves actors to docs/actors.md."""
    pages = [(ROOT / "docs" / name).read_text() for name in ("training.md", "actors.md")]
    assert undescribed("\n".join(pages)) == []
    without = undescribed("")
    assert undescribed("`--actors 2`, `-v` and --board") == [
        name for name in without if name not in ("--actors", "--verbose")
    ]
