"""RunConfig and Training.fields: one table of a run's fields and its kernel's, both ways."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from legal_configs import legal_config

from host.algorithms.activation import ACTIVATIONS
from host.algorithms.config import AgentConfig
from host.algorithms.dqn import DQN
from host.algorithms.registry import ALGORITHMS
from host.collect.spec import Spec
from host.commands.meanings import meanings
from host.settings import leaves, override
from host.train.preset import preset
from hw.config import value_of, with_values
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.learner.block.layer_config import MAX_WIDTH
from hw.learner.config import MAX_HIDDEN
from hw.nn.optimizer_config import OPTIMIZERS

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
_WIDTHS = st.integers(1, 496)
_CODES = st.sampled_from((8, 16, 32))
#: Legal values of a run's field, on every kernel.
VALUES = {
    "capacity": st.integers(64, 1 << 20),
    "hidden": st.lists(_WIDTHS, min_size=1, max_size=2).map(tuple),
    "activation": st.sampled_from(list(ACTIVATIONS)),
    "optimizer": st.sampled_from(OPTIMIZERS),
    "batch_size": st.integers(1, 32),
    "double": st.booleans(),
    "convolutions": st.sampled_from(((), ((8, 1, 1),))),
    "steps_per_launch": st.integers(2, 128),
    "code_width": _CODES,
    "result_width": _CODES,
}


def run_of(design, values):
    """The run with ``values`` on a kernel of ``design``."""
    algorithm, learner = RUNS[design]
    config = preset(algorithm, learner, design=design if design == "fixar" else "own")
    others = {"gae": {"batch_size": 8}, "a3c": {}}.get(design, {"learning_starts": 0})
    if "learning_starts" in others:  # the least that is legal
        others["learning_starts"] = values.get("batch_size", config.agent.batch_size)
    return override(config, others | values)


def kernel_of(design, run):
    """The config of its kernel, with errors as ``train`` has them."""
    values = run.kernel_values(POLE)
    return override(DESIGNS[design].config_type(), values, called=run.run_names)


def table(design):
    return DESIGNS[design].training.fields


@pytest.mark.parametrize("design", RUNS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_run_comes_back_from_its_kernel(design, data):
    values = {each.run: data.draw(VALUES[each.run]) for each in table(design)}
    if design == "fixar":  # its kernel has relu alone
        values["activation"] = "relu"
    kernel = kernel_of(design, run_of(design, values))
    assert {each.run: each.of_kernel(kernel) for each in table(design)} == values


@pytest.mark.parametrize("design", RUNS)
def test_a_kernel_comes_back_from_its_run(design):
    """Fields with equal values; the others have room: test_training_that_a_readme_names."""
    seen = 0
    for seed in range(40):
        kernel, same = legal_config(design, seed), run_of(design, {}).run_names
        values = {run: value_of(kernel, name) for name, run in same.items()}
        try:
            run = run_of(design, values)
        except UsageError as error:  # a kernel may have more than any run asks for
            assert str(error).startswith(("activation must", "batch_size must", "capacity must"))
            continue
        found = run.decided(POLE)
        assert {name: found[name] for name in same} == {
            name: value_of(kernel, name) for name in same
        }
        seen += 1
    assert seen > 15


@pytest.mark.parametrize("design", RUNS)
def test_every_field_of_both_is_in_the_table(design):
    """A field of one name in run and kernel says one thing."""
    of_run = {name.rpartition(".")[2] for name, *_ in leaves(run_of(design, {}))}
    of_kernel = {name.rpartition(".")[2]: name for name, *_ in leaves(legal_config(design, 0))}
    wanted = {of_kernel[name] for name in of_run & of_kernel.keys()}
    assert wanted and wanted <= {each.kernel for each in table(design)}


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
