"""Models of rlfabric.sb3 with their buffers: options, files, what is refused."""

import copy
import doctest
import io
import subprocess
import sys
from inspect import signature

import gymnasium
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import DQN, HerReplayBuffer
from stable_baselines3.common.callbacks import EvalCallback, StopTrainingOnRewardThreshold
from stable_baselines3.common.env_util import make_vec_env

from hw.errors import UsageError
from rlfabric import sb3
from rlfabric.sb3 import PrioritizedDQN, PrioritizedSAC
from tests.host.sb3.test_card_buffer import BOX, released, rising

MODEL = dict(
    policy="MlpPolicy",
    env="CartPole-v1",
    buffer_size=100,
    learning_starts=8,
    policy_kwargs=dict(net_arch=[8]),
    device="cpu",
)


def test_her_is_refused():
    class Goals(gymnasium.Env):
        observation_space = spaces.Dict(
            {key: BOX for key in ("observation", "achieved_goal", "desired_goal")}
        )
        action_space = spaces.Discrete(2)

    options = copy.deepcopy(MODEL) | dict(policy="MultiInputPolicy", env=Goals())
    with pytest.raises(UsageError, match="PrioritizedReplayBuffer, not HerReplayBuffer: Prior"):
        PrioritizedDQN(**options, replay_buffer_class=HerReplayBuffer)


def test_options_of_the_model():
    options = copy.deepcopy(MODEL)
    with pytest.raises(UsageError, match="gamma in replay_buffer_kwargs must be the model's"):
        PrioritizedDQN(**options, replay_buffer_kwargs=dict(gamma=0.5))
    model = PrioritizedDQN(**options, gamma=0.9, replay_buffer_kwargs=dict(n_steps=3))
    assert (model.replay_buffer.gamma, model.replay_buffer.n_steps) == (0.9, 3)


@pytest.mark.skipif("n_steps" not in signature(DQN).parameters, reason="stable-baselines3 2.6")
def test_steps_of_a_return_are_the_model_s(recwarn):
    options = copy.deepcopy(MODEL) | dict(n_steps=3)
    model = PrioritizedDQN(**options)
    assert not recwarn.list and (model.n_steps, model.replay_buffer.n_steps) == (3, 3)
    with pytest.raises(
        UsageError, match=r"n_steps in replay_buffer_kwargs must be the model's \(3"
    ):
        PrioritizedDQN(**options, replay_buffer_kwargs=dict(n_steps=2))


def test_a_model_is_loaded_with_another_gamma():
    """``replay_buffer_kwargs`` stay the user's."""
    file, given = io.BytesIO(), dict(n_steps=2)
    model = PrioritizedDQN(**copy.deepcopy(MODEL), gamma=0.9, replay_buffer_kwargs=given)
    assert model.replay_buffer_kwargs == given == dict(n_steps=2)
    model.save(file)
    buffer = PrioritizedDQN.load(file, env=model.env, gamma=0.5).replay_buffer
    assert (buffer.gamma, buffer.n_steps) == (0.5, 2)


def test_beta_follows_the_training():
    """Each gradient step has the share of the training that is left."""
    left = []
    beta = dict(beta=lambda share: left.append(share) or share)
    model = PrioritizedDQN(**copy.deepcopy(MODEL), replay_buffer_kwargs=beta, train_freq=2)
    left.clear()
    model.learn(20)
    assert left == pytest.approx([1 - step / 20 for step in range(10, 21, 2)])


def test_saved_and_loaded(tmp_path):
    options = dict(seed=1, replay_buffer_kwargs=dict(beta=rising))
    model = PrioritizedDQN(**copy.deepcopy(MODEL), **options)
    model.learn(40)
    model.save(tmp_path / "model")
    file = io.BytesIO()
    model.save_replay_buffer(file)
    again = PrioritizedDQN.load(tmp_path / "model", env=model.env)
    before = again.replay_buffer
    again.load_replay_buffer(io.BytesIO(file.getvalue()))
    assert released(before._memory)
    one, other = (m.replay_buffer.sample_prioritized(7) for m in (model, again))
    assert (one.indexes == other.indexes).all()
    again.learn(20, reset_num_timesteps=False)
    assert again.replay_buffer.size() == 60
    plain = DQN(**copy.deepcopy(MODEL))
    other = io.BytesIO()
    plain.save_replay_buffer(other)
    with pytest.raises(UsageError, match="path must have a PrioritizedReplayBuffer, not a Repl"):
        again.load_replay_buffer(io.BytesIO(other.getvalue()))
    assert again.replay_buffer.size() == 60


def test_the_example():
    """It is shown by ``help``."""
    assert doctest.testmod(sb3) == (0, 4)


def test_importing_rlfabric_imports_neither_library():
    """Only ``rlfabric.sb3`` does."""
    program = "import rlfabric, sys; rlfabric.PrioritizedReplayBuffer, rlfabric.load_policy; "
    program += "print({'torch', 'stable_baselines3', 'onnx'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stdout == "set()\n", said.stderr


#: class, environment, the mean return of 20 episodes that it must reach, steps, arguments
LEARNED = {
    "dqn": (
        PrioritizedDQN,
        "CartPole-v1",
        475,
        50_000,
        dict(
            learning_rate=2.3e-3,
            batch_size=64,
            buffer_size=50_000,
            learning_starts=1000,
            train_freq=256,
            gradient_steps=128,
            target_update_interval=10,
            exploration_fraction=0.16,
            exploration_final_eps=0.04,
        ),
    ),
    "sac": (
        PrioritizedSAC,
        "Pendulum-v1",
        -200,
        15_000,
        dict(learning_rate=2e-3, batch_size=128, buffer_size=15_000, learning_starts=500),
    ),
}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "name, seed", [*(("dqn", seed) for seed in range(5)), *(("sac", seed) for seed in range(3))]
)
def test_it_learns(name, seed):
    """With priorities, and a beta that rises to 1."""
    cls, env, wanted, steps, options = LEARNED[name]
    torch.set_num_threads(1)
    model = cls(
        "MlpPolicy",
        env,
        seed=seed,
        device="cpu",
        policy_kwargs=dict(net_arch=[64, 64]),
        replay_buffer_kwargs=dict(beta=rising),
        **copy.deepcopy(options),
    )
    solved = StopTrainingOnRewardThreshold(wanted)
    check = EvalCallback(
        make_vec_env(env, seed=100 + seed),
        callback_on_new_best=solved,
        n_eval_episodes=20,
        eval_freq=2048,
        verbose=0,
    )
    model.learn(steps, callback=check)
    print(f"{name} {seed}: {check.best_mean_reward:.1f} after {model.num_timesteps} steps")
    assert check.best_mean_reward >= wanted
