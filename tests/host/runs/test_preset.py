"""host.runs.preset: default runs of algorithms, learners, environments, and experiments."""

import re
from dataclasses import replace

import pytest

from host.advantages.ppo import PPOConfig
from host.agents.registry import ALGORITHMS, find
from host.environments.task_ids import counterpart
from host.runs.preset import default_learner, preset
from host.runs.replay_runs import OffPolicyConfig
from host.runs.rollout_runs import OnPolicyConfig
from host.summaries import NAMESPACE, TASKS


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_presets(algo):
    """Of each learner that the algorithm has; td3 can learn on the card, by default it does not."""
    assert default_learner(algo) == ("card" if algo in ("dqn", "ddpg", "a3c") else "cpu")
    for learner in find(algo).learners:
        config = preset(algo, learner)
        assert type(config).from_json(config.to_json()) == config
        assert (config.algo, config.learner) == (algo, learner)
        assert type(config.agent) is find(algo).config
    assert find(algo).learners[-1] == "cpu"


def test_layers():
    """The algorithm's run, what differs on the card, in an environment; the later ones win."""
    assert preset("dqn", "cpu") == OffPolicyConfig()
    card = preset("dqn", "card")
    assert (card.steps, card.steps_per_launch, card.agent.hidden) == (100_000, 4, (64, 64))
    assert (card.agent.gamma, card.capacity) == (0.99, 1 << 15), "the fields' own"
    assert preset("ddpg", "cpu").agent == find("ddpg").config()
    for algo in ("ddpg", "td3", "sac"):
        config = preset(algo, "cpu")
        assert (config.env, config.env_count, config.steps) == ("Pendulum-v1", 4, 40_000)
        assert config == preset(algo, "cpu", None, "Pendulum-v1"), "an entry like others"
    pendulum = preset("ppo", "cpu", "heppo5", "Pendulum-v1")
    assert (pendulum.env_count, pendulum.agent.rewards, pendulum.agent.gamma) == (4, "dynamic", 0.9)
    assert pendulum.agent.learning_rate == 1e-3, "of neither layer"
    assert preset("td3", "card").agent == preset("td3", "cpu").agent
    with pytest.raises(ValueError, match="^learner must be cpu for sac, not 'card'$"):
        preset("sac", "card")


@pytest.mark.parametrize("algo", ["td3", "sac"])
def test_td3_and_sac_are_their_papers(algo):
    """Wherever they have no own: they had Pendulum's networks and step sizes in every task, a
    gradient step for four steps, and 50 episodes of evaluation after every 1000 (host 8)."""
    config = preset(algo, "cpu", None, "nothing-v0")
    agent = config.agent
    assert agent == find(algo).config()
    assert (agent.hidden, agent.gamma, agent.reward_scale) == ((256, 256), 0.99, 1.0)
    assert (agent.learning_rate, agent.batch_size, agent.target_tau) == (3e-4, 256, 0.005)
    assert (agent.n_step, agent.loss) == (1, "squared")
    assert config.env_count * config.steps_per_launch == config.updates_per_launch == 1
    assert (config.evaluation_episodes, config.evaluation_interval_steps) == (5, 5000)
    assert config.steps == 1_000_000 and config.capacity >= 1_000_000
    pendulum = preset(algo, "cpu")
    assert (pendulum.agent.hidden, pendulum.agent.gamma) == ((64, 64), 0.98)
    assert (pendulum.env_count, pendulum.capacity, pendulum.evaluation_episodes) == (4, 1 << 15, 50)


def test_rewards_are_clipped_in_games_alone():
    """A crash in LunarLander was worth -1 to a3c, and so was any reward of one's own (host 7)."""
    for env in (None, "LunarLander-v3", "nothing-v0"):
        for algo in ("a3c", "dqn"):
            assert preset(algo, "cpu", None, env).agent.reward_clip is None
    for env in ("ALE/Pong-v5", "MinAtar/Breakout-v1", "MinAtar/Asterix-v1"):
        assert preset("a3c", "cpu", None, env).agent.reward_clip == 1


HEPPO = {  # HEPPO V-C, Table III
    "heppo1": ("raw", "raw", 32),
    "heppo2": ("dynamic", "raw", 32),
    "heppo3": ("restored", "restored", 8),
    "heppo4": ("block", "restored", 8),
    "heppo5": ("dynamic", "restored", 8),
}


def test_presets_of_ppo():
    assert tuple(find("ppo").presets) == tuple(HEPPO)
    for name, expected in HEPPO.items():
        config = preset("ppo", "cpu", name, "Pendulum-v1")
        assert OnPolicyConfig.from_json(config.to_json()) == config
        agent = config.agent
        assert (agent.rewards, agent.values, agent.code_width) == expected
        assert agent.result_width == 32 and config.env == "Pendulum-v1"
        assert agent.gamma == 0.9, "tuned for its environment whatever the preset"
    assert preset("ppo", "cpu") == preset("ppo", "cpu", "heppo1") == OnPolicyConfig()
    other = preset("ppo", "cpu", env="Acrobot-v1")
    assert other.env == "Acrobot-v1" and other.agent == PPOConfig()


@pytest.mark.parametrize(
    "name", ["float32", "fixed32", "qat", "qat_errors_full", "fixed16_all", "fixed16_static"]
)
def test_presets_of_ddpg(name):
    """FIXAR's comparison: an agent of each arithmetic, in one order of updates; what else is the
    environment's stays."""
    config = preset("ddpg", "cpu", name, "HalfCheetah-v5")
    usual = preset("ddpg", "cpu", None, "HalfCheetah-v5")
    assert config == replace(usual, agent=replace(usual.agent, precision=name, lagged_critic=False))
    assert usual.agent.precision == "float32" and usual.agent.lagged_critic


@pytest.mark.parametrize("name", find("ddpg").presets)
def test_presets_of_ddpg_on_the_card(name):
    """Kernel ``fixar`` has those whose formats are its own; ``ddpg`` has none, for their order."""
    usual = preset("ddpg", "card", None, "Hopper-v5", "fixar")
    if name in ("fixed32", "qat", "qat_errors_full", "fixed16_captured"):
        config = preset("ddpg", "card", name, "Hopper-v5", "fixar")
        assert config == replace(usual, agent=replace(usual.agent, precision=name))
    else:
        with pytest.raises(ValueError, match="^precision must be .* and kernel fixar, not"):
            preset("ddpg", "card", name, "Hopper-v5", "fixar")
    with pytest.raises(ValueError, match="^(precision|lagged_critic) must be .* and kernel ddpg,"):
        preset("ddpg", "card", name, "Hopper-v5")


def test_preset_of_continuous_actions():
    """Whatever the environment is called, and whatever HEPPO does with rewards; but for those that
    have their own."""
    for env in ("MountainCarContinuous-v0", "gymnasium.envs:MountainCarContinuous-v0"):
        for name in HEPPO:
            config = preset("ppo", "cpu", name, env)
            agent = config.agent
            assert OnPolicyConfig.from_json(config.to_json()) == config
            assert (agent.rewards, agent.values, agent.code_width) == HEPPO[name]
            assert agent.normalize_observations and agent.gamma == 0.99 and config.env == env
            assert (config.env_count, config.steps_per_launch) == (1, 2048)
    pendulum = preset("ppo", "cpu", None, "Pendulum-v1").agent
    assert not pendulum.normalize_observations and pendulum.log_deviation == 0
    assert not PPOConfig().normalize_observations, "of a policy's file from before"
    assert preset("ddpg", "card", None, "nothing-v0").agent == preset("ddpg", "card").agent


@pytest.mark.parametrize("algo, name", [(n, e) for n in ALGORITHMS for e in find(n).environments])
def test_environments_that_are_an_algorithms_own(algo, name):
    """In the place of what differs on the card; and then what differs on the card there."""
    algorithm = find(algo)
    own = algorithm.environments[name]
    for learner in algorithm.learners:
        envs = [name, f"gymnasium.envs:{name}"]
        for env in envs + [f"{NAMESPACE}/{name}"] * (name in TASKS):
            config = preset(algo, learner, None, env)
            assert (config.env, config.learner) == (env, learner)
            assert all(getattr(config.agent, field) == x for field, x in own["agent"].items())
            there = algorithm.card_environments.get(name, {}) if learner == "card" else {}
            run = {k: v for k, v in (own | there).items() if k not in ("agent", "env")}
            assert run and all(getattr(config, field) == x for field, x in run.items())


def test_environments_of_a_namespace(monkeypatch):
    """Unless one has its own."""
    environments = {"a/": dict(steps=11), "a/X-v1": dict(steps=22), "X-v1": dict(steps=33)}
    monkeypatch.setitem(ALGORITHMS, "dqn", replace(find("dqn"), environments=environments))
    cases = {"a/Y-v1": 11, "a/X-v1": 22, "X-v1": 33, "module:a/Z-v0": 11, "b/X-v1": None, "a": None}
    usual = preset("dqn", "cpu").steps
    for env, steps in cases.items():
        config = preset("dqn", "cpu", env=env)
        assert (config.env, config.steps) == (env, steps or usual)


@pytest.mark.parametrize(
    "env",
    ["MinAtar/Breakout-v1", "MinAtar/Seaquest-v0", "ALE/Pong-v5", "ale_py:PongNoFrameskip-v4"],
)
def test_environments_of_pixels(env):
    """What they have is refused by the card for its images alone: of a size that its kernel has."""
    own, on_card = (preset("dqn", learner, env=env) for learner in ("cpu", "card"))
    assert own.agent == on_card.agent and own.capacity == on_card.capacity
    assert own.agent.convolutions is None and len(own.agent.hidden) == 1
    assert own.agent.reward_clip == (1.0 if "Pong" in env else None)


def test_environments_that_are_not_made():
    """ppo looks at their actions; the others' presets do not need them."""
    for env in ("nothing", "no_module:X-v0"):
        with pytest.raises(ValueError, match="^env must .*, not '.*'"):
            preset("ppo", "cpu", None, env)
        assert preset("dqn", "cpu", None, env).env == env


def test_preset_of_an_environment():
    assert preset("dqn", "cpu", env="Acrobot-v1").env == "Acrobot-v1"
    assert preset("ddpg", "card").env == "Pendulum-v1"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("ppo", "cpu", "heppo6"), "^preset must be one of heppo1, .*, heppo5, not 'heppo6'$"),
        (
            ("dqn", "cpu", "heppo1"),
            "^preset must be none for dqn, .*not 'heppo1' .ddpg has float32, .*; ppo has heppo1, ",
        ),
        (("ppo", "card"), "^learner must be cpu for ppo, not 'card'$"),
    ],
)
def test_preset_must_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        preset(*arguments)


@pytest.mark.parametrize("kind, name", [("algo", "a2c"), ("learner", "gpu")])
def test_preset_rejects(kind, name):
    with pytest.raises(ValueError, match=f"^{kind} must be one of .*, not '{name}'$"):
        preset(**{"algo": "dqn", "learner": "cpu", kind: name})


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_the_defaults_of_the_environment_with_its_physics(algo, name):
    """td3 had its papers' run on rlfabric/Pendulum-v1: 5 episodes of evaluation, of which a seed's
    worst starts kept a policy below -200 that had -143 over 50 others."""
    for learner in find(algo).learners:
        for module in ("", "host.environments.task_ids:"):
            env = f"{module}{NAMESPACE}/{name}"
            try:
                there = preset(algo, learner, None, name)
            except ValueError as error:  # of actions that the algorithm does not take
                with pytest.raises(ValueError, match=f"^{re.escape(str(error))}$"):
                    preset(algo, learner, None, env)
            else:
                assert preset(algo, learner, None, env) == replace(there, env=env)


def test_counterparts_are_of_shipped_tasks_alone():
    for name in ("CartPole-v1", "mine/CartPole-v1", "rlfabric/Lander-v0", "rlfabric/", ""):
        assert counterpart(name) == name
    assert counterpart("rlfabric/CartPole-v1") == "CartPole-v1"
