"""bench.compose.libraries with stand-ins for both: what they are told, and how they are counted."""

import sys
from types import SimpleNamespace

import pytest

from bench.compose import eps
from bench.compose.libraries import _PATIENCE, _REPORT, Rllib, Sb3
from hw.errors import Failure

CONFIG = eps.task_of(eps.DQN, 512).config
DDPG = eps.task_of(eps.DDPG, 512).config
STEPS = CONFIG.env_count * CONFIG.steps_per_launch


class Model:
    """stable-baselines3's agent: a gradient step for each launch, once learning has started."""

    def __init__(self, policy, envs, **options):
        self.policy, self.options, self._n_updates, self.steps = policy, options, 0, 0
        Model.made = self

    def learn(self, steps, reset_num_timesteps, log_interval):
        assert not reset_num_timesteps and log_interval is None and steps % STEPS == 0
        for _ in range(steps // STEPS):
            self.steps += STEPS
            self._n_updates += self.steps > self.options["learning_starts"]


@pytest.fixture
def sb3(monkeypatch):
    closed = []

    def make_vec_env(env, count, seed):
        assert env in (CONFIG.env, DDPG.env)
        assert (count, seed) == (CONFIG.env_count, CONFIG.seed)
        space = SimpleNamespace(shape=(1,))
        return SimpleNamespace(close=lambda: closed.append(True), action_space=space)

    common = SimpleNamespace(
        env_util=SimpleNamespace(make_vec_env=make_vec_env),
        noise=SimpleNamespace(NormalActionNoise=lambda *arguments: ("normal", *arguments)),
    )
    kinds = {name: type(name, (Model,), {}) for name in ("DQN", "DDPG")}
    monkeypatch.setitem(sys.modules, "stable_baselines3", SimpleNamespace(**kinds))
    monkeypatch.setitem(sys.modules, "stable_baselines3.common", common)
    for name, module in vars(common).items():
        monkeypatch.setitem(sys.modules, f"stable_baselines3.common.{name}", module)
    return closed


class Algorithm:
    """RLlib's algorithm: a training of ``_REPORT`` launches, of which the first do not learn."""

    def __init__(self, learns=True):
        self.trained, self.calls, self.learns = 0, 0, learns

    def train(self):
        self.calls += 1
        if self.calls == 1 or not self.learns:
            return {"learners": {}}
        self.trained += _REPORT * 512
        return {"learners": {"default_policy": {"num_module_steps_trained_lifetime": self.trained}}}

    def stop(self):
        self.stopped = True


class Fluent:
    """RLlib's DQNConfig: keeps what its methods are told."""

    def __init__(self):
        self.told = {}
        Fluent.made = self

    def __getattr__(self, name):
        def method(*arguments, **options):
            self.told[name] = arguments or options
            return self

        return method

    def build_algo(self):
        self.algorithm = Algorithm()
        return self.algorithm


@pytest.fixture
def ray(monkeypatch):
    state = SimpleNamespace(init=lambda **options: None)
    state.shutdown = lambda: setattr(state, "shut", True)
    modules = {
        "ray": state,
        "ray.rllib": SimpleNamespace(),
        "ray.rllib.algorithms": SimpleNamespace(),
        "ray.rllib.algorithms.dqn": SimpleNamespace(DQNConfig=Fluent),
        "ray.rllib.core": SimpleNamespace(),
        "ray.rllib.core.rl_module": SimpleNamespace(),
        "ray.rllib.core.rl_module.default_model_config": SimpleNamespace(DefaultModelConfig=dict),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return state


def test_stable_baselines3_has_the_hyperparameters_of_the_run(sb3):
    library = Sb3(CONFIG)
    options = Model.made.options
    assert options["policy_kwargs"] == {"net_arch": [64, 64]} and options["device"] == "cpu"
    assert (options["batch_size"], options["n_steps"]) == (512, 1)
    assert (options["train_freq"], options["gradient_steps"]) == (CONFIG.steps_per_launch, 1)
    assert options["exploration_initial_eps"] == options["exploration_final_eps"] == 0.05
    assert type(Model.made).__name__ == "DQN" and "action_noise" not in options
    library.close()
    assert sb3 == [True]


def test_stable_baselines3_has_a_ddpg_too(sb3):
    library = Sb3(DDPG)
    options = Model.made.options
    assert type(Model.made).__name__ == "DDPG"
    assert options["policy_kwargs"] == {"net_arch": [256, 128]} and options["device"] == "cpu"
    assert (options["batch_size"], options["n_steps"]) == (512, 1)
    assert (options["train_freq"], options["gradient_steps"]) == (DDPG.steps_per_launch, 1)
    assert options["action_noise"] == ("normal", [0.0], [0.5])
    library.warm(3)
    assert library.elapsed(25)[1] == 25


def test_gradient_steps_of_stable_baselines3(sb3):
    library = Sb3(CONFIG)
    library.warm(3)
    assert library._updates() == 4  # one of the last launch before, and three
    us, updates = library.elapsed(25)
    assert us >= 0 and updates == 25
    assert library.elapsed(1)[1] == 1


def test_rllib_has_the_hyperparameters_of_the_run(ray):
    library = Rllib(CONFIG)
    told = Fluent.made.told
    assert told["environment"] == ("CartPole-v1",)
    assert told["env_runners"] == {
        "num_env_runners": 0, "num_envs_per_env_runner": 8, "rollout_fragment_length": 4
    }  # fmt: skip
    network = told["rl_module"]["model_config"]
    assert network["fcnet_hiddens"] == [64, 64] and network["fcnet_activation"] == "relu"
    trained = told["training"]
    assert trained["train_batch_size_per_learner"] == 512 and trained["n_step"] == 1
    assert trained["target_network_update_freq"] == 20 * STEPS and trained["epsilon"] == 0.05
    assert not trained["double_q"] and not trained["dueling"]
    assert trained["replay_buffer_config"]["capacity"] == CONFIG.capacity
    assert told["reporting"]["min_sample_timesteps_per_iteration"] == _REPORT * STEPS
    library.close()
    assert Fluent.made.algorithm.stopped and ray.shut


def test_gradient_steps_of_rllib(ray):
    """A training has ten; a part of ten is another training."""
    library = Rllib(CONFIG)
    library.warm(1)
    assert library._updates() == 2 * _REPORT and library._algorithm.calls == 3
    assert library.elapsed(2 * _REPORT)[1] == 2 * _REPORT
    assert library.elapsed(_REPORT + 1)[1] == 2 * _REPORT


def test_time_is_that_of_the_processor(ray, monkeypatch):
    library, now = Rllib(CONFIG), iter((3.0, 3.5))
    monkeypatch.setattr("time.process_time", lambda: next(now))
    assert library.elapsed(_REPORT)[0] == 5e5


def test_a_library_that_never_learns(ray, monkeypatch):
    library = Rllib(CONFIG)
    library._algorithm = Algorithm(learns=False)
    with pytest.raises(Failure, match="^RLlib must learn within 1000 launches, not without end$"):
        library.warm(1)
    assert library._algorithm.calls == _PATIENCE


@pytest.mark.parametrize("kind, module", [(Sb3, "stable_baselines3"), (Rllib, "ray")])
def test_a_library_that_is_not_installed(kind, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError):
        kind(CONFIG)
