"""host.runs.family: what a run asks of its kernel, by hand; and its environments."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from host.environments.spec import Spec
from host.runs.preset import preset
from host.runs.replay_runs import OffPolicyConfig
from host.runs.rollout_runs import OnPolicyConfig
from host.runs.round_runs import RoundsConfig
from host.runs.run_kinds import family_of
from host.settings import override
from hw.replay.config import ReplayKernelConfig

POLE = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
ARM = Spec(shape=(3,), dtype="float32", discrete=False, action_count=2)
IMAGE = Spec(shape=(12, 10, 3), dtype="uint8", discrete=True, action_count=5, exponent=-8)
PLANES = Spec(shape=(12, 10, 3), dtype="uint8", discrete=True, action_count=5)


def values_of(config, spec):
    return config.kernel_values(spec)


@pytest.mark.parametrize(
    "run, sizes, expected",
    [
        # Agents: one population more, for values besides; a snapshot more, for evaluations.
        (dict(env_count=18, group=2), [2, 2, 2, 2, 1] * 2, (2, 27, 11, 32)),
        (dict(env_count=60, group=2), [2] * 30, (2, 90, 31, 3 * 15 + 8)),
        (dict(env_count=5, populations=1, group=5), [5], (5, 10, 2, 32)),
        (dict(env_count=24, populations=3, group=4), [4] * 6, (4, 32, 7, 32)),
    ],
)
def test_rounds(run, sizes, expected):
    config = RoundsConfig(**run)
    found = values_of(config, POLE)
    assert tuple(found[name] for name in ("batch", "agents", "snapshots", "tasks")) == expected
    assert family_of(config).environments(config) == sizes and sum(sizes) == config.env_count


@pytest.mark.parametrize(
    "spec, expected",
    [
        (POLE, (1, 1, 4, True, 0, 3)),
        (IMAGE, (12, 10, 3, False, -8, 6)),
        (PLANES, (12, 10, 3, False, 0, 6)),
    ],
)
def test_what_rounds_see(spec, expected):
    found = values_of(RoundsConfig(), spec)
    names = ("height", "width", "channels", "binary32", "input_exponent", "outputs")
    assert tuple(found[name] for name in names) == expected


@pytest.mark.parametrize("count, rows", [(1, 1), (64, 64), (65, 64), (300, 64)])
def test_rollouts(count, rows):
    agent = dict(code_width=8, result_width=16, batch_size=8)
    config = OnPolicyConfig.from_dict(dict(env_count=count, steps_per_launch=20, agent=agent))
    expected = {"rows": rows, "depth": 40, "code_width": 8, "result_width": 16}
    assert values_of(config, POLE) == {f"gae.{name}": value for name, value in expected.items()}
    assert family_of(config).environments(config) == [count]


def test_a_replay_memory():
    config = OffPolicyConfig(capacity=3000, env_count=5)
    assert values_of(config, POLE) == {"replay.capacity": 3000}
    assert family_of(config).environments(config) == [5]
    for asked in ({"fanout": 4}, {"capacity": 7}):  # who asks, gets it
        kernel = override(ReplayKernelConfig(), config.kernel_values(POLE) | asked)
        assert kernel == override(ReplayKernelConfig(), {"capacity": 3000} | asked)


@pytest.mark.parametrize("memory", ["tree", "ring"])
def test_a_memory_that_is_not_the_cards(memory):
    """With learner cpu there is nothing on the card; with learner card its own replay memory is as
    small as a batch allows."""
    config = OffPolicyConfig(memory=memory)
    assert config.kernel is None
    config = preset("dqn", "card").from_dict(
        {**preset("dqn", "card").to_dict(), "memory": memory, "capacity": 3000}
    )
    assert config.kernel == "dqn"
    values = values_of(config, POLE)
    assert values["replay.capacity"] == values["learner.batch"] == config.agent.batch_size
    kernel = SimpleNamespace(engine=SimpleNamespace(beat_bytes=64))
    stored = config.stored_bytes(POLE, kernel, SimpleNamespace(joins=True))
    assert stored == 64 * config.agent.batch_size
    config = replace(config, agent=replace(config.agent, batch_size=1))
    assert values_of(config, POLE)["replay.capacity"] == 2


@pytest.mark.parametrize(
    "spec, beat, size",
    [
        (POLE, 16, 48),  # 2 * 16 + 3 * 4 = 44, in whole granules
        (POLE, 64, 64),
        (ARM, 16, 48),  # 2 * 12 + 8 + 2 * 4 = 40
        (IMAGE, 64, 768),  # 2 * 360 + 3 * 4 = 732
    ],
)
def test_what_is_stored(spec, beat, size):
    """Whole beats for each experience; of what grows with the run, and where banks join for it."""
    config, kernel = OffPolicyConfig(capacity=1000), SimpleNamespace()
    kernel.engine = SimpleNamespace(beat_bytes=beat)
    assert config.stored_bytes(spec, kernel, SimpleNamespace(joins=True)) == 1000 * size
    assert config.stored_bytes(spec, kernel, SimpleNamespace(joins=False)) is None
    joins = SimpleNamespace(joins=True)
    assert OnPolicyConfig().stored_bytes(ARM, kernel, joins) is None
