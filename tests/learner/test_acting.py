"""ACT of the kernels: what the twin's forward pass gives, and nothing else is touched by it."""

import numpy as np
import pytest
from faults import assert_same, failed, shell_of
from learner.core_programs import without_clocks
from learner.fault_courses import NARROW, REAL, WIDE, Lesson
from learner.learning import experiences, parameters, steps, without_cycles
from learner.test_kernel import CASES, LONG, config_of
from replay.kernels import opened

from host.learner.learning_replay import LearningReplay
from hw.learner.records import action_granules
from sim.card.memory import MemoryConfig

BATCH = 8
#: Observations of the calls: one, an odd number, a batch, more than two commands take.
COUNTS = (1, 3, 16, 37)


def course(card, config, acting=True, **options):
    """Gradient steps, before each of which observations are acted on, or not: ``(actions, what the
    host can see of the learner)``."""
    learner, rng, seen = config.learner, np.random.default_rng(3), np.random.default_rng(4)
    actions, reports = [], []
    with opened(card, config, **options) as kernel:
        buffer = LearningReplay(kernel, capacity=config.replay.capacity, seed=3)
        buffer.initialize(parameters(learner, rng))
        buffer.add(**experiences(learner, rng, config.replay.capacity // 2))
        for call, count in enumerate(COUNTS):
            if acting:
                # At last such as no fixed-point number holds: they are clipped, and not counted.
                scale = 1000 if call == len(COUNTS) - 1 else 1
                actions.append(buffer.act(scale * seen.normal(size=(count, learner.observation))))
            learned = buffer.learn(steps(1 + call % 2, BATCH), batch_size=BATCH)
            reports.append(without_cycles(learned.reports).tobytes())
        seen_of_it = {
            "reports": reports,
            "random": buffer.status["state"].tolist(),
            "iterations": int(buffer.status["iterations"]),
            "priorities": buffer.priorities().tolist(),
            "parameters": [
                part.tobytes()
                for layers in buffer.store().values()
                for layer in layers
                for pair in layer.values()
                for part in pair
            ],
        }
        return actions, seen_of_it


def check(case, stall=0.0):
    config = config_of(*case)
    memory = MemoryConfig(stall=stall, seed=2)
    actions, learned = course("sim", config, memory=memory)
    expected, _ = course("model", config)
    for got, wanted, count in zip(actions, expected, COUNTS, strict=True):
        assert got.shape == (count, config.learner.action)
        assert got.tobytes() == wanted.tobytes(), f"{count} observations"
    assert np.abs(actions[0]).max() > 0.001
    assert learned == course("sim", config, acting=False)[1]


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c[:4])))
def test_actions_are_the_twins_and_leave_nothing(case):
    check(case, stall=0.2)


@pytest.mark.long
@pytest.mark.parametrize("case", LONG, ids=lambda c: "-".join(map(str, c[:4])))
def test_all_actions_are_the_twins_and_leave_nothing(case):
    check(case)


def act(lesson, rows):
    program = lesson.program()
    lesson.source.act(program, rows)
    return program.launch()


@pytest.mark.parametrize(
    "config",
    [pytest.param(WIDE, marks=pytest.mark.long), NARROW, REAL],
    ids=["wide", "narrow", "real"],
)
def test_a_memory_that_fails(config):
    """ACT ends with AXI, has written nothing where it could not read, and leaves nothing."""
    lesson = Lesson(config)
    after, reports = lesson.after()
    course = lesson.course(lesson.before(), act(lesson, 11), act(lesson, 5), after)
    *_, expected = course.twin(lesson.before(), after)
    expected = without_clocks(expected, reports)
    healthy = course.run()
    size = 5 * action_granules(config.learner) * 16
    first = 64 // config.engine.beat_bytes  # the program
    reads = course.answers(1, "host", "R")
    writes = course.answers(1, "host", "B") - 1  # and the status
    assert reads > first and writes >= 1
    for channel, numbers in (("R", range(first, reads)), ("B", range(writes))):
        for number in numbers:
            label = channel, number
            outputs = course.fail(1, "host", channel, number)
            failed(outputs[1], 0, label)
            if channel == "R":
                assert (outputs[1]["results"] == healthy[0]["results"]).all(), label
            assert not shell_of(outputs[2])["error"], label
            assert_same(
                {"results": outputs[2]["results"][:size]},
                {"results": healthy[2]["results"][:size]},
                label,
            )
            assert_same(without_clocks(outputs[3], reports), expected, label)
