"""hw.learner.config: the JSON and the hash that builds, saved states and runs compare."""

import json
import random
from ast import literal_eval
from dataclasses import replace

import pytest

from hw.arith.fixed_point import DualPrecision, FixedPoint
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerConfig, LearnerKernelConfig

DQN = (
    '{"engine":{"burst_beats":64,"bursts":64,"data_width":512,"depth":256,"style":"auto"},'
    '"learner":{"action":2,"algorithm":"dqn","arithmetic":{"activation":{"fraction":10,'
    '"integer":8,"signed":true},"gradient":{"fraction":14,"integer":4,"signed":true},'
    '"kind":"float32","weight":{"fraction":23,"integer":4,"signed":true}},"batch":64,'
    '"double":true,"hidden":[64,64],"hidden_activation":"relu","lanes":1,"multipliers":32,'
    '"observation":4,"optimizer":"adam","update_units":8,"words":null},"replay":{"capacity":1048576,'
    '"fanout":16,"priority_fraction":16,"priority_width":24,"ultra_ram":true}}'
)
DDPG = DQN.replace('"action":2', '"action":1').replace('"dqn"', '"ddpg"')
DDPG = DDPG.replace('"observation":4', '"observation":3').replace('"float32"', '"fixed"')
PENDULUM = LearnerConfig(algorithm="ddpg", observation=3, action=1, arithmetic=FixedPoint())


@pytest.mark.parametrize(
    "config, text, digest",
    [
        (LearnerKernelConfig(), DQN, 0x12ACBAF2C93FA404),
        (LearnerKernelConfig(learner=PENDULUM), DDPG, 0xCC8BDC1ACDB9FB77),
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


def test_a_field_that_came_later_is_in_the_json_of_kernels_that_have_it():
    config = LearnerKernelConfig(learner=LearnerConfig(loss_unit="program"))
    values = json.loads(config.to_json())
    assert values["learner"].pop("loss_unit") == "program"
    assert values == json.loads(DQN) and config.hash64 != LearnerKernelConfig().hash64
    assert LearnerKernelConfig.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    "field, value, rule",
    [
        ("loss_unit", "steps", "one of pipeline, program"),
        ("update_units", -1, r"an integer in 0\.\.512"),
        ("update_units", False, r"an integer in 0\.\.512"),
    ],
)
def test_a_value_that_cannot_be(field, value, rule):
    with pytest.raises(ValueError, match=f"^{field} must be {rule}, not {value!r}$"):
        LearnerConfig(**{field: value})


@pytest.mark.parametrize("config", [LayerConfig, LearnerConfig])
def test_products_are_of_one_block(config):
    rule = "^arithmetic.kind must be one of float32, fixed, not 'dual'$"
    with pytest.raises(ValueError, match=rule):
        config(arithmetic=DualPrecision())


DEEP = dict(observation=5, action=3, hidden=(20, 6))
BOTH = dict(algorithm="ddpg", observation=5, action=3, hidden=(20,))


@pytest.mark.parametrize(
    "config, words",
    [
        (DEEP, [4, 10, 6, 2]),
        (DEEP, [[8, 16, 8, 4]]),
        (DEEP, [1, 1, 1, 1]),
        (BOTH, [[4, 10, 1], [8, 16, 4]]),
    ],
)
def test_given_words(config, words):
    """Layers have them whatever ``multipliers`` is, and JSON keeps them."""
    config = LearnerKernelConfig(learner=LearnerConfig(words=words, multipliers=1, **config))
    found = [
        [layers[0].input_word, *(layer.output_word for layer in layers)]
        for layers in config.learner.networks.values()
    ]
    assert found == (words if isinstance(words[0], list) else [words])
    again = LearnerKernelConfig.from_json(config.to_json())
    assert again == config and again.hash64 == config.hash64 and hash(again) == hash(config)


COUNT = r"words of q must be 4 numbers: of its inputs, and of the outputs of each layer, not "
LISTS = r"words must be a list for each of critic, actor, such as [\d:]+,[\d:]+, not "


@pytest.mark.parametrize(
    "config, words, text",
    [
        (DEEP, [4, 8, 2], COUNT + r"\(4, 8, 2\); the nearest such words are 4,8,2,1"),
        (DEEP, [], COUNT + r"\(\); the nearest such words are 1,1,1,1"),
        (
            DEEP,
            [3, 8, 2, 2],
            r"words of q must be 1..8, a power of two, at place 0, not 3; .* 4,8,2,2",
        ),
        (DEEP, [16, 8, 2, 2], r"words of q must be 1..8, a .*, at place 0, not 16; .* 8,8,2,2"),
        (DEEP, [4, 17, 2, 2], r"words of q must be 1..16 at place 1, not 17; .* 4,16,2,2"),
        (DEEP, [4, 8, 9, 2], r"words of q must be 1..8 at place 2, not 9; .* 4,8,8,2"),
        (DEEP, [4, 8, 0, 3], r"words of q must be 1..8 at place 2, not 0; .* 4,8,1,4"),
        (DEEP, [4, 8, 2, 3], r"words of q must be 1..4, a power .* place 3, not 3; .* 4,8,2,4"),
        (DEEP, [4.0, 8, 2, 2], r"words of q must be .* not 4.0; .* 1,8,2,2"),
        (DEEP, [True, 8, 2, 2], r"words of q must be .* not True; .* 1,8,2,2"),
        (DEEP, 4, "words must be a list for each of q, such as [\\d:]+, not 4"),
        (BOTH, [4, 8, 2], LISTS + r"\(4, 8, 2\)"),
        (BOTH, [[4, 8, 1], 7], LISTS + r"\(\(4, 8, 1\), 7\)"),
        (
            BOTH,
            [[4, 8, 1], [8, 16, 2]],
            "words of critic must begin with actor's last word, 2, not with 4; "
            "the nearest such words are 2:8:1,8:16:2",
        ),
        (
            BOTH,
            [[4, 8, 1], []],
            COUNT.replace("of q", "of actor").replace("4 n", "3 n")
            + r"\(\); the nearest such words are 1:8:1,1:1:1",
        ),
        (BOTH, [[4, 8, 2], [8, 16, 4]], r"words of critic must be 1..1, .* not 2; .* 4:8:1,8:16:4"),
    ],
)
def test_words_that_cannot_be(config, words, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        LearnerConfig(words=words, **config)


def test_the_nearest_words_can_be():
    """Whatever was given."""
    rng, refused = random.Random(1), 0
    for _ in range(150):
        config, count = rng.choice([(DEEP, 1), (BOTH, 2)])
        words = [[rng.randint(0, 18) for _ in range(rng.randint(2, 5))] for _ in range(count)]
        try:
            LearnerConfig(words=words, **config)
        except ValueError as error:
            refused += 1
            nearest = str(error).rpartition(" are ")[2].replace(",", "],[" if count > 1 else ",")
            nearest = literal_eval(f"[[{nearest.replace(':', ',')}]]")
            assert LearnerConfig(words=nearest, **config)
    assert refused > 100


def test_the_batch_and_the_capacity():
    """Survivor 25: a batch may be all that the memory holds."""
    config = LearnerKernelConfig()
    alike = replace(config, replay=replace(config.replay, capacity=config.learner.batch))
    assert alike.learner.batch == alike.replay.capacity == 64
    with pytest.raises(ValueError, match=r"^batch must be at most the capacity \(63\), not 64$"):
        replace(config, replay=replace(config.replay, capacity=63))


def test_a_list_of_one_network_is_the_same_config():
    flat, nested = (LearnerConfig(words=words, **DEEP) for words in ([4, 8, 2, 2], [[4, 8, 2, 2]]))
    assert flat == nested and flat.to_json() == nested.to_json()
