"""What fits a board: the default configs, and the words where a config does not."""

import ast

import pytest
from learner.modelled import kernel_config, learner

import boards
from host.kernels import configure
from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.estimate import exceeded, fits
from hw.learner.estimate import estimate, suggest


@pytest.mark.parametrize(
    "board, name, unroll",
    [
        ("u200", "dqn", (2, 32, 8)),
        ("u200", "ddpg", (2, 24, 4)),
        ("u50", "dqn", (2, 32, 8)),
        ("u50", "ddpg", (1, 32, 8)),
        ("zcu106", "dqn", (1, 16, 4)),
        ("zcu106", "ddpg", (1, 4, 1)),
    ],
)
def test_defaults_fit(board, name, unroll):
    """Also if the estimate is a tenth too low."""
    design, numbers = DESIGNS[name], boards.get(board).numbers
    config = configure(design, boards.get(board), {})
    found, learner = estimate(config), config.learner
    for resource in ("lut", "ff", "bram36", "dsp"):
        assert getattr(found, resource) <= 0.9 * numbers[resource]
    assert found.uram <= numbers["uram"]
    assert learner.algorithm == name and learner.arithmetic == Arithmetic()
    assert config.engine.data_width == numbers["data_width"]
    assert (learner.lanes, learner.multipliers, learner.update_units) == unroll


@pytest.mark.parametrize(
    "board, name, values, message",
    [
        (
            "ulx3s",
            "dqn",
            {},
            r"lut must be at most 67713 on ULX3S-85F .*, not \d+; "
            "update_units 0, loss_unit program, batch 8, hidden 8,8, kind fixed, "
            "optimizer sgd fits$",
        ),
        ("ulx3s", "ddpg", {}, r"lut must be at most 67713 on ULX3S-85F .*, not \d+; nothing"),
        ("zcu106", "dqn", {"hidden": (512, 512)}, r"bram36 .*; hidden \d+,\d+ fits"),
        ("zcu106", "dqn", {"multipliers": 32}, r"lut .*; multipliers 16 fits; .*; kind fixed fits"),
        ("zcu106", "dqn", {"words": (4, 8, 8, 2), "lanes": 2}, r"lut .* not \d+; kind fixed fits$"),
        ("u200", "dqn", {"hidden": (512, 512, 512)}, r".*; hidden \d+,\d+,\d+ fits"),
        ("u50", "ddpg", {"lanes": 8}, r"lut .*; lanes \d fits; .*; kind fixed fits"),
        ("u50", "dqn", {"capacity": 1 << 24}, r"uram must be .*; capacity \d+ fits"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(board, name, values, message):
    with pytest.raises(boards.DoesNotFit, match=f"^({message})"):
        configure(DESIGNS[name], boards.get(board), values)


#: A DQN for an ULX3S, near the end of its multipliers.
_ULX3S = dict(
    kind="fixed",
    hidden=(16,),
    batch=2,
    capacity=256,
    words=(1, 3, 1),
    double=False,
    optimizer="sgd",
)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({}, None),
        ({"words": (1, 4, 1)}, "dsp must be at most 132 on ULX3S-85F .*, not 133"),
        ({"kind": "float32", "words": (1, 1, 1)}, "dsp must be at most 132 on ULX3S-85F"),
        ({"words": (2, 8, 2)}, "lut must be at most 67713 on ULX3S-85F"),
        ({"hidden": (64, 64), "words": (1, 1, 1, 1)}, "bram36 must be at most 19 on ULX3S-85F"),
    ],
)
def test_an_ulx3s_judges_by_its_own_counts(changes, message):
    """Each limit that a learner can exceed there, and a kernel within all."""
    board, values = boards.get("ulx3s"), _ULX3S | changes
    if message:
        with pytest.raises(boards.DoesNotFit, match=f"^{message}"):
            configure(DESIGNS["dqn"], board, values)
    else:
        found = estimate(configure(DESIGNS["dqn"], board, values))
        assert not boards.unknown(board, found)
        assert boards.needs(board, found)["dsp"] > 0.9 * board.usable.dsp


def test_the_default_dqn_of_an_ulx3s():
    """With the memory and all that is around it, it takes 85 % of the part at most."""
    board, design = boards.get("ulx3s", "dqn"), DESIGNS["dqn"]
    config = configure(design, board, {})
    need, found = boards.needs(board, estimate(config)), config.learner
    for name, total in board.total.to_dict().items():
        around = total - getattr(board.regions[0], name)
        assert need[name] + around <= 0.85 * total, name
    assert (found.hidden, found.update_units, found.loss_unit) == ((32, 32), 0, "program")
    count, size = design.storage(config)
    assert count * size == board.largest_bank.size == 96 << 10
    # With an optimizer a layer it is near the end of the multipliers, and with a pipeline beyond.
    message = "dsp must be at most 132 .*, not 143; update_units 0 fits; optimizer sgd fits"
    with pytest.raises(boards.DoesNotFit, match=message):
        configure(design, board, {"update_units": 1})
    dear = {"update_units": 1, "hidden_activation": "relu", "loss_unit": "pipeline"}
    message = "dsp must be .*, not 133; update_units 0 fits; loss_unit program fits; hidden 16,16"
    with pytest.raises(boards.DoesNotFit, match=message):
        configure(design, board, dear)


def test_what_is_suggested_fits():
    """Each text is a change that holds by itself, and twice its value does not."""
    config = learner(kernel_config("dqn", hidden=(64, 64)), multipliers=64, lanes=4)
    numbers = {"bram36": 500, "dsp": 1400, "lut": None}
    texts = suggest(config, lambda other: fits(estimate(other), numbers))
    assert {text.split()[0] for text in texts} == {"lanes", "multipliers", "hidden"}
    for text in texts:
        name, value = text.split(" ", 1)
        value = ast.literal_eval(value)
        assert fits(estimate(learner(config, **{name: value})), numbers)
        twice = tuple(2 * x for x in value) if name == "hidden" else 2 * value
        found = estimate(learner(config, **{name: twice})).resources
        assert {name for name, _, _ in exceeded(found, numbers)} >= {"dsp"}


def test_several_changes_together():
    config = learner(kernel_config("ddpg", hidden=(64, 64)), multipliers=32, lanes=4)
    numbers = {"dsp": 300}
    (text,) = suggest(config, lambda other: fits(estimate(other), numbers))
    assert text.count(", ") >= 5 and "lanes 1" in text and "kind fixed" in text
    assert suggest(config, lambda other: fits(estimate(other), {"dsp": 1})) == []
