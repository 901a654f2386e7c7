"""host.terminal.exit_codes: an error of use or of the machine is a line, a bug is a traceback."""

from contextlib import closing

import gymnasium
import numpy as np
import pytest

import boards
from boards import bitstream
from host.a3c.card_network import NotFinite
from host.actors.pool import ActorsFailed
from host.agents.registry import find
from host.cards import CapacityError
from host.checkpoint import CheckpointError
from host.environments.environment import Actor, make_envs
from host.terminal.exit_codes import TRACEBACK, report
from hw.errors import Failure, MissingTool, UsageError
from system.cache import Unwritable
from tests.host.code_of import function, ours


@pytest.fixture
def reported(monkeypatch, capsys):
    """``reported(call)`` calls, and gives code and standard error of what was raised."""
    monkeypatch.setenv(TRACEBACK, "")

    def run(call):
        with pytest.raises(BaseException) as caught:
            call()
        return report(caught.value), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    "error, code",
    [
        (UsageError("it must be"), 2),
        (Failure("it must be"), 1),
        (NotFinite("it must be"), 1),
        (OSError("it must be"), 1),
        (MissingTool("it must be"), 3),
        (CapacityError("it must be"), 4),
        (boards.DoesNotFit("it must be"), 4),
        (bitstream.ToolsMissing("it must be"), 5),
        (bitstream.WrongVersion("it must be"), 6),
        (Unwritable("it must be"), 7),
        (ActorsFailed("it must be"), 1),
        (CheckpointError("it must be"), 2),
    ],
)
def test_what_we_raise_is_a_line(reported, error, code):
    assert reported(ours("raise error", error=error)) == (code, "rlfabric: it must be\n")
    # Also below what is not ours, such as the command line's library.
    outer = function("library", "inner()", inner=ours("raise error", error=error))
    assert reported(outer) == (code, "rlfabric: it must be\n")


def test_notes_are_on_the_line(reported):
    error = UsageError("it must be")
    error.__notes__ = ["the policy is there"]
    code, err = reported(ours("raise error", error=error))
    assert (code, err) == (2, "rlfabric: it must be; the policy is there\n")


def test_an_interrupt_that_python_has_wrapped(capsys):
    """As in the middle of a class of matplotlib, while that is imported."""
    error = RuntimeError("Error calling __set_name__ on 'x' instance 'y' in 'Z'")
    error.__cause__ = KeyboardInterrupt()
    assert report(error) == 130
    assert capsys.readouterr().err == "rlfabric: interrupted\n"


def test_an_interrupt_is_a_word(reported):
    assert reported(ours("raise KeyboardInterrupt")) == (130, "rlfabric: interrupted\n")


BUGS = {
    "a bug of ours that is raised": ours("raise ValueError('x')"),
    "the same of RuntimeError": ours("raise RuntimeError('x')"),
    "NumPy's ValueError in a line of ours": ours("np.ones(2) + np.ones(3)", np=np),
    "Python's ValueError in a line of ours": ours("int('x')"),
    "the same above a raise": ours("np.ones(2) + np.ones(3)\nraise ValueError('x')", np=np),
    "a library's ValueError": ours("inner()", inner=function("library", "raise ValueError('x')")),
    "a library's RuntimeError": ours("inner()", inner=function("library", "raise RuntimeError")),
    "no error of use": ours("raise TypeError('x')"),
    "an assertion": ours("assert False"),
}


@pytest.mark.parametrize("call", BUGS.values(), ids=BUGS)
def test_a_bug_is_a_traceback(reported, call):
    code, err = reported(call)
    assert code == 1 and err.startswith("Traceback (most recent call last):\n")
    assert "rlfabric:" not in err


def test_a_driver_may_raise_what_it_likes(reported):
    driver = function("pyxrt", "raise RuntimeError('No such device')")
    call = function("host.cards", "driver()", driver=driver)
    assert reported(call) == (1, "rlfabric: No such device\n")
    call = function("host.cards.pynq", "driver()", driver=driver)
    assert reported(call)[0] == 1
    bug = function("host.cards", "np.ones(2) + np.ones(3)", np=np)
    assert reported(bug)[1].startswith("Traceback")


def test_the_machine_is_a_line(reported, tmp_path):
    call = ours("open(path)", path=tmp_path / "nothing")
    code, err = reported(call)
    assert code == 1 and err.startswith("rlfabric: [Errno 2]") and err.count("\n") == 1


class Faulty(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, place, error):
        self.place, self.error = place, error
        self.maybe("make")

    def maybe(self, place):
        if self.place == place:
            raise self.error

    def reset(self, *, seed=None, options=None):
        self.maybe("reset")
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.maybe("step")
        return np.zeros(2, np.float32), 0.0, False, False, {}


@pytest.mark.parametrize("place", ["make", "reset", "step"])
@pytest.mark.parametrize("error", [ValueError("x must be y"), OSError("no file"), RuntimeError()])
def test_what_an_environment_raises(reported, monkeypatch, place, error):
    """One line, with the place in the user's file; on request its traceback."""
    name = "rlfabric-tests/Faulty-v0"
    gymnasium.register(name, entry_point=lambda: Faulty(place, error), disable_env_checker=True)

    def call():
        with closing(make_envs(name, 1, find("dqn"))) as envs:
            Actor(envs, seed=0).step(np.zeros(1, np.int64))

    try:
        code, err = reported(call)
        assert code == 1 and len(err.splitlines()) == 1
        assert "raised" in err and type(error).__name__ in err and "test_exit_codes.py line" in err
        monkeypatch.setenv(TRACEBACK, "1")
        code, err = reported(call)
        assert code == 1 and err.startswith("Traceback") and "in maybe" in err
    finally:
        del gymnasium.registry[name]


def test_a_traceback_on_request_keeps_the_code(reported, monkeypatch):
    monkeypatch.setenv(TRACEBACK, "1")
    code, err = reported(ours("raise error", error=UsageError("it must be")))
    assert code == 2 and err.startswith("Traceback") and err.endswith("UsageError: it must be\n")
