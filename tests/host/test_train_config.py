"""host.agents.train_config: presets, JSON, and the rules of a field and across fields."""

import pytest

from host.agents.train_config import TrainConfig, preset

BAD = [
    ("algo", "ppo"), ("env", ""), ("steps", 0), ("seed", -1), ("env_count", 0), ("capacity", 1),
    ("alpha", 1.1), ("alpha", "x"), ("priority_epsilon", 0), ("learning_starts", 1 << 16),
    ("evaluation_interval", 0), ("evaluation_episodes", 0), ("log_interval", 0),
    ("checkpoint_interval", 0), ("until_solved", 1), ("steps_per_launch", 0), ("learner", "gpu"),
    ("updates_per_launch", 0), ("updates_per_launch", 2), ("weights_interval", 2),
]  # fmt: skip


@pytest.mark.parametrize("name, value", BAD)
def test_config_rejects(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be .+, not "):
        TrainConfig(**{name: value})


def test_config_round_trip():
    config = TrainConfig.from_dict(dict(dqn=dict(hidden=[8, 9])))
    assert TrainConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize("learner", ["cpu", "card"])
@pytest.mark.parametrize("algo", ["dqn", "ddpg"])
def test_presets(algo, learner):
    config = preset(algo, learner)
    assert TrainConfig.from_json(config.to_json()) == config
    assert (config.algo, config.learner) == (algo, learner)
    assert config.agent is getattr(config, algo) and (config.dqn is None) == (algo == "ddpg")
    if (algo, learner) == ("dqn", "cpu"):
        assert config == TrainConfig()


@pytest.mark.parametrize("kind, name", [("algo", "ppo"), ("learner", "gpu")])
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
