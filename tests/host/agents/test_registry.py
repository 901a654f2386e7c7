"""host.agents.registry: every descriptor is whole."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete

from host.agents import registry
from host.agents.registry import ALGORITHMS, find
from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater
from host.algorithms.config import AgentConfig
from host.algorithms.policy import Policy
from host.runs.preset import preset
from host.runs.run_kinds import CONFIGS
from hw import designs
from hw.designs import DESIGNS
from hw.learner.design import LEARNERS
from tests.host.experience import kind_of

EVERY = pytest.mark.parametrize("algorithm", ALGORITHMS.values(), ids=list(ALGORITHMS))


def test_find():
    assert find("sac") is ALGORITHMS["sac"]
    with pytest.raises(
        ValueError, match="^algo must be one of dqn, ddpg, td3, sac, ppo, a3c, not 'a2c'$"
    ):
        find("a2c")
    with pytest.raises(ValueError, match="^algo must be one of dqn, .*, not None$"):
        find(None)


@pytest.mark.parametrize("module", [registry, designs], ids=["algorithms", "designs"])
def test_a_list_shows_the_attributes_of_each_object(module):
    """Before the object is imported."""
    for name, entry in module._OURS.items():
        found = entry.load()
        assert (found.name, found.summary) == (name, entry.summary)
        assert tuple(getattr(found, "presets", ())) == entry.presets


def test_every_algorithm_of_a_learner_is_a_design():
    assert {*LEARNERS} <= {*designs._OURS}


def test_names_are_their_own():
    assert [each.name for each in ALGORITHMS.values()] == list(ALGORITHMS)
    assert len({each.summary for each in ALGORITHMS.values()}) == len(ALGORITHMS)


@EVERY
def test_its_parts_are_of_the_kinds_that_runs_know(algorithm):
    assert issubclass(algorithm.config, AgentConfig) and algorithm.config is not AgentConfig
    assert issubclass(algorithm.policy, Policy) and callable(algorithm.updater)
    assert set(algorithm.actions) <= {Discrete, Box} and algorithm.actions
    assert algorithm.summary and all(algorithm.columns.values())
    assert algorithm.config.from_json(algorithm.config().to_json()) == algorithm.config()


@EVERY
def test_what_it_measures_is_its_columns(algorithm):
    """td_error, which every learner with a memory measures, is that learner's."""
    measured = kind_of(algorithm).measure(algorithm)
    assert set(measured) == set(algorithm.columns)
    assert all(isinstance(value, float) for value in measured.values())


@EVERY
def test_a_kernel_exists_where_the_card_trains(algorithm):
    assert (algorithm.kernel is not None) == (algorithm.learners == ("card", "cpu"))
    if algorithm.kernel is None:
        assert algorithm.learners == ("cpu",)
        assert not algorithm.card and not algorithm.card_environments
        with pytest.raises(ValueError, match=f"^learner must be cpu for {algorithm.name}, not"):
            preset(algorithm.name, "card")
        return
    assert algorithm.name in DESIGNS


@EVERY
def test_its_defaults_are_runs(algorithm):
    """In every environment that it has some for, on every learner, with every preset."""
    kind = CONFIGS[algorithm.learns_from]
    assert set(algorithm.card_environments) <= set(algorithm.environments)
    for learner in algorithm.learners:
        for env in (None, *algorithm.environments):
            # Those of ddpg are of another kernel, or of the CPU alone: test_preset.py.
            elsewhere = learner == "card" and algorithm.designs
            for name in (None, *(() if elsewhere else algorithm.presets)):
                config = preset(algorithm.name, learner, name, env)
                assert type(config) is kind and config.algorithm is algorithm
                assert config.learner == learner and env in (None, config.env)
                for field, value in algorithm.presets.get(name, {}).items():
                    assert getattr(config.agent, field) == value
                if name is None and not algorithm.presets:
                    own = algorithm.environments.get(env, {}).get("agent", {})
                    assert own.items() <= config.agent.to_dict().items()


def test_an_environment_of_a_module_is_itself():
    """`MODULE:Pendulum-v1` has Pendulum-v1's defaults, and stays the module's."""
    config = preset("ppo", "cpu", None, "gymnasium:Pendulum-v1")
    assert config.env == "gymnasium:Pendulum-v1"
    assert config.agent == preset("ppo", "cpu", None, "Pendulum-v1").agent


# -- action spaces

UNBOUNDED = Box(-np.inf, np.inf, (2,))
SPACES = {
    "Discrete": Discrete(3),
    "bounded": Box(-1, 1, (2,)),
    "matrix": Box(-1, 1, (2, 2)),
    "unbounded": UNBOUNDED,
    "MultiDiscrete": MultiDiscrete([2, 2]),
    "Dict": Dict(),
}


@EVERY
@pytest.mark.parametrize("name", SPACES)
def test_action_spaces(algorithm, name):
    taken = {Discrete: {"Discrete"}, Box: {"bounded"}}
    if name in set.union(*(taken[kind] for kind in algorithm.actions)):
        algorithm.check_actions(SPACES[name], "Some-v0")
        return
    with pytest.raises(ValueError, match="^env must have a .* action space for ") as error:
        algorithm.check_actions(SPACES[name], "Some-v0")
    assert f"for {algorithm.name}, not {SPACES[name]} of 'Some-v0'" in str(error.value)
    words = {Discrete: "Discrete", Box: "one-dimensional, bounded Box"}
    assert " or ".join(words[kind] for kind in algorithm.actions) in str(error.value)


def test_a_descriptor_is_its_own():
    """Defaults of one are not shared with the next."""
    parts = dict(summary="s", config=AgentConfig, policy=Policy, updater=Updater, actions=(Box,))
    one, two = (Algorithm(name=name, columns={}, **parts) for name in "ab")
    one.defaults["steps"] = 1
    assert two.defaults == {} and two.learners == ("cpu",)
