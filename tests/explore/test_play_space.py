"""`rlfabric explore` for a kernel that plays: a period of PLAY is made fast."""

import pytest
from explore.test_explore import FEW, search

import boards
from host.explore.explore_view import show
from host.explore.verification import measure
from host.kernels.exploration_file import exploration, hint
from hw.config import with_values
from hw.environment.machine_image import image_of
from hw.environment.task import trace
from hw.environment.task_program import assemble
from hw.environment.tasks.cartpole import CartPole
from hw.errors import UsageError
from hw.learner.play.play_clocks import lesson_clocks, vector_step_clocks

IMAGE = image_of(assemble(trace(CartPole())), CartPole.limit)


def played(environments, **values):
    """An Exploration of kernels with so many environments for a U200."""
    fields = FEW | {"learner.arithmetic.kind": ("fixed",), "replay.fanout": (4,)}
    values |= {"play.environments": environments, "learner.arithmetic.kind": "fixed"}
    return search("dqn", fields=fields, values=values)


def test_the_clocks_are_of_a_period():
    """Vector steps of at most 32 environment steps, but at least one, and an iteration."""
    found, step = played(8), vector_step_clocks
    for point in found.points:
        config = point.config
        parts = {
            "play": 4 * step(config, IMAGE, 16),
            "learn": lesson_clocks(config, found.batch, 1),
        }
        assert found.space.parts(config, found.batch) == parts
        assert point.clocks == sum(parts.values())
    for count, steps in ((12, 2), (33, 1), (64, 1)):
        many = with_values(found.choice.config, {"play.environments": count})
        assert found.space.parts(many, found.batch)["play"] == steps * step(many, IMAGE, 16)


def test_other_sizes_are_timed_with_cartpole():
    found = played(8, **{"learner.observation": 6, "learner.action": 3})
    config = found.choice.config
    assert found.space.parts(config, 32)["play"] == 4 * vector_step_clocks(config, IMAGE, 16)


def test_a_kernel_that_does_not_play_is_chosen_as_before():
    """Its operation is an iteration of LEARN; acting does not weigh the same in all configs."""
    found, before = played(8), played(0)
    assert "iteration of LEARN" in before.space.operation and not before.space.parts(None, 0)
    both = zip(found.points, before.points, strict=True)
    assert len({one.clocks - other.clocks for one, other in both}) > 1


def test_nothing_measures_it():
    config = played(8).choice.config
    with pytest.raises(UsageError, match="play.environments must be 0 to measure an operation"):
        measure("dqn", "u200", ".", config, 32)


def test_what_the_file_and_the_table_say_of_a_kernel_that_plays(capsys):
    values = {"play.environments": 8, "lanes": 1, "kind": "fixed", "update_units": 0,
              "loss_unit": "program", "fanout": 4, "learner.multipliers": 1}  # fmt: skip
    found, document = exploration("dqn", "ulx3s", values=values)
    parts = document["choice"]["parts"]
    assert document["operation"].startswith("period of PLAY, 32 environment steps and an iteration")
    assert sum(parts.values()) == document["choice"]["clocks"] and min(parts.values()) > 10_000
    show(found, document, boards.get("ulx3s", "dqn"))
    row = next(
        line for line in capsys.readouterr().out.splitlines() if str(found.choice.clocks) in line
    )
    assert [part.strip() for part in row.split("│")][2:4] == [str(n) for n in parts.values()]


def test_the_hint_of_a_kernel_that_plays():
    """`rlfabric verilog` names the operation that it compares."""
    values = {"play.environments": 8, "update_units": 1}
    assert hint("dqn", "u200", values).startswith("dqn: period of PLAY, 32 environment steps and")
