"""hw.learner.kernel_config: the JSON and the hash that builds, saved states and runs compare."""

import json
from dataclasses import replace

import pytest

from hw.arith.fixed_point import DualPrecision, FixedPoint
from hw.learner.chain.config import LayerConfig
from hw.learner.config import LearnerConfig
from hw.learner.kernel_config import LearnerKernelConfig

DQN = (
    '{"engine":{"burst_beats":64,"bursts":64,"data_width":512,"depth":256,"style":"auto"},'
    '"learner":{"action":2,"algorithm":"dqn","arithmetic":{"activation":{"fraction":10,'
    '"integer":8,"signed":true},"gradient":{"fraction":14,"integer":4,"signed":true},'
    '"kind":"float32","weight":{"fraction":23,"integer":4,"signed":true}},"batch":64,'
    '"double":true,"hidden":[64,64],"hidden_activation":"relu","lanes":1,"multipliers":32,'
    '"observation":4,"optimizer":"adam","update_units":4},"replay":{"capacity":1048576,'
    '"fanout":16,"priority_fraction":16,"priority_width":24,"ultra_ram":true}}'
)
DDPG = DQN.replace('"action":2', '"action":1').replace('"dqn"', '"ddpg"')
DDPG = DDPG.replace('"observation":4', '"observation":3').replace('"float32"', '"fixed"')
PENDULUM = LearnerConfig(algorithm="ddpg", observation=3, action=1, arithmetic=FixedPoint())


@pytest.mark.parametrize(
    "config, text, digest",
    [
        (LearnerKernelConfig(), DQN, 0xC8DDD5A9072A5B7A),
        (LearnerKernelConfig(learner=PENDULUM), DDPG, 0xD0419FEE5019F21A),
    ],
    ids=["dqn", "ddpg, fixed"],
)
def test_json_and_hash(config, text, digest):
    assert config.to_json() == text and config.hash64 == digest
    assert LearnerKernelConfig.from_json(text) == config
    without = json.loads(text)
    del without["learner"]["arithmetic"]
    kept = LearnerKernelConfig.from_dict(without).learner.arithmetic
    assert (kept == config.learner.arithmetic) == ("float32" in text)


@pytest.mark.parametrize("config", [LayerConfig, LearnerConfig])
def test_chains_have_products_of_one_block(config):
    rule = "^arithmetic.kind must be one of float32, fixed, not 'dual'$"
    with pytest.raises(ValueError, match=rule):
        config(arithmetic=DualPrecision())


def test_the_batch_and_the_capacity():
    """Survivor 25: a batch may be all that the memory holds."""
    config = LearnerKernelConfig()
    alike = replace(config, replay=replace(config.replay, capacity=config.learner.batch))
    assert alike.learner.batch == alike.replay.capacity == 64
    with pytest.raises(ValueError, match=r"^batch must be at most the capacity \(63\), not 64$"):
        replace(config, replay=replace(config.replay, capacity=63))
