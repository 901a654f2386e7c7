"""host.settings: which field a name means, what a text is, what is said of a slip."""

import re
from dataclasses import dataclass

import pytest

from host.runs.preset import preset
from host.runs.replay_runs import OffPolicyConfig
from host.runs.rollout_runs import OnPolicyConfig
from host.settings import flat, leaves, override, text_of
from hw.fa3c.config import Fa3cConfig
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from tests.host.stub_designs import StubConfig


def test_texts_are_of_the_type_they_replace():
    config = override(
        StubConfig(),
        {"capacity": "0x100", "rate": "1", "fast": "True", "style": "ultra", "read.depth": "3"},
    )
    assert config == override(
        StubConfig(),
        {"capacity": 256, "rate": 1.0, "fast": True, "style": "ultra", "read.depth": 3},
    )
    assert (config.read.depth, config.write.depth) == (3, 8)
    assert isinstance(config.rate, float)


def test_tuples_and_none():
    changes = {"hidden": "64,0x20", "max_gradient_norm": "none", "learning_rate_final": "1e-4"}
    agent = override(OffPolicyConfig(), changes).agent
    assert agent.hidden == (64, 32) and agent.max_gradient_norm is None
    assert agent.learning_rate_final == 1e-4
    assert override(OffPolicyConfig(), {"hidden": "64,"}).agent.hidden == (64,)


def test_a_name_that_is_another_ones_end_means_itself():
    """And none is written as one likes."""

    @dataclass(frozen=True)
    class Inner:
        depth: float | None = 1.0

    @dataclass(frozen=True)
    class Outer:
        inner: Inner = Inner()
        depth: int = 2

    assert override(Outer(), {"depth": "7"}) == Outer(depth=7)
    assert override(Outer(), {"inner.depth": "None"}) == Outer(inner=Inner(None))


def test_tuples_of_texts_and_of_tuples():
    texts = {"units": "infer,train", "convolutions": "16:8:4,0x20:4:2", "hidden": ""}
    config = override(Fa3cConfig(), texts)
    assert config.units == ("infer", "train") and config.hidden == ()
    assert config.convolutions == ((16, 8, 4), (32, 4, 2))
    assert override(config, {"convolutions": "", "hidden": "9"}).convolutions == ()


def test_tuples_that_may_be_none():
    """The words of a learner's layers: a list, or one for each of its networks."""
    kernel = LearnerKernelConfig(learner=LearnerConfig(hidden=(16,)))
    given = override(kernel, {"words": "4,0x10,2"})
    assert given.learner.words == (4, 16, 2) and override(given, {"words": "None"}) == kernel
    assert override(given, {"words": "2:8:1"}).learner.words == (2, 8, 1)
    both = override(kernel, {"algorithm": "ddpg", "words": "2:8:1,4:4:2"})
    assert both.learner.words == ((2, 8, 1), (4, 4, 2))
    assert text_of(both.learner.words) == "2:8:1,4:4:2"
    for text in ("4-16-2", "x", "4,16,2.5"):
        with pytest.raises(ValueError, match=f"^words must be {COMMAS} or {COLONS}, not '{text}'$"):
            override(kernel, {"words": text})
    with pytest.raises(ValueError, match="^words of q must be .* not 3; .* words are 4,16,2$"):
        override(kernel, {"words": "3,16,2"})


COMMAS = "integers with commas between them, such as 64,64"
COLONS = "integers with colons and commas between them, such as 16:8:4,32:4:2"


@pytest.mark.parametrize(
    "given, name, text, rule",
    [
        ({}, "convolutions", "16:8:x", COLONS),
        ({}, "hidden", "16:8:x", COMMAS),
        ({"hidden": ()}, "hidden", "x", f"{COMMAS} or {COLONS}"),
        ({}, "convolutions", "(16,4,2),(16,3,1)", COLONS),
    ],
)
def test_a_tuple_says_how_it_is_written(given, name, text, rule):
    with pytest.raises(ValueError, match=f"^{name} must be {rule}, not '{re.escape(text)}'$"):
        override(Fa3cConfig(**given), {name: text})


@pytest.mark.parametrize("text", ["16,4,2", "16:4", "16:4:2,16", "16:4:2:1"])
def test_convolutions_of_other_sizes_say_the_form(text):
    """hw_arrays 1b: the form in which the command line takes convolutions was named nowhere."""
    with pytest.raises(ValueError, match="^convolutions must be .* as a text 16:8:4,32:4:2, not "):
        override(Fa3cConfig(), {"convolutions": text})


@pytest.mark.parametrize(
    "name, text, kind",
    [
        ("hidden", "64x64", "integers with commas between them, such as 64,64"),
        ("learning_rate_final", "x", "of type float"),
        ("steps", "1.5", "of type int"),
        ("steps", "1e-3", "of type int"),
        ("steps", "inf", "of type int"),
        ("steps", "", "of type int"),
        ("until_solved", "maybe", "of type bool"),
    ],
)
def test_texts_of_another_type(name, text, kind):
    with pytest.raises(ValueError, match=f"{name} must be {kind}, not '{text}'$"):
        override(OffPolicyConfig(), {name: text})


def test_integers_may_be_written_with_an_exponent():
    assert override(OffPolicyConfig(), {"steps": "2e5"}).steps == 200_000
    assert isinstance(override(OffPolicyConfig(), {"steps": "1.5e3"}).steps, int)


def test_all_are_changed_at_once():
    # Either alone breaks the rule capacity >= fanout for a moment.
    assert override(StubConfig(), {"fanout": 4096, "capacity": 8192}).fanout == 4096


SLIPS = [
    ("lr", "learning_rate"),
    ("gama", "gamma"),
    ("Hidden", "hidden"),
    ("learning_rates", "learning_rate or learning_rate_steps or learning_rate_final"),
    ("agent.bath_size", "batch_size"),
    ("evaluation_interval", "evaluation_interval_steps"),
    ("log_interval", "log_interval_steps"),
    ("max_grad_norm", "max_gradient_norm"),
]


@pytest.mark.parametrize("name, meant", SLIPS)
def test_slips(name, meant):
    with pytest.raises(ValueError) as caught:
        override(OffPolicyConfig(), {name: "1"}, hint="see there")
    beginning = f"{name} must be the name of a field, not unknown (did you mean {meant}"
    assert str(caught.value).startswith(beginning) and len(str(caught.value)) < 200


def test_short_words():
    with pytest.raises(ValueError, match=r"\(did you mean entropy_coefficient\?\)$"):
        override(OnPolicyConfig(), {"ent_coef": "1"})
    with pytest.raises(ValueError, match=r"not unknown \(did you mean read.depth\?\)$"):
        override(StubConfig(), {"read": 1})


def test_what_is_like_nothing():
    with pytest.raises(ValueError, match=r"^warp must be .*, not unknown \(see there\)$"):
        override(OffPolicyConfig(), {"warp": "1"}, hint="see there")
    with pytest.raises(ValueError, match=r"not unknown \(there are .*read.depth, "):
        override(StubConfig(), {"zzz": "1"})


@pytest.mark.parametrize(
    "config, name, text, rule",
    [
        (OffPolicyConfig(), "agent.gamma", "2", "must be in "),
        (OffPolicyConfig(), "gamma", "2", "must be in "),
        (OffPolicyConfig(), "agent.gamma", "x", "must be of type float, not 'x'"),
        (StubConfig(), "capacity", "0", "must be an integer in 16"),
        (StubConfig(), "depth", "1", r"must be one of kernel\.read\.depth, kernel\.write\.depth, "),
        (StubConfig(), "fanot", "3", r"must be .*, not unknown \(did you mean kernel\.fanout\?"),
        (StubConfig(), "zzz", "3", r"must be .*, not unknown \(there are kernel\.data_width, kern"),
    ],
)
def test_a_field_is_called_what_it_was_called(config, name, text, rule):
    with pytest.raises(ValueError, match=rf"^kernel\.{re.escape(name)} {rule}"):
        override(config, {name: text}, shown_names={name: f"kernel.{name}"})


def test_a_rule_of_another_field_has_that_fields_name():
    with pytest.raises(ValueError, match="^capacity must be an integer in 4096"):
        override(StubConfig(), {"fanout": "4096"}, shown_names={"fanout": "kernel.fanout"})


def test_nested_values():
    nested = {"steps": 3, "agent": {"hidden": [4, 5], "gamma": 0.5}}
    values = {"steps": 3, "agent.hidden": [4, 5], "agent.gamma": 0.5}
    assert flat(nested) == values
    assert override(OffPolicyConfig(), values) == OffPolicyConfig.from_dict(nested)


def test_leaves_know_where_they_are():
    found = {name: (value, path) for name, value, path in leaves(StubConfig())}
    value, path = found["read.depth"]
    assert value == StubConfig().read.depth
    assert path == ((StubConfig, "read"), (type(StubConfig().read), "depth"))


@pytest.mark.parametrize(
    "text, value", [("50000", 50_000), ("5e4", 50_000), ("0x10", 16), ("none", None)]
)
def test_an_integer_in_the_place_of_none(text, value):
    found = override(preset("ddpg", "cpu"), {"quantization_delay": text}).agent.quantization_delay
    assert found == value and type(found) is type(value)
