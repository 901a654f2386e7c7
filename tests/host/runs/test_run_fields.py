"""RunConfig and Training.fields: one table of a run's fields and its kernel's, both ways."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from legal_configs import legal_config

from host.advantages.slots import check_fit, place
from host.agents.registry import ALGORITHMS
from host.algorithms.config import AgentConfig
from host.algorithms.dqn import DQN
from host.cli.field_meanings import meanings
from host.environments.spec import Spec
from host.runs.preset import preset
from host.settings import leaves, override
from hw.config import value_of, with_values
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.learner.block.layer_config import MAX_WIDTH
from hw.learner.config import MAX_HIDDEN

POLE = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
#: Design -> algorithm and learner of a run with its kernel.
RUNS = {
    "replay": ("dqn", "cpu"),
    "gae": ("ppo", "cpu"),
    "dqn": ("dqn", "card"),
    "ddpg": ("ddpg", "card"),
    "fixar": ("ddpg", "card"),
    "a3c": ("a3c", "card"),
}


def run_of(design, values):
    """The run with ``values`` on a kernel of ``design``."""
    algorithm, learner = RUNS[design]
    config = preset(algorithm, learner, design=design if design == "fixar" else "own")
    others = {"gae": {"batch_size": 8}, "a3c": {}}.get(design, {"learning_starts": 0})
    if "learning_starts" in others:  # the least that is legal
        others["learning_starts"] = values.get("batch_size", config.agent.batch_size)
    return override(config, others | values)


def spec_of(kernel):
    """An environment for a kernel; its images are as large as a3c's."""
    if not hasattr(kernel, "height"):
        return POLE
    shape = kernel.height, kernel.width, kernel.channels
    return Spec(shape=shape, dtype="uint8", discrete=True, action_count=2, exponent=0)


def kernel_of(design, run, spec=POLE):
    """The config of its kernel, with errors as ``train`` has them."""
    values = run.kernel_values(spec)
    return override(DESIGNS[design].config_type(), values, shown_names=run.run_names)


def table(design):
    return DESIGNS[design].training.fields


def legal(design, seed):
    """``(kernel, values, run)``: a random kernel's config, the run's fields, which it decides, and
    a run that has them. A kernel with more than a run may ask for is drawn again."""
    for number in range(20 * seed, 20 * seed + 20):
        kernel = legal_config(design, number)
        values = {each.run: each.of_kernel(kernel) for each in table(design)}
        try:
            return kernel, values, run_of(design, values)
        except UsageError:
            continue
    raise AssertionError(f"no run has a kernel of {design}")


@pytest.mark.parametrize("design", RUNS)
@settings(max_examples=25, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 1000))
def test_each_way_is_the_others_inverse(design, seed):
    kernel, values, run = legal(design, seed)
    assert run.run_names.keys() <= run.decided(spec_of(kernel)).keys()
    for name, value in run.decided(spec_of(kernel)).items():
        if name in run.run_names:
            assert value == value_of(kernel, name)
    back = kernel_of(design, run, spec_of(kernel))
    assert {each.run: each.of_kernel(back) for each in table(design)} == values


@pytest.mark.parametrize("design", RUNS)
def test_every_field_of_both_is_in_the_table(design):
    """A field of one name in run and kernel says one thing."""
    of_run = {name.rpartition(".")[2] for name, *_ in leaves(run_of(design, {}))}
    of_kernel = {name.rpartition(".")[2]: name for name, *_ in leaves(legal_config(design, 0))}
    wanted = {of_kernel[name] for name in of_run & of_kernel.keys()}
    assert wanted and wanted <= {each.kernel for each in table(design)}


@pytest.mark.parametrize("steps", [2, 3, 128])
def test_a_rollout_whose_every_step_ends_an_episode_fits(steps):
    """A bootstrap value has a slot of its own behind each of its steps."""
    kernel = kernel_of("gae", run_of("gae", {"steps_per_launch": steps}))
    ends = np.ones((steps, 1), bool)
    kinds = place(~ends, ends).kinds
    check_fit(kinds, kernel.gae.depth)
    with pytest.raises(UsageError):  # and no slot is spare
        check_fit(kinds, kernel.gae.depth - 2)


def largest(design, name, made):
    """The largest number, below 2^13, with which hw allows the field."""
    low, high = 1, 1 << 13
    while high - low > 1:
        middle = (low + high) // 2
        try:
            with_values(DESIGNS[design].config_type(), {name: made(middle)})
            low = middle
        except UsageError:
            high = middle
    return low


LIMITS = [
    (design, field, made)
    for design in ("dqn", "ddpg", "fixar", "a3c")
    for field, made in [
        ("hidden", lambda width: (width,)),
        ("hidden", lambda count: (1,) * count),
        ("batch_size", int),
    ]
    if (design, field) != ("fixar", "batch_size")  # the agent's own limit is lower
]


@pytest.mark.parametrize("design, field, made", LIMITS)
def test_limits_are_the_kernels_and_have_the_runs_names(design, field, made):
    [name] = [each.kernel for each in table(design) if each.run == field]
    most = largest(design, name, made)
    assert 1 < most < (1 << 13) - 1
    assert value_of(kernel_of(design, run_of(design, {field: made(most)})), name) == made(most)
    with pytest.raises(UsageError, match=f"^{field} must be "):
        kernel_of(design, run_of(design, {field: made(most + 1)}))


def test_the_meaning_of_hidden_has_the_limits_of_the_card():
    text = f"on the card 1 to {MAX_HIDDEN} layers of 1 to {MAX_WIDTH}."
    assert text in meanings(AgentConfig)["hidden"]


def test_an_algorithm_may_decide_more(monkeypatch):
    """By fields that the table of its design does not have."""
    more = replace(DQN, kernel=lambda agent: {"multipliers": agent.batch_size // 2})
    monkeypatch.setitem(ALGORITHMS, "dqn", more)
    assert kernel_of("dqn", run_of("dqn", {"batch_size": 12})).learner.multipliers == 6


@pytest.mark.parametrize("design", ["dqn", "ddpg"])
def test_the_kernel_has_the_agents_activation(design):
    """Its name differs from the run's, so that no comparison of names misses it."""
    for name in ("relu", "tanh"):
        assert (
            kernel_of(design, run_of(design, {"activation": name})).learner.hidden_activation
            == name
        )
