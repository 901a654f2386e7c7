"""Trainers for tests: those of the folder ``trainers``, and changed ones."""

import sys
from pathlib import Path

from host.agents.registry import ALGORITHMS, find_named
from host.environments.spec import Spec

__all__ = ["CONTINUOUS", "DISCRETE", "FOLDER", "changed", "trainer"]

FOLDER = Path(__file__).parent / "trainers"

DISCRETE = Spec(shape=(4,), dtype="float32", discrete=True, action_count=3)
CONTINUOUS = Spec(shape=(3,), dtype="float32", discrete=False, action_count=2)


def trainer(name):
    """The Algorithm of the trainer in the file ``name`` of the folder."""
    return find_named(f"{FOLDER / name}.py:Trainer")


def changed(folder, name, *changes):
    """The Algorithm of a trainer whose file has other texts, in ``folder``; ``changes`` are (old,
    new), and each old text must be there."""
    text = (FOLDER / f"{name}.py").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = Path(folder, f"{name}.py")
    path.write_text(text)
    ALGORITHMS.pop(f"{path}:Trainer", None)
    sys.modules.pop(str(path.resolve()), None)
    return find_named(f"{path}:Trainer")
