"""host.trainers.contract: what a trainer's class must have, and what it may have."""

import sys
from pathlib import Path

import pytest

from host.agents.registry import find_named

CLASS = "class Trainer:\n    def __init__(self, observation, action{more}): pass\n"
METHODS = "    def get_action(self, obs): pass\n    def update_policy(self, {taken}): pass\n"


def written(taken="obs, action", more="", kept=METHODS):
    return (CLASS + kept).format(taken=taken, more=more)


@pytest.mark.parametrize(
    "text, name, message",
    [
        (
            written(),
            "absent.py:Trainer",
            "ALGO must name a file that is there, not 'absent.py:Trainer'",
        ),
        (written(), "mine.py:Other", "ALGO must name a class of mine.py, not 'mine.py:Other'"),
        (
            "Trainer = 3",
            "mine.py:Trainer",
            "ALGO must name a class of mine.py, not 'mine.py:Trainer'",
        ),
        (
            "import nothing_like_it",
            "mine.py:Trainer",
            "ALGO must name a file that can be imported, not 'mine.py:Trainer' "
            "(ModuleNotFoundError: No module named 'nothing_like_it')",
        ),
        (
            "raise SystemExit('no')",
            "mine.py:Trainer",
            "ALGO must name a file that can be imported, not 'mine.py:Trainer' (SystemExit: no)",
        ),
        (
            written(kept="    def update_policy(self, obs): pass\n"),
            "mine.py:Trainer",
            "get_action must be a method of Trainer (mine.py), not missing",
        ),
        (
            written(kept="    def get_action(self, obs): pass\n"),
            "mine.py:Trainer",
            "update_policy must be a method of Trainer (mine.py), not missing",
        ),
        (
            written("obs, action, returns"),
            "mine.py:Trainer",
            "update_policy must take what an experience has (obs, action, reward, next_obs, done, "
            "discount, weights), not 'returns'",
        ),
        (
            written(more=", width"),
            "mine.py:Trainer",
            "width of Trainer (mine.py) must have a default, not none",
        ),
        (
            written().replace("(self, observation, action)", "(self, observation)"),
            "mine.py:Trainer",
            "Trainer (mine.py) must be made with (observation, action), not (observation)",
        ),
    ],
)
def test_a_class_that_is_no_trainer_is_a_line(text, name, message, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    for command in ("train", "show"):
        code, _, err = run(command, name)
        assert code == 2 and err == f"rlfabric: {message}\n"
    assert str(tmp_path / "mine.py") not in sys.modules or "raise" not in text


def test_arguments_that_it_may_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    more = ", sizes=[3, 4], name='a', rule=print, *, deep=None, **others"
    Path("more.py").write_text(written("obs, rewards, extra=3", more))
    algorithm = find_named("more.py:Trainer")
    config = algorithm.config()
    assert config.trainer.to_dict() == {"sizes": (3, 4), "name": "a", "deep": None}
    assert config.from_json(config.to_json()) == config
    assert config.CONTRACT.arguments == {"obs": "obs", "rewards": "reward"}


def test_two_trainers_of_one_file_share_its_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two.py").write_text(written() + "class Other(Trainer): pass\n")
    one, other = (find_named(name).config.CONTRACT for name in ("two.py:Trainer", "./two.py:Other"))
    assert issubclass(other.kind, one.kind) and str(tmp_path) not in sys.path
