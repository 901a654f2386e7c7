"""Runs whose card collects, as the command line starts them: files, checkpoints, an interrupt."""

import io
import json
import signal
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from host import checkpoint
from host.agents.policy_file import load_policy
from host.cards.kernel import CapacityError, Kernel
from host.play.play_learner import PlayLearner
from host.play.play_settings import PlaySettings
from host.play.playing_replay import PlayingReplay
from host.runs.assembly import build
from host.runs.loop import train
from host.runs.request import request
from host.runs.run_folder import BEST, CHECKPOINT
from host.runs.run_log import read_progress
from host.runs.session import Seeds
from host.runs.start_run import on_card
from hw.learner.play.play_contract import SAVED
from sim.model.learner.network.trainer import Trainer

#: Schedules have lengths of their own, so that a run that is resumed has those of a longer one.
SETTINGS = {
    "collect": "card", "capacity": "512", "learning_starts": "100", "batch_size": "16",
    "hidden": "8", "n_step": "3", "evaluation_episodes": "2", "evaluation_interval_steps": "400",
    "log_interval_steps": "400", "epsilon_steps": "1000", "beta_steps": "1200",
    "learning_rate_steps": "1200", "learning_rate_final": "1e-4", "evaluation_steps": "40",
}  # fmt: skip


def configured(steps, **settings):
    options = dict(learner="card", env="CartPole-v1", steps=steps, seed=3)
    return request("dqn", options=options, settings=SETTINGS | settings)[0]


def run(config, out, card="model", kernel=None, **options):
    with on_card(config, card, kernel=kernel) as (factory, _, description):
        console = Console(file=io.StringIO())
        return train(config, factory, out=out, kernel=description, console=console, **options)


def rows(out):
    return [
        {name: value for name, value in row.items() if "seconds" not in name}
        for row in read_progress(out)
    ]


def state(out):
    return checkpoint.load(out / CHECKPOINT, "training")[1]["session"]


def equal(one, other, path=""):
    assert type(one) is type(other), path
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for name in one:
            equal(one[name], other[name], f"{path}.{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            equal(a, b, f"{path}[{k}]")
    else:
        np.testing.assert_array_equal(one, other, err_msg=path)


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", tmp_path / "build")
    return tmp_path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 1200 steps without a break."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("host.runs.start_run.BUILD_DIRECTORY", folder / "build")
        run(configured(1200), folder / "run")
    return folder / "run"


def test_a_run(whole):
    """Launches from one evaluation to the next; rows have the episodes of the card."""
    found, last = rows(whole), rows(whole)[-1]
    assert [row["steps"] for row in found] == [400, 800, 1200]
    assert [row["launches"] for row in found] == [1, 2, 3]
    learned = state(whole)
    # 8 environments; iterations follow vector steps 16, 20, .. of 150.
    assert learned["updates"] == (148 - 16) // 4 + 1
    saved = learned["learner"]["buffer"]["play"][: SAVED.size // 4].view(SAVED.dtype)[0]
    assert last["episodes"] == saved["episodes"] > 20
    assert 9 < last["return_mean"] == last["length_mean"] < 60
    assert last["exploration"] == pytest.approx(0.05, abs=1e-6)
    assert found[0]["exploration"] == pytest.approx(1 - 0.95 * 0.4, abs=1e-6)
    assert last["fill"] == 512 and last["loss"] > 0 and last["evaluation_return"] > 5
    assert last["beta"] == pytest.approx(0.4 + 0.6 * 800 / 1200)


def test_the_policy_is_the_cards(whole, built):
    """What is evaluated in gymnasium's environment are the weights that came with the launch."""
    network = state(whole)["policy"]["parameters"]["q"]
    config = configured(1200)
    with on_card(config, "model") as (factory, _, _):
        session = build(config, factory)
        begun = np.random.SFC64(Seeds(3).play).state["state"]["state"]
        np.testing.assert_array_equal(session.learner.buffer.status["play_state"], begun)
        session.load_state_dict(state(whole))
        card = session.learner.buffer.store(("online",))
        flat = np.concatenate([p.T.ravel() if p.ndim == 2 else p
                               for layer in card["q"] for p in layer["online"]])  # fmt: skip
        np.testing.assert_array_equal(flat, network)
        envs = session._copies.envs[0].envs[0]
        assert type(envs.unwrapped).__module__.startswith("gymnasium.")
        session.close()
    assert load_policy(whole / BEST)[0] is not None


def test_a_launch_that_does_not_fit_is_cut(whole, built, monkeypatch):
    """In a bank with room for the rings of 20 vector steps: all else is as in a large one."""
    whole_play, counts = PlayingReplay.play, []

    def play(self, count, *args, **options):
        counts.append(count)
        if count > 20:
            raise CapacityError("size must be less")
        return whole_play(self, count, *args, **options)

    monkeypatch.setattr(PlayingReplay, "play", play)
    run(configured(1200), built / "cut")
    assert counts == [50, 25, *[12, 12, 12, 12, 2] * 3]
    one, other = state(whole), state(built / "cut")
    assert (one.pop("launches"), other.pop("launches")) == (3, 15)
    equal(one, other)
    for name in ("return_mean", "beta", "learning_rate"):
        assert [row[name] for row in rows(whole)] == [row[name] for row in rows(built / "cut")]


def test_a_launch_that_fits_nowhere_is_refused(built, monkeypatch):
    """Not one vector step has room for its rings."""
    counts = []

    def play(self, count, *args, **options):
        counts.append(count)
        raise CapacityError("size must be less")

    monkeypatch.setattr(PlayingReplay, "play", play)
    with pytest.raises(CapacityError, match="^size must be less"):
        run(configured(400), built / "cut")
    assert counts == [50, 25, 12, 6, 3, 1]


def test_resumed_at_an_evaluation(whole, built):
    """Two thirds, then the rest: the state and the rows of the run without a break."""
    run(configured(800), built / "cut")
    run(configured(1200), built / "cut", resume=True)
    one, other = state(whole), state(built / "cut")
    one["total"] = other["total"]  # of schedules without a length
    equal(one, other)
    assert [row["return_mean"] for row in rows(whole)] == [
        row["return_mean"] for row in rows(built / "cut")
    ]


def test_interrupted_within_a_launch(whole, built, monkeypatch):
    """A signal in vector step 63 ends the launch there; the rest of it comes after --resume."""
    seen, act = [], Trainer.act

    def acts(self, observations):
        seen.append(1)
        if len(seen) == 40:
            signal.raise_signal(signal.SIGINT)
        return act(self, observations)

    monkeypatch.setattr(Trainer, "act", acts)
    result = run(configured(1200), built / "cut")
    assert result.exit_code == 130 and result.summary["interrupted"]
    steps = result.summary["steps"]
    assert 0 < steps < 1200 and steps % 400 and len(seen) == 40
    monkeypatch.undo()
    monkeypatch.setattr("host.runs.start_run.BUILD_DIRECTORY", built / "build")
    run(configured(1200), built / "cut", resume=True)
    one, other = state(whole), state(built / "cut")
    assert other["launches"] == one["launches"] + 1
    one["launches"] = other["launches"]
    equal(one, other)


def test_interrupted_before_the_first_launch(built):
    """All comes after --resume, with the first epsilon."""
    seen = []
    for cut in (False, True):
        config = configured(400)
        with on_card(config, "model") as (factory, _, _):
            with closing(build(config.in_run(), factory)) as session:
                state = session.state_dict()
            with closing(build(config.in_run(), factory)) as session:
                if cut:
                    session.load_state_dict(state)
                session.iterate()
                seen.append(session.state_dict())
    equal(*seen)


def test_the_cards_own_goal_says_when_to_look(whole, built):
    """Sixteen returns with a mean of 15, which exploring has and the policy has not, end a launch,
    and an evaluation follows. The next launches begin where it is met, and end where they would
    without a goal. What is learned is the same, and a resumed run looks when the whole one does."""
    solved = dict(until_solved="True", threshold="15")
    run(configured(1200, **solved), built / "goal")
    found = rows(built / "goal")
    assert [row["steps"] for row in found] == [352, 400, 800, 1200]
    assert all(0 < row["evaluation_return"] < 15 for row in found)
    one, other = state(whole), state(built / "goal")
    assert (one["launches"], other["launches"]) == (3, 4)
    for name in ("policy", "updates", "steps"):
        equal(one[name], other[name])
    run(configured(800, **solved), built / "cut")
    run(configured(1200, **solved), built / "cut", resume=True)
    again = state(built / "cut")
    again["total"] = other["total"]
    equal(other, again)


def test_a_launch_that_is_cut_where_the_goal_is_met(built):
    """In the vector step after which a whole launch ends by its goal: it is evaluated, too."""
    config = configured(1200, until_solved="True", threshold="15")
    with on_card(config, "model") as (factory, _, _):
        with closing(build(config.in_run(), factory)) as session:
            session.learner._room = 44
            assert session.learner.play().steps == 44 and session.learner.met
            session.learner._room = 1
            assert session.learner.play().steps == 1 and not session.learner.met, "met before"


@pytest.mark.parametrize("episodes, returns, met", [
    (16, 7, True), (15, 7, False), (16, 6, False), (99, 1 << 40, True),
])  # fmt: skip
def test_the_goal_is_met_by_as_many_episodes_and_as_large_a_sum(episodes, returns, met):
    status = dict(episodes=np.uint32(episodes), returns=np.int64(returns))
    learner = SimpleNamespace(buffer=SimpleNamespace(status=status), settings=PlaySettings)
    assert PlayLearner._meets(learner, 7) == met


def test_what_is_solved_early_ends_early(built):
    """The evaluation decides: the run ends at once if it passes, within the interval."""
    result = run(configured(1200, until_solved="True", threshold="9"), built / "run")
    assert result.summary["solved"] and result.summary["steps"] % 400


def test_a_new_run_aims_at_its_own_goal(built):
    """Though the run before on the card has met it."""
    config = configured(400, until_solved="True", threshold="9")
    with on_card(config, "model") as (factory, _, _):
        with closing(build(config.in_run(), factory)) as session:
            session.learner.play()
            assert session.learner.met
            session.clock.steps = session.clock.updates = 0
            state = session.learner.state_dict() | {"fresh": True}
            session.learner.load_state_dict(state)
            assert session.learner.play().steps < 50 and session.learner.met


@pytest.mark.parametrize("own, message", [
    ({"env_count": "4"}, "env_count must be 8 as in the kernel, not 4"),
    ({"n_step": "4"}, "n_step must be an integer in 1..3 \\(the kernel's\\), not 4"),
])  # fmt: skip
def test_another_kernel(built, own, message):
    """As a card may have that was not generated for the run."""
    with on_card(configured(400), "model") as (factory, _, _):
        with pytest.raises(ValueError, match=f"^{message}$"):
            build(configured(400, **own), factory)


def test_words(built, run):
    """The option, what it writes, and what is refused in one line."""
    out = built / "run"
    words = "train dqn --collect card --learner card --steps 400".split()
    small = [f"--set={name}={value}" for name, value in SETTINGS.items() if name != "collect"]
    assert run(*words, "--out", out, *small)[0] == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["config"]["collect"] == "card" and summary["episodes"] > 5
    assert summary["kernel"]["config"]["play"] == {"environments": 8, "longest": 3}
    for more, message in (
        (("--learner", "cpu"), "learner must be card with collect card, not 'cpu'"),
        (("--env", "Acrobot-v1"), "env must be an environment with a task with collect card"),
        (("--collect", "gpu"), "collect must be one of cpu, card, not 'gpu'"),
    ):
        code, _, err = run(*words, "--out", built / "other", *more)
        assert code == 2 and message in err and err.count("\n") == 1


@pytest.mark.long  # a kernel's Verilog
def test_the_verilog_is_the_twin(built, monkeypatch):
    """200 iterations and more: one checkpoint and rows; a signal ends a launch there, too."""
    config = configured(
        1000,
        updates_per_launch="8",
        evaluation_interval_steps="500",
        batch_size="8",
        env_count="4",
        optimizer="rmsprop",
    )
    kernel = {"learner.arithmetic.kind": "fixed", "learner.multipliers": 1, "replay.fanout": 4}
    kernel |= {"learner.update_units": 0, "learner.loss_unit": "program"}
    for card in ("model", "sim"):
        run(config, built / card, card=card, kernel=kernel)
    one, other = state(built / "model"), state(built / "sim")
    assert one["updates"] > 400
    equal(one, other)
    assert [row | {"device_cycles": None} for row in rows(built / "sim")] == rows(built / "model")
    longer = replace(config, steps=6000, evaluation_interval_steps=6000)
    run(longer, built / "whole", kernel=kernel)
    write, fired = Kernel._write_stop, []

    def looks(self):
        if not fired and self._waits > 1:
            fired.append(signal.raise_signal(signal.SIGINT))
        self._waits += 1
        write(self)

    launch = Kernel.launch

    def launched(self, **arguments):
        self._waits = 0  # there are two looks before the first wait
        return launch(self, **arguments)

    monkeypatch.setattr(Kernel, "_write_stop", looks)
    monkeypatch.setattr(Kernel, "launch", launched)
    assert run(longer, built / "cut", card="sim", kernel=kernel).exit_code == 130
    steps = state(built / "cut")["steps"]
    assert fired and 0 < steps < 6000
    run(longer, built / "cut", card="sim", kernel=kernel, resume=True)
    one, other = state(built / "whole"), state(built / "cut")
    assert other["launches"] == one["launches"] + 1
    equal(one, other | {"launches": one["launches"]})
