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
