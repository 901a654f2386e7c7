"""What the README shows works as shown."""

import re
from pathlib import Path

import numpy as np

README = (Path(__file__).parent.parent / "README.md").read_text()


def test_library_example(tmp_path, monkeypatch):
    """Run on the twins: the same calls, without the minute of compiling."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert 'open_card("sim")' in code
    monkeypatch.chdir(tmp_path)
    shown = {}
    exec(code.replace('open_card("sim")', 'open_card("model")'), shown)
    batch, replay = shown["batch"], shown["replay"]
    assert batch["obs"].shape == (4, 4) and batch["weights"].max() == 1
    np.testing.assert_array_equal(batch["reward"], batch["indexes"])
    assert len(replay) == 8


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


def misnamed(text):
    """Python files and pages that ``text`` names, and that are not there."""
    folders = ("hw", "sim", "boards", "host", "bench", "tests", "examples")
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

    from host.cli import app

    makefile = (Path(__file__).parent.parent / "Makefile").read_text()
    targets = set(re.findall(r"`make ([a-z-]+)", README + FIRST_RUN))
    assert targets and targets <= set(re.findall(r"^([a-z-]+):", makefile, re.M))
    known = get_command(app).commands
    for command, words in re.findall(r"`rlfabric ([a-z]+)([^`]*)`", README + FIRST_RUN):
        options = {name for parameter in known[command].params for name in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", words)) <= options, (command, words)
    commands = set(re.findall(r"(?:`|\$ )rlfabric ([a-z]+)", README))
    assert {"train", "bench", "doctor"} <= commands <= set(get_command(app).commands)
