"""host.train.train_config: presets, JSON, and the rules of a field and across fields."""

import pytest
from host.algorithms.ppo_config import PPOConfig
from host.train.train_config import PRESETS, OnPolicyConfig, TrainConfig, preset

from host.learners.card import kernel_settings
from hw.learner.config import LearnerConfig

BAD = [
    ("algo", "ppo"), ("env", ""), ("steps", 0), ("seed", -1), ("env_count", 0), ("capacity", 1),
    ("alpha", 1.1), ("alpha", "x"), ("priority_epsilon", 0), ("learning_starts", 1 << 16),
    ("evaluation_interval_steps", 0), ("evaluation_episodes", 0), ("log_interval_steps", 0),
    ("checkpoint_interval_steps", 0), ("until_solved", 1), ("steps_per_launch", 0),
    ("learner", "gpu"), ("threshold", float("nan")), ("threshold", "475"),
    ("updates_per_launch", 0), ("updates_per_launch", 2), ("weights_interval", 2),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        TrainConfig(**{name: value})


BAD_ON_POLICY = [
    ("algo", "dqn"), ("learner", "card"), ("steps_per_launch", 1), ("steps_per_launch", 1 << 13),
    ("env_count", 0), ("ppo", 5), ("evaluation_interval_steps", 0),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD_ON_POLICY)
def test_on_policy_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        OnPolicyConfig(**{name: value})


def test_a_minibatch_is_of_a_rollout():
    ppo = PPOConfig(batch_size=1024)
    assert OnPolicyConfig(env_count=4, steps_per_launch=256, ppo=ppo).agent is ppo
    with pytest.raises(ValueError, match=r"^batch_size must be an integer in 1\.\.1020 \(steps of"):
        OnPolicyConfig(env_count=4, steps_per_launch=255, ppo=ppo)
    with pytest.raises(ValueError, match="^capacity must be a field of OnPolicyConfig"):
        OnPolicyConfig.from_dict({"capacity": 100})


BAD_PPO = [
    ("epochs", 0), ("clip", 0), ("clip", "x"), ("value_clip", 0), ("target_kl", -1),
    ("gae_lambda", 1.1), ("gamma", -0.1), ("value_coefficient", -1),
    ("entropy_coefficient", float("inf")), ("log_deviation", 3), ("normalize_advantages", 1),
    ("normalize_observations", None),
    ("rewards", "standard"), ("values", "dynamic"), ("code_width", 7), ("result_width", 64),
    ("batch_size", 0), ("learning_rate", 0), ("activation", "gelu"), ("hidden", (0,)),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD_PPO)
def test_ppo_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        PPOConfig(**{name: value})


def test_config_round_trip():
    config = TrainConfig.from_dict(dict(dqn=dict(hidden=[8, 9])))
    assert TrainConfig.from_json(config.to_json()) == config
    config = OnPolicyConfig.from_dict(dict(ppo=dict(hidden=[8, 9], target_kl=0.1)))
    assert OnPolicyConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("learner", ["cpu", "card"])
@pytest.mark.parametrize("algo", ["dqn", "ddpg"])
def test_presets(algo, learner):
    config = preset(algo, learner)
    assert TrainConfig.from_json(config.to_json()) == config
    assert (config.algo, config.learner) == (algo, learner)
    assert config.agent is getattr(config, algo) and (config.dqn is None) == (algo == "ddpg")
    if (algo, learner) == ("dqn", "cpu"):
        assert config == TrainConfig()


HEPPO = {  # HEPPO V-C, Table III
    "heppo1": ("raw", "raw", 32),
    "heppo2": ("dynamic", "raw", 32),
    "heppo3": ("restored", "restored", 8),
    "heppo4": ("block", "restored", 8),
    "heppo5": ("dynamic", "restored", 8),
}


CARD = dict(learner="card")
LIMITS = [
    (
        dict(dqn=dict(batch_size=60_000)),
        r"^batch_size must be .* 1..32768 \(capacity\), not 60",
    ),
    (dict(dqn=dict(batch_size=2000)), r"^learning_starts must .* 2000..32768 \(batch_size"),
    (CARD | dict(dqn=dict(hidden=(64, 1024))), "^hidden must be .* 1..512 on the card, not 1024$"),
    (CARD | dict(dqn=dict(hidden=())), r"^hidden must be 1 to 4 widths on the card, not \(\)$"),
    (CARD | dict(dqn=dict(hidden=[8] * 5)), "^hidden must be 1 to 4 widths on the card, not "),
]


@pytest.mark.parametrize("values, message", LIMITS)
def test_what_is_refused_names_what_was_set(values, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.from_dict(values)


@pytest.mark.parametrize("algo, action", [("dqn", 2), ("ddpg", 3)])
def test_limits_of_the_card_are_the_kernels(algo, action):
    config = preset(algo, "card")
    most = 512 if algo == "dqn" else 509
    settings = kernel_settings(config, most, action)
    assert LearnerConfig(**settings | {"hidden": (512,) * 4}).observation == most
    for change in (dict(observation=most + 1), dict(hidden=(513,)), dict(hidden=(1,) * 5)):
        with pytest.raises(ValueError):
            LearnerConfig(**settings | change)
    message = rf"^env must have observations of at most {most} numbers on the card, not {most + 1} "
    with pytest.raises(ValueError, match=message):
        kernel_settings(config, most + 1, action)


def test_presets_of_ppo():
    assert PRESETS["ppo"] == tuple(HEPPO)
    for name, expected in HEPPO.items():
        config = preset("ppo", "cpu", name, "Pendulum-v1")
        assert OnPolicyConfig.from_json(config.to_json()) == config
        agent = config.ppo
        assert (agent.rewards, agent.values, agent.code_width) == expected
        assert agent.result_width == 32 and config.env == "Pendulum-v1"
        assert agent.gamma == 0.9, "tuned for its environment whatever the preset"
    assert preset("ppo", "cpu") == preset("ppo", "cpu", "heppo1") == OnPolicyConfig()
    other = preset("ppo", "cpu", env="Acrobot-v1")
    assert other.env == "Acrobot-v1" and other.ppo == PPOConfig()


def test_preset_of_continuous_actions():
    """Whatever the environment is called, and whatever HEPPO does with rewards; but for those that
    have their own."""
    for env in ("MountainCarContinuous-v0", "gymnasium.envs:MountainCarContinuous-v0"):
        for name in HEPPO:
            config = preset("ppo", "cpu", name, env)
            agent = config.ppo
            assert OnPolicyConfig.from_json(config.to_json()) == config
            assert (agent.rewards, agent.values, agent.code_width) == HEPPO[name]
            assert agent.normalize_observations and agent.gamma == 0.99 and config.env == env
            assert (config.env_count, config.steps_per_launch) == (1, 2048)
    pendulum = preset("ppo", "cpu", None, "Pendulum-v1").ppo
    assert not pendulum.normalize_observations and pendulum.log_deviation == 0
    assert not PPOConfig().normalize_observations, "of a policy's file from before"
    others = preset("ddpg", "card", None, "MountainCarContinuous-v0"), preset("ddpg", "card")
    assert others[0].ddpg == others[1].ddpg


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
            "^preset must be none for dqn, .*not 'heppo1' .ppo has heppo1, ",
        ),
        (("ppo", "card"), r"^learner must be cpu for ppo \(the card estimates .*, not 'card'$"),
    ],
)
def test_preset_must_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        preset(*arguments)


@pytest.mark.parametrize("kind, name", [("algo", "sac"), ("learner", "gpu")])
def test_preset_rejects(kind, name):
    with pytest.raises(ValueError, match=f"^{kind} must be one of .*, not '{name}'$"):
        preset(**{"algo": "dqn", "learner": "cpu", kind: name})


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(algo="ddpg", dqn={}), "^dqn must be NoneType for ddpg, not DQNConfig"),
        (dict(ddpg={}), "^ddpg must be NoneType for dqn, not DDPGConfig"),
        (dict(learner="card"), "^max_gradient_norm must be None with learner card, not 10.0$"),
        (
            dict(learner="card", dqn=dict(max_gradient_norm=None, dueling=True)),
            "^dueling must be False with learner card, not True$",
        ),
    ],
)
def test_rules_across_fields(values, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.from_dict(values)
    with pytest.raises(ValueError, match="^dqn must be a DQNConfig for dqn, not 5$"):
        TrainConfig(dqn=5)
