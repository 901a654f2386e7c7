"""Actors that are lost: the run goes on with new ones, or ends in a way that can be continued."""

import csv
import io
import os
import re
import signal
import time
from dataclasses import replace

import pytest
from fake_replay import FakeReplay
from rich.console import Console

from host.actors.local_transport import InlineTransport
from host.actors.messages import ActorLoss, Lost
from host.actors.placement import Actors
from host.actors.pool import ActorsFailed
from host.runs import loop
from host.runs.loop import train
from host.runs.start_run import on_card
from tests.host.actors.acted import INLINE, config_of
from tests.host.actors.strikes import named


def small(**changes):
    every = dict(evaluation_interval_steps=400, log_interval_steps=200, steps=800)
    told = dict(learner="cpu", actor_order="free", launches_per_message=2, n_step=1)
    return config_of("dqn", **told | every | changes)


def run(config, actors, out, **options):
    """``(TrainResult, what the console says)``."""
    said = Console(file=io.StringIO(), width=200)
    result = train(config, FakeReplay, actors=actors, out=out, console=said, **options)
    return result, said.file.getvalue()


def losses(out):
    with (out / "actors.csv").open() as file:
        return list(csv.DictReader(file))


def pause(out, seconds):
    """A callback that gives an actor the time to be missed, once: the other one could take the
    whole run in it. Below the five seconds from which a pause counts for no limit."""
    due = [seconds]

    def callback(progress):
        if progress.steps >= 400 and due and not (out / "actors.csv").exists():
            time.sleep(due.pop())

    return callback


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """The summary of the run without actors."""
    config = small(actors=0, launches_per_message=None)
    return run(config, None, tmp_path_factory.mktemp("local"))[0].summary


@pytest.mark.parametrize(
    ("strike", "kind", "words"),
    [
        (
            "Raises",
            "raised",
            r"its environment failed: environment 0 raised ValueError: the pole is gone "
            r"\(step \d+ of its episode; strikes.py line \d+\)",
        ),
        ("Exits", "killed", "its process was killed"),
        ("Leaves", "left", "its process ended by itself: exit code 3"),
        ("Hangs", "hung", "it gave no answer in time: no answer within 4 s"),
    ],
)
def test_replaced(remote, tmp_path, local, strike, kind, words):
    """Steps and updates are those of a run without actors; what was inserted stays."""
    out = tmp_path / "run"
    # An actor that begins anew beside busy cores needs some seconds for its imports.
    told = remote(limit=4.0) if strike == "Hangs" else remote()
    result, said = run(small(env=named(strike)), told, out, callback=pause(out, 4.2))
    assert re.search(
        rf"actor 0 \(machine .*, pid \d+\) was lost: {words}; replaced \(1 of 3\)", said
    )
    [row] = [row for row in losses(out) if row["actor"] == "0"][:1]
    assert row["kind"] == kind and row["where"].startswith("machine ") and float(row["time"]) > 0
    for name in ("steps", "updates", "launches"):
        assert result.summary[name] == local[name], name
    assert result.summary["actors"] == 2 and result.summary["actor_losses"] >= 1
    assert result.exit_code == 0


def test_killed_from_outside(remote, tmp_path):
    """kill -9, which the run survives; pid and machine are in actors.csv."""
    killed, sessions = [], []

    def kill(progress):
        if progress.steps >= 200 and not killed:
            pool = sessions[0].collector.pool
            killed.append(int(pool._places[1].who.rpartition(" ")[2]))
            os.kill(killed[0], signal.SIGKILL)

    original = loop.build

    def build(*arguments, **options):
        sessions.append(original(*arguments, **options))
        return sessions[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(loop, "build", build)
        result, said = run(small(), remote(), tmp_path, callback=kill)
    assert result.summary["steps"] == 800 and f"pid {killed[0]}" in said
    [row] = losses(tmp_path)
    assert row["kind"] == "killed" and row["actor"] == "1" and int(row["steps"]) >= 200


def test_the_same_error_everywhere(remote, tmp_path):
    """It is a bug of the environment: the run ends with one line, and a checkpoint."""
    with pytest.raises(ActorsFailed, match="^actor . was lost .*ValueError: the pole is") as it:
        run(small(env=named("RaisesEverywhere")), remote(), tmp_path)
    assert "\n" not in str(it.value) and "in _raise" in str(it.value.__cause__)
    assert "--resume goes on from step" in str(it.value)
    assert (tmp_path / "checkpoint.npz").exists() and len(losses(tmp_path)) == 3


def test_fixed_order_ends_and_is_continued(tmp_path):
    """Inline: nothing is replaced; what was collected before is in the checkpoint."""
    config = small(env=named("Raises"), actor_order="fixed")
    with pytest.raises(ActorsFailed, match="the pole is gone"):
        run(config, INLINE, tmp_path)
    result, _ = run(config, INLINE, tmp_path, resume=True)
    assert result.summary["steps"] == 800 and result.summary["actor_losses"] == 1
    assert len(losses(tmp_path)) == 1, "the file goes on"
    run(replace(config, env="CartPole-v1"), INLINE, tmp_path)
    assert not (tmp_path / "actors.csv").exists(), "a new run has none"


class Dying(InlineTransport):
    """Ray ends after a number of answers."""

    def __init__(self, answers):
        self._left = answers

    def answer(self, ticket):
        self._left -= 1
        if self._left < 0:
            raise Lost(ActorLoss("ray", "raylet has ended"))
        return ticket


@pytest.mark.parametrize("algo, answers", [("dqn", 0), ("ppo", 3), ("a3c", 0), ("a3c", 6)])
def test_ray_ends(tmp_path, algo, answers):
    """Before actors are there, while they open, in the run: always with a checkpoint."""
    own = dict(learner="cpu", memory="tree") if algo == "dqn" else {}
    config = config_of(algo, steps=400, evaluation_interval_steps=1000, **own)
    told = dict(out=tmp_path, console=Console(file=io.StringIO()))
    with on_card(config, "model") as (factory, _, _):
        said = r"^Ray must go on as .* \(raylet has ended\); .*--resume goes on from step \d+, in"
        with pytest.raises(ActorsFailed, match=said):
            train(config, factory, actors=Actors(transport=Dying(answers)), **told)
        [row] = losses(tmp_path)
        assert (row["kind"], row["text"]) == ("ray", "raylet has ended")
    with on_card(config, "model") as (factory, _, _):
        result = train(config, factory, actors=INLINE, resume=True, **told)
    assert result.summary["steps"] >= 400 and result.summary["actor_losses"] == 1


def test_no_actor_limit_is_passed(remote, tmp_path):
    # On a busy machine the other actor may be the first one that is late.
    with pytest.raises(ActorsFailed, match=r"actor . was lost .*no answer within 3 s.* 0 times"):
        told = remote(limit=3.0, losses=0)
        run(small(env=named("Hangs")), told, tmp_path, callback=pause(tmp_path, 3.2))
    assert (tmp_path / "last.npz").exists()


def test_interrupted_and_resumed(remote, tmp_path):
    """Ctrl-C: a checkpoint after the launch; the resumed run takes what actors had made."""

    def strike(progress):
        if progress.steps == 400:
            os.kill(os.getpid(), signal.SIGINT)

    result, said = run(small(), remote(), tmp_path, callback=strike)
    assert result.exit_code == 130 and "Interrupted at step 400" in said
    result, _ = run(small(), remote(), tmp_path, resume=True)
    assert result.exit_code == 0 and result.summary["steps"] == 800
    assert result.summary["actor_losses"] == 0 and not (tmp_path / "actors.csv").exists()
