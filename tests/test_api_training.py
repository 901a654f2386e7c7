"""The public API: training with a callback, what a run says, and its policy."""

import threading

import numpy as np
import pytest

import rlfabric
from host.algorithms.dqn import DQN, DQNConfig
from host.environments.spec import Spec
from rlfabric import training


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def train(steps=400, **options):
    config = {"evaluation_episodes": 1, "hidden": (16,), "learning_starts": 100}
    config |= {"evaluation_interval_steps": 160}
    return rlfabric.train(
        "dqn", "CartPole-v1", steps=steps, progress=False, config=config, **options
    )


def test_a_callback_sees_each_launch_and_may_stop_the_run(capsys):
    seen = []
    run = train(out="seen", callback=seen.append)
    assert [each.launches for each in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].steps == run.steps == 416 and seen[-1].updates > 0
    assert seen[-1].updates == run.summary["updates"]
    assert seen[-1].episodes > 0 and seen[-1].mean_return > 0
    assert seen[0].best_return is None and seen[-1].best_return > 0
    stopped = train(out="stopped", callback=lambda progress: progress.steps < 200)
    assert stopped.steps == 224 and not stopped.interrupted and stopped.mean_return is not None
    again = train(out="stopped", resume=True)
    assert again.steps == 416 and again.folder == stopped.folder
    assert capsys.readouterr().out == "", "no progress bar"


def test_an_error_of_a_callback_leaves_a_checkpoint():
    def fails(progress):
        if progress.steps >= 200:
            raise KeyError("of the callback")

    with pytest.raises(KeyError, match="of the callback") as caught:
        train(out="failed", callback=fails)
    assert any("--resume goes on from step" in note for note in caught.value.__notes__)


def test_a_run_says_what_it_was():
    run = train(out="said", seed=3, kernel={"fanout": 4})
    assert run.summary["kernel"]["config"]["replay"]["fanout"] == 4
    assert (run.summary["seed"], run.solved, run.interrupted) == (3, False, False)
    told = f"steps=416, mean_return={run.mean_return}, solved=False"
    assert repr(run) == f"Run({str(run.folder)!r}, {told})"
    told = f"env='CartPole-v1', score={run.policy.score}"
    assert repr(run.policy) == f"Policy(algorithm='dqn', {told})"
    assert run.progress[-1]["steps"] == 416
    assert run.policy.algorithm == "dqn" and run.policy.env == "CartPole-v1"
    found = rlfabric.evaluate(run.policy, episodes=3, seed=5)
    assert found.returns.shape == (3,) and found.mean == found.returns.mean()
    assert found.deviation == found.returns.std()
    later = rlfabric.evaluate(run.policy, episodes=8, seed=6).returns
    assert later[:2].tolist() == found.returns[1:].tolist() and len(set(later)) > 1
    with pytest.raises(ValueError, match="env must be one that the policy was trained for"):
        rlfabric.evaluate(run.policy, "Acrobot-v1")
    with pytest.raises(ValueError, match="episodes must be at least 1"):
        rlfabric.evaluate(run.policy, episodes=0)
    with pytest.raises(ValueError, match="^limit must be an integer in 1..*, not 0$"):
        rlfabric.evaluate(run.policy, limit=0)


def test_a_run_in_a_thread():
    """Python takes signals in the main thread only."""
    found = []

    def program():
        run = train(40, out="threaded", actors=2, inline=True)
        found.extend([run.steps, rlfabric.evaluate(run.policy, episodes=1).returns.shape])

    thread = threading.Thread(target=program)
    thread.start()
    thread.join()
    assert found[0] >= 40 and found[1] == (1,)


def test_runs_without_a_folder_get_one_each():
    one, two = train(40), train(40)
    assert two.folder.name == f"{one.folder.name}-2" and one.folder.parent.name == "runs"


def test_a_checkpoint_of_another_program_is_refused():
    training.save_checkpoint("own.npz", {"steps": 1}, {"x": np.arange(3)})
    assert training.load_checkpoint("own.npz", {"steps": 1})[1]["x"].tolist() == [0, 1, 2]
    with pytest.raises(rlfabric.CheckpointError, match="steps must be 1 as in the checkpoint"):
        training.load_checkpoint("own.npz", {"steps": 2})


# -- policies


class Acting:
    """Acts by what it was told, and keeps what it has seen."""

    def __init__(self, actions, **spec):
        self.spec = training.Spec(**spec)
        self.actions, self.seen = np.asarray(actions), []

    def act(self, obs, *, greedy=False, steps=0):
        self.seen.append((obs.shape, greedy))
        return np.repeat(self.actions[None], len(obs), axis=0)


def policy(acting):
    return rlfabric.Policy(acting, "dqn", "none", None)


def test_shapes_are_those_of_stable_baselines3():
    acting = Acting(1, shape=(4,), dtype="float32", discrete=True, action_count=2, start=5)
    one, state = policy(acting).predict(np.zeros(4))
    assert one.shape == () and one == 6 and state is None
    many, _ = policy(acting).predict([[0.0] * 4] * 3, deterministic=False)
    assert many.tolist() == [6, 6, 6]
    assert acting.seen == [((1, 4), True), ((3, 4), False)]
    none, _ = policy(acting).predict(np.zeros((0, 4)))
    assert none.shape == (0,)


def test_exploration_is_that_of_a_trained_policy():
    """As stable-baselines3's: the chance of a random action is the last one of the training."""
    config = DQNConfig(hidden=(4,), epsilon_start=1.0, epsilon_end=0.0, epsilon_steps=10)
    spec = Spec(shape=(4,), dtype="float32", discrete=True, action_count=3, start=0)
    acting = DQN.policy(config, spec, weights=1, exploration=2)
    seen = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    best, _ = policy(acting).predict(seen)
    assert (policy(acting).predict(seen, deterministic=False)[0] == best).all()
    assert (acting.act(seen, steps=0) != best).any()


def test_actions_reach_from_low_to_high():
    box = dict(shape=(2, 3), dtype="float32", discrete=False, action_count=2)
    bounds = dict(low=(-2.0, 0.0), high=(2.0, 10.0))
    acting = Acting(np.float32([-1, 0.5]), **box, **bounds)
    one, _ = policy(acting).predict(np.zeros((2, 3)), None, None, True)
    assert one.tolist() == [-2, 7.5]
    assert policy(acting).predict(np.zeros((5, 2, 3)))[0].shape == (5, 2)
    with pytest.raises(ValueError, match="policy must be of this release"):
        policy(Acting(np.float32([-1, 0.5]), **box)).predict(np.zeros((2, 3)))


@pytest.mark.parametrize("wrong", [0.0, np.zeros(3), np.zeros((2, 2, 4)), np.full(4, np.nan)])
def test_other_observations_are_refused(wrong):
    acting = Acting(1, shape=(4,), dtype="float32", discrete=True, action_count=2)
    with pytest.raises(ValueError, match="observation must"):
        policy(acting).predict(wrong)


def test_an_environment_takes_what_is_predicted():
    """As the environments of a run get them."""
    config = {"evaluation_episodes": 1, "hidden": (16,), "learning_starts": 256}
    run = rlfabric.train("ddpg", steps=260, progress=False, out="box", config=config)
    envs = training.make_envs("Pendulum-v1", 1, algorithm="ddpg")
    obs, _ = envs.reset(seed=0)
    action, _ = run.policy.predict(obs[0])
    assert envs.single_action_space.contains(action)
    assert training.Spec.of(envs).high == (2.0,)
    envs.close()
