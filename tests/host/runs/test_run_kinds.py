"""host.runs.run_kinds: JSON, and the rules of a field and across fields."""

import json
from dataclasses import fields, replace

import pytest
from learner.modelled import learner_values

from host.advantages.ppo import PPOConfig
from host.agents.registry import ALGORITHMS, find
from host.algorithms.ddpg import DDPGConfig
from host.algorithms.dqn import DQNConfig
from host.environments.spec import Spec
from host.runs.preset import preset
from host.runs.replay_runs import OffPolicyConfig
from host.runs.rollout_runs import OnPolicyConfig
from host.runs.run_kinds import CONFIGS
from hw.learner.config import LearnerConfig

BAD = [
    ("algo", "ppo"), ("env", ""), ("steps", 0), ("seed", -1), ("env_count", 0), ("capacity", 1),
    ("alpha", 1.1), ("alpha", "x"), ("priority_epsilon", 0), ("learning_starts", 1 << 16),
    ("evaluation_interval_steps", 0), ("evaluation_episodes", -1), ("log_interval_steps", 0),
    ("checkpoint_interval_steps", 0), ("until_solved", 1), ("steps_per_launch", 0),
    ("learner", "gpu"), ("threshold", float("nan")), ("threshold", "475"),
    ("updates_per_launch", 0), ("updates_per_launch", 65), ("weights_interval", 2),
    ("launches_in_flight", 0), ("launches_in_flight", 65), ("launches_in_flight", 1.0),
    ("memory", "cpu"), ("memory", None),
    ("agent", DDPGConfig()), ("agent", PPOConfig()), ("agent", {}), ("algo", None),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        OffPolicyConfig(**{name: value})


@pytest.mark.parametrize(
    "name, values",
    {
        "updates_per_launch": (1, 64), "launches_in_flight": (1, 64), "capacity": (1000, 1 << 30),
        "learning_starts": (64, 1 << 15), "steps_per_launch": (1, 4096), "alpha": (0, 1),
        "env_count": (1, 4096), "priority_epsilon": (1e-9, 1), "seed": (0, (1 << 63) - 1),
    }.items(),
)  # fmt: skip
def test_config_takes_its_limits(name, values):
    for value in values:
        assert getattr(OffPolicyConfig(**{name: value}), name) == value


BAD_ON_POLICY = [
    ("algo", "dqn"), ("learner", "card"), ("steps_per_launch", 1), ("steps_per_launch", 1 << 13),
    ("env_count", 0), ("agent", 5), ("agent", DQNConfig()), ("evaluation_interval_steps", 0),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD_ON_POLICY)
def test_on_policy_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        OnPolicyConfig(**{name: value})


def test_a_minibatch_is_of_a_rollout():
    ppo = PPOConfig(batch_size=1024)
    assert OnPolicyConfig(env_count=4, steps_per_launch=256, agent=ppo).agent is ppo
    with pytest.raises(ValueError, match=r"^batch_size must be an integer in 1\.\.1020 \(steps of"):
        OnPolicyConfig(env_count=4, steps_per_launch=255, agent=ppo)
    with pytest.raises(ValueError, match="^capacity must be a field of OnPolicyConfig"):
        OnPolicyConfig.from_dict({"capacity": 100})


BAD_PPO = [
    ("epochs", 0), ("clip", 0), ("clip", "x"), ("value_clip", 0), ("target_kl", -1),
    ("gae_lambda", 1.1), ("gamma", -0.1), ("value_coefficient", -1),
    ("entropy_coefficient", float("inf")), ("log_deviation", 3), ("normalize_advantages", 1),
    ("normalize_observations", None),
    ("rewards", "standard"), ("values", "dynamic"), ("code_width", 7), ("result_width", 64),
    ("code_bits", 2), ("code_bits", 17), ("code_bits", 8),
    ("batch_size", 0), ("learning_rate", 0), ("activation", "gelu"), ("hidden", (0,)),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD_PPO)
def test_ppo_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        PPOConfig(**{name: value})


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_a_config_says_whose_run_it_is(algo):
    algorithm = find(algo)
    kind = CONFIGS[algorithm.learns_from]
    config = kind(algo=algo)
    assert config.algorithm is algorithm and config.agent == algorithm.config()
    assert config.learner == "cpu" and kind.from_dict({"algo": algo, "agent": {}}) == config
    assert kind.from_json(config.to_json()) == config
    identity = config.identity()
    assert identity["algo"] == algo and identity["agent"]["gamma"] == config.agent.gamma
    assert "steps" not in identity and "checkpoint_interval_s" not in identity
    for other in set(CONFIGS.values()) - {kind}:
        with pytest.raises(ValueError, match=f"^algo must be one of .*, not '{algo}'$"):
            other(algo=algo)


def test_config_round_trip():
    config = OffPolicyConfig.from_dict(dict(agent=dict(hidden=[8, 9])))
    assert OffPolicyConfig.from_json(config.to_json()) == config
    config = OnPolicyConfig.from_dict(dict(agent=dict(hidden=[8, 9], target_kl=0.1)))
    assert OnPolicyConfig.from_json(config.to_json()) == config


#: what may be another when a run is resumed, and another value of each field
FREE = {
    "steps": 7,
    "until_solved": True,
    "threshold": 1.5,
    "evaluation_steps": 9,
    "log_interval_steps": 11,
    "checkpoint_interval_steps": 13,
    "checkpoint_interval_s": 2.5,
}
OWN = dict(
    algo="ddpg", env="X-v0", seed=3, env_count=4, evaluation_interval_steps=5,
    evaluation_episodes=6, steps_per_launch=8, device="cuda", launches_in_flight=2,
    updates_per_launch=3, capacity=5000, alpha=0.25, priority_epsilon=0.5, learning_starts=999,
    agent=DQNConfig(gamma=0.5), memory="tree",
)  # fmt: skip
#: of a run on the card alone
ON_CARD = dict(learner="card", design="own", act="card", weights_interval=7)
#: of a run whose card collects
COLLECTING = dict(collect="card")
#: of a run whose new experiences have TD errors
RATED = dict(first_priority="td_error")
#: of a run whose environment has one instance
ALONE = dict(evaluation_on="training")
#: Fields whose defaults are not in checkpoints of before.
LATER = RATED.keys() | ALONE.keys() | COLLECTING.keys()
#: of a run with actors
ACTING = dict(actors=4, actor_order="fixed", launches_per_message=3)


def test_what_a_resumed_run_must_share():
    """Whatever decides what is computed and what is measured; as JSON values."""
    config = OffPolicyConfig(agent=DQNConfig(hidden=(8, 9)))
    whole = json.loads(json.dumps(config.identity()))
    assert whole == config.identity() | {"agent": whole["agent"]}
    assert whole["agent"]["hidden"] == [8, 9]
    every = {field.name for field in fields(config)}
    assert every == FREE.keys() | OWN.keys() | ON_CARD.keys() | ACTING.keys() | LATER
    assert whole.keys() == every - FREE.keys() - LATER
    rated = replace(config, **RATED).identity()
    assert rated == config.identity() | RATED, "the default is not in checkpoints of before"
    card = replace(config, learner="card")
    assert replace(card, **COLLECTING).identity() == card.identity() | COLLECTING
    one = replace(config, env_count=1)
    assert replace(one, **ALONE).identity() == one.identity() | ALONE
    assert replace(config, **FREE).identity() == config.identity()
    for name, value in OWN.items():
        agent = {"agent": None} if name == "algo" else {}
        assert replace(config, **{name: value} | agent).identity() != config.identity(), name
    acting = replace(config, actors=2)
    for name, value in ACTING.items():
        assert replace(acting, **{name: value}).identity() != acting.identity(), name


@pytest.mark.parametrize("memory", ["card", "tree", "ring"])
def test_the_kernel_of_a_memory(memory):
    """None if nothing is left for a card to do."""
    card = preset("dqn", "card")
    assert replace(card, memory=memory).kernel == "dqn"
    found = OffPolicyConfig(memory=memory).kernel
    assert found == ("replay" if memory == "card" else None)


CARD, PLAIN = dict(learner="card"), dict(max_gradient_norm=None)
LIMITS = [
    (dict(agent=dict(batch_size=60_000)), r"^batch_size must be .* 1..32768 \(capacity\), not 60"),
    (dict(agent=dict(batch_size=2000)), r"^learning_starts must .* 2000..32768 \(batch_size"),
    (CARD | dict(agent=dict(hidden=(64, 1024))), "^hidden must be .* 1..512 on the card, not 1024"),
    (CARD | dict(agent=dict(hidden=())), r"^hidden must be 1 to 4 widths on the card, not \(\)$"),
    (CARD | dict(agent=dict(hidden=[8] * 5)), "^hidden must be 1 to 4 widths on the card, not "),
]


@pytest.mark.parametrize("values, message", LIMITS)
def test_what_is_refused_names_what_was_set(values, message):
    with pytest.raises(ValueError, match=message):
        OffPolicyConfig.from_dict(values)


@pytest.mark.parametrize("algo, action", [("dqn", 2), ("ddpg", 3)])
def test_limits_of_the_card_are_the_kernels(algo, action):
    config = preset(algo, "card")
    most = 512 if algo == "dqn" else 509

    def settings_of(size, dtype="float32"):
        spec = Spec(shape=(size,), dtype=dtype, discrete=algo == "dqn", action_count=action)
        return learner_values(replace(config, env="Far-v0"), spec)

    settings = settings_of(most)
    assert LearnerConfig(**settings | {"hidden": (512,) * 4}).observation == most
    for change in (dict(observation=most + 1), dict(hidden=(513,)), dict(hidden=(1,) * 5)):
        with pytest.raises(ValueError):
            LearnerConfig(**settings | change)
    message = rf"of at most {most} numbers on the card, not {most + 1} of 'Far-v0' .learner cpu"
    with pytest.raises(ValueError, match=f"^env must have observations {message}"):
        settings_of(most + 1)
    with pytest.raises(
        ValueError, match="^env must have observations that are not images with learner"
    ):
        settings_of(most, "uint8")


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(dqn={}), r"^dqn must be a field of OffPolicyConfig \(algo, learner, .*not unknown$"),
        (dict(agent=dict(noise_end=0)), "^noise_end must be a field of DQNConfig .*, not unknown$"),
        (dict(algo="a2c", agent={}), "^algo must be one of dqn, ddpg, td3, sac, not 'a2c'$"),
        (dict(algo="ppo", agent={}), "^algo must be one of dqn, ddpg, td3, sac, not 'ppo'$"),
        (dict(algo=["dqn"]), r"^algo must be one of .*, not \['dqn'\]$"),
        (dict(algo="sac", learner="card"), "^learner must be cpu for sac, not 'card'$"),
        (CARD | dict(device="cuda", agent=PLAIN), "^device must be cpu with learner card, not "),
        (dict(weights_interval=2), "^weights_interval must be 1 with learner cpu, not 2$"),
        (dict(act="card"), "^act must be cpu with learner cpu, not 'card'$"),
        (dict(design="fixar"), "^design must be own with learner cpu, not 'fixar'$"),
        (CARD | dict(design="fixar", agent=PLAIN), "^design must be one of own, not 'fixar'$"),
        (CARD | dict(algo="ddpg", design="x"), "^design must be one of own, fixar, not 'x'$"),
        (dict(act="gpu"), "^act must be one of cpu, card, not 'gpu'$"),
        (
            CARD | dict(act="card", weights_interval=2, agent=PLAIN),
            "^weights_interval must be 1 with act card, not 2$",
        ),
        (
            CARD | dict(algo="ddpg", design="fixar", agent=dict(max_gradient_norm=10.0)),
            "^max_gradient_norm must be None with learner card and kernel fixar, not 10.0 ",
        ),
        (
            CARD | dict(agent=PLAIN | dict(dueling=True)),
            "^dueling must be False with learner card and kernel dqn, not True ",
        ),
        (
            dict(algo="ddpg", learner="card", agent=dict(precision="qat")),
            "^precision must be float32 with learner card.*, not 'qat' .--learner cpu takes any.$",
        ),
        (
            dict(algo="ddpg", learner="card", agent=dict(lagged_critic=False)),
            "^lagged_critic must be True with learner card and kernel ddpg, not False ",
        ),
    ],
)
def test_rules_across_fields(values, message):
    with pytest.raises(ValueError, match=message):
        OffPolicyConfig.from_dict(values)
    with pytest.raises(ValueError, match="^agent must be a DQNConfig for dqn, not 5$"):
        OffPolicyConfig(agent=5)
