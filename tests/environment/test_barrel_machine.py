"""The barrel machine against its twin, and its clocks."""

import numpy as np
import pytest
from environment.machine_courses import Course, random_image, run, whole_image
from environment.task_cases import SHIPPED, Noisy, words_of
from environment.test_task_twin import actions_of

import bench.machine
from bench.area_fit import mapped_units
from hw.environment.machine import Machine
from hw.environment.machine_image import image_of
from hw.environment.machine_ports import MachineConfig
from hw.environment.task import trace
from hw.environment.task_program import CONSTANT, Opcode, assemble, encode
from hw.environment.tasks.cartpole import CartPole
from hw.environment.tasks.mountain_car import MountainCar
from hw.environment.tasks.pendulum import Pendulum

#: Parts of a long test, which differ in their random numbers.
PARTS = range(4)


def machine(count):
    return Machine(MachineConfig(environments=count))


def random_actions(rng, task, count):
    """Words of random actions [count, actions]."""
    return actions_of(task, rng, count)[1].T


def play(course, task, rng, steps):
    """Random actions; an episode that ends begins anew. Returns how many ended."""
    ended = 0
    for _ in range(steps):
        items = course.step(random_actions(rng, task, course.count))
        over = items.terminated | items.truncated
        ended += over.sum()
        if over.any():
            course.begin(over)
    return ended


def loaded(count, kind, limit, seed=0):
    """A Course that has begun, and the task."""
    task, course = kind(), Course(count, seed)
    course.load(image_of(assemble(trace(task)), limit))
    course.begin()
    return course, task


def shipped(count, steps):
    """All shipped tasks, one after the other in one machine; ``steps`` for each."""
    rng, course, ended = np.random.default_rng(count), Course(count), 0
    for number, kind in enumerate(SHIPPED, 5):
        task = kind()
        course.load(image_of(assemble(trace(task)), 6))
        course.begin()
        course.ignored(number)
        ended += play(course, task, rng, steps)
        course.save()
    assert ended >= 3 * count * (steps // 6)
    return course.as_dict()


def test_the_shipped_tasks_one_after_the_other(simulate, tmp_path):
    run(simulate, machine(8), tmp_path, [shipped(8, 8)], gaps=[(0.3, 0.3)])


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 8, 64])
@pytest.mark.parametrize("gaps", [(0, 0), (0.6, 0), (0, 0.6), (0.9, 0.9)])
def test_the_shipped_tasks_at_every_pace(simulate, tmp_path, count, gaps):
    run(simulate, machine(count), tmp_path, [shipped(count, 30)], gaps=[gaps])


def random_programs(count, sizes, rounds):
    """Courses of random programs, of ``sizes`` instructions in STEP and RESET."""
    rng, courses = np.random.default_rng(count), []
    for step, reset in sizes:
        course = Course(count, step)
        course.load(random_image(rng, step, reset))
        course.restore(words_of(rng, count, 32))
        for _ in range(rounds):
            course.step(words_of(rng, count, 2))
            course.save()
            course.begin(rng.random(count) < 0.5)
            course.save()
        courses.append(course.as_dict())
    return courses


@pytest.mark.parametrize("count", [1, 8, 11])
def test_random_programs(simulate, tmp_path, count):
    """Registers, constants and words up to the last ones; short ones often clip nothing."""
    sizes = {1: [(1, 255)], 8: [(255, 1), (2, 1), (1, 2)], 11: [(40, 60), (1, 1)]}[count]
    run(simulate, machine(count), tmp_path, random_programs(count, sizes, 2), gaps=[(0.3, 0.3)])


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 33, 63, 64])
def test_many_random_programs(simulate, tmp_path, count):
    rng = np.random.default_rng(1000 + count)
    sizes = [(int(step), 256 - int(step)) for step in rng.integers(1, 256, 6)]
    courses = random_programs(count, sizes, 2)
    run(simulate, machine(count), tmp_path, courses, gaps=[(0.5, 0), (0.3, 0.3)])


def test_a_flag_is_0_when_a_function_starts(simulate, tmp_path):
    """And 1 from the instruction after LESS on, until the function ends."""
    less = encode(Opcode.LESS, None, CONSTANT, CONSTANT | 1)
    choices = [encode(Opcode.SELECT, place, CONSTANT, CONSTANT | 1) for place in range(3)]
    sent = [encode(Opcode.ADD, None, place, place) for place in (1, 2)]
    image = whole_image([less, choices[0]], [choices[1], less, choices[2]], sent, sent, range(3),
                        [-5, 7])  # fmt: skip
    course = Course(9)
    course.load(image)
    for _ in range(2):
        course.begin()
        course.step(np.zeros((9, 2), np.int64))
        assert course.save().tolist() == [[-5, 7, -5]] * 9
    run(simulate, machine(9), tmp_path, [course.as_dict()], gaps=[(0, 0)])


def test_flags_stay_with_their_environments_while_a_random_word_is_awaited(simulate, tmp_path):
    rng = np.random.default_rng(0)
    step = [
        encode(Opcode.LESS, None, 31, 5),
        encode(Opcode.RANDOM, 1, 0, 0),
        encode(Opcode.SELECT, 0, CONSTANT, CONSTANT | 1),
    ]
    sent = [encode(Opcode.ADD, None, place, place) for place in (0, 1)]
    course = Course(8)
    course.load(whole_image(step, step, sent, sent, range(2), [-5, 7]))
    for _ in range(4):
        actions = words_of(rng, 8, 2)
        items = course.step(actions)
        assert (items.word[:, 0] == np.where(actions[:, 0] < actions[:, 1], -5, 7)).all()
    run(simulate, machine(8), tmp_path, [course.as_dict()], gaps=[(0.6, 0)])


@pytest.mark.parametrize("count", [3, 9])
def test_clocks(simulate, tmp_path, count):
    """Exactly as declared, for every command and any mask."""
    course, task = loaded(count, Pendulum, 200)
    course.begin(np.arange(count) == 1)
    course.begin(np.zeros(count, bool))
    play(course, task, np.random.default_rng(0), 2)
    course.restore(course.save())
    course.load(random_image(np.random.default_rng(0), 10, 1))
    course.restore(np.zeros((count, 32), np.int64))
    course.begin()
    course.step(np.zeros((count, 2), np.int64))
    course.save()
    run(simulate, machine(count), tmp_path, [course.as_dict()], gaps=[], paces=course.paces)


def test_a_reset_in_the_middle(simulate, tmp_path):
    """In every phase of a command; then another task, from its LOAD on."""
    courses = []
    for cut in (40, 250, 302, 309, 330, 500, 610, 625, 629, 632):
        course, task = loaded(8, MountainCar, 9)
        course.step(np.zeros((8, 1), np.int64))
        courses.append(course.as_dict(cut=cut))
    course, task = loaded(8, CartPole, 4)
    play(course, task, np.random.default_rng(1), 5)
    run(simulate, machine(8), tmp_path, [*courses, course.as_dict()], gaps=[(0, 0)])


def test_a_restored_machine_goes_on_to_the_bit(simulate, tmp_path):
    """Saved in the middle of episodes; restored where other programs have left other registers."""
    rng = np.random.default_rng(5)
    first, task = loaded(8, Noisy, 20)
    for _ in range(3):
        first.step(random_actions(rng, task, 8))
    saved, generator = first.save(), first.twin.generator.copy()
    begun = len(first.words["items"])
    second = Course(8)
    second.load(random_image(rng, 3, 3))
    second.restore(words_of(rng, 8, 32))
    second.load(image_of(assemble(trace(task)), 20))
    second.restore(saved)
    second.go_on_from(generator)
    for step in range(4, 22):
        actions = random_actions(rng, task, 8)
        over = [each.step(actions).truncated for each in (first, second)]
        assert over[0].tolist() == over[1].tolist() == [step >= 20] * 8
    assert second.words["items"] == first.words["items"][begun:]
    run(simulate, machine(8), tmp_path, [first.as_dict(), second.as_dict()], gaps=[(0, 0.3)])


def test_an_unseen_size_is_estimated():
    """Taken down once; no row was fitted to it."""
    found = Machine.estimate(MachineConfig(environments=24)).ecp5
    assert found[0] == pytest.approx(1015, rel=0.06) and found[1] == pytest.approx(1047, rel=0.02)
    assert found[2:] == (2.5, 0, 4)


@pytest.mark.long
@pytest.mark.parametrize("family, tolerance", [("ecp5", 0.06), ("xcup", 0.25)])
def test_estimates_are_those_of_yosys(family, tolerance):
    """On UltraScale+ yosys makes enables of lookup tables for some sizes, and not for others."""
    counts = (3, 8, 24)
    units = {f"machine_{count}": machine(count) for count in counts}
    mapped = mapped_units(units, family, "environment_units")
    for count, found in zip(counts, mapped.values(), strict=True):
        need = Machine.estimate(MachineConfig(environments=count)).of(family)
        assert need.lut == pytest.approx(found["lut"], rel=tolerance), count
        assert need.ff == pytest.approx(found["ff"], rel=0.02), count
        assert (need.bram36, need.uram, need.dsp) == (found["bram36"], 0, 4), count


@pytest.mark.long
def test_the_limits_on_an_ecp5():
    """One with 8 environments, as a whole, routed by itself."""
    rows = {row["metric"]: row for row in bench.machine.rows(area=True)
            if row["case"] == "8 environments, ECP5"}  # fmt: skip
    for name in bench.machine.LIMITS:
        assert rows[name]["value"] <= rows[name]["reference_value"], name
    assert rows["ecp5_fmax_mhz"]["value"] >= bench.machine.MHZ


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", SHIPPED)
def test_a_hundred_thousand_steps(simulate, tmp_path, kind, part):
    """All tasks and parts together, with stalls."""
    count, steps = 8, 1050
    assert len(SHIPPED) * len(PARTS) * count * steps >= 100_000
    course, task = loaded(count, kind, kind.limit, seed=part)
    play(course, task, np.random.default_rng(part), steps)
    course.save()
    run(simulate, machine(count), tmp_path, [course.as_dict()], gaps=[(0.2, 0.2)])
