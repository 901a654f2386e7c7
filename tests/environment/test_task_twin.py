"""The twin's programs against the operations of the trace in NumPy, and its generators against
NumPy's."""

import hashlib

import numpy as np
import pytest
from environment.task_cases import CASES, CORNERS, SHIPPED, Odd, witness, words_of

from hw.arith.fixed import SQ
from hw.environment.task import Task, trace
from hw.environment.task_program import INSTRUCTION, Opcode, assemble, encode
from hw.environment.tasks.pendulum import Pendulum
from sim.model.environment.twin import BLOCK, Environments, seeded

#: sha256 of 300 steps of 100 environments of each task, the same on any machine
DIGESTS = {
    "CartPole": "1438d162b1ccc67118fdb322239e1925d2b999976ea506a2bfe315bd72884357",
    "MountainCar": "aacd8d06f8757e9c6a4924f0c5a0bc4851573f4dbd909b62ecfab1da08634ed0",
    "Pendulum": "33a226dc4c5e1c956001a69aefee6358b78284cd444a56e250cac98863ae8716",
}


def made(kind, count, limit=None):
    """A task, its trace, and ``count`` environments, not reset."""
    task = kind()
    traced = trace(task)
    environments = Environments(assemble(traced), limit or task.limit, task.actions, count)
    environments.generator[:] = seeded(range(100, 100 + count))
    return task, traced, environments


def actions_of(task, rng, count):
    """Actions for the twin, some of them at or beyond their bounds, and their words."""
    if isinstance(task.actions, int):
        actions = rng.integers(task.actions, size=count)
        return actions, actions[None] << trace(task).action_fractions[0]
    low, high = np.array(list(task.actions.values())).T
    actions = rng.uniform(low - 0.5, high + 0.5, (count, len(low))).astype(np.float32)
    fractions = np.array(trace(task).action_fractions)
    scaled = np.clip(actions.astype(np.float64), low, high) * 2.0**fractions
    return actions, np.floor(scaled + 0.5).astype(np.int64).T


@pytest.mark.parametrize("kind", CASES)
def test_a_step_is_the_operations(kind):
    """Any words at all, products that are clipped among them."""
    rng, count = np.random.default_rng(0), 5_000
    task, traced, environments = made(kind, count)
    state = words_of(rng, len(task.formats), count)
    actions, words = actions_of(task, rng, count)
    environments.state[:] = state
    seen, reward, terminated, truncated, _, _ = environments.step(actions, autoreset=False)
    step = traced.step
    numbers = [np.random.SFC64(seed).random_raw(2) for seed in range(100, 100 + count)]
    random = (np.array(numbers) & 0xFFFFFFFF).astype(np.uint32).view(np.int32).T
    values = witness(step, state, words, random)
    for got, each in zip(environments.state, step.state, strict=True):
        np.testing.assert_array_equal(got, values[each.index])
    np.testing.assert_array_equal(reward, np.ldexp(values[step.reward.index] * np.ones(count),
                                                   -step.reward.fraction))  # fmt: skip
    np.testing.assert_array_equal(terminated, values[step.terminated.index] * np.ones(count))
    assert not truncated.any()
    for got, each in zip(seen.T, step.observation, strict=True):
        wanted = np.ldexp(values[each.index] * np.ones(count), -each.fraction)
        np.testing.assert_array_equal(got, wanted.astype(np.float32))


@pytest.mark.parametrize("kind", CASES)
def test_a_reset_is_the_operations_of_numpys_numbers(kind):
    task, traced, environments = made(kind, 130)
    seen = environments.reset()
    draws = sum(each.name == "RANDOM" for each in traced.reset.trace.operations)
    raw = [np.random.SFC64(seed).random_raw(2 * draws + 1) for seed in range(100, 230)]
    random = (np.array(raw) & 0xFFFFFFFF).astype(np.uint32).view(np.int32).T
    for begin in (0, draws):  # the second episode goes on with the numbers
        values = witness(traced.reset, random=random[begin : begin + draws])
        for got, each in zip(environments.state, traced.reset.state, strict=True):
            np.testing.assert_array_equal(got, values[each.index])
        for got, each in zip(seen.T, traced.reset.observation, strict=True):
            wanted = np.ldexp(values[each.index] * np.ones(130), -each.fraction)
            np.testing.assert_array_equal(got, wanted.astype(np.float32))
        seen = environments.reset()


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_environments_do_not_see_each_other(count):
    """Each is as by itself, over episodes that end at different steps, and at the limit."""
    rng = np.random.default_rng(1)
    task, _, together = made(Odd, count)
    alone = [made(Odd, 1)[2] for _ in range(min(count, 5))]
    begun = together.reset()
    for i, each in enumerate(alone):
        each.generator[:] = seeded([100 + i])
        np.testing.assert_array_equal(each.reset()[0], begun[i])
    ends, cuts = 0, 0
    for _ in range(40):
        actions, _ = actions_of(task, rng, count)
        got = together.step(actions)
        ends, cuts = ends + got[5], cuts + got[3].sum()
        assert got[5] == (got[2] | got[3]).sum()
        for i, each in enumerate(alone):
            one = each.step(actions[i : i + 1])
            for mine, theirs in zip(one[:4], got[:4], strict=True):
                np.testing.assert_array_equal(mine[0], theirs[i])
            if one[5]:
                np.testing.assert_array_equal(one[4][0], got[4][i])
    assert ends >= cuts > 0


def test_without_autoreset_an_environment_waits_for_a_reset():
    task, _, environments = made(Odd, 3)
    environments.reset()
    for step in range(1, 9):
        truncated = environments.step(np.zeros((3, 2), np.float32), autoreset=False)[3]
        assert truncated.all() == (step >= task.limit) and (environments.length == step).all()
    kept = environments.state[:, [0, 2]].copy()
    environments.reset([1])
    assert environments.length.tolist() == [8, 0, 8]
    np.testing.assert_array_equal(environments.state[:, [0, 2]], kept)


def digest(kind):
    """sha256 of everything that 300 steps of 100 environments give."""
    rng = np.random.Generator(np.random.SFC64(7))
    task, _, environments = made(kind, 100)
    sha = hashlib.sha256(environments.reset().tobytes())
    for _ in range(300):
        draws = rng.bit_generator.random_raw(100)
        if isinstance(task.actions, int):
            actions = (draws % np.uint64(task.actions)).astype(np.int64)
        else:
            actions = (((draws >> np.uint64(40)).astype(np.float32) / 2**22) - 2)[:, None]
        for each in environments.step(actions)[:4]:
            sha.update(each.tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize("kind", SHIPPED)
def test_equal_seeds_give_the_bytes_that_they_gave(kind):
    assert digest(kind) == DIGESTS[kind.__name__]


@pytest.mark.parametrize("kind", SHIPPED)
def test_actions_are_checked_before_anything_changes(kind):
    task, _, environments = made(kind, 3)
    environments.reset()
    before = environments.state.copy()
    if isinstance(task.actions, int):
        bad, rule = [np.array([0, 1, task.actions]), np.array([0, 1, -1])], "in 0"
    else:
        bad, rule = [np.array([[0], [1], [np.nan]], np.float32)], "numbers"
    for actions in bad:
        with pytest.raises(ValueError, match=f"actions must be {rule}.* of environment 2"):
            environments.step(actions)
    np.testing.assert_array_equal(environments.state, before)


class Most(Task):
    """The most actions and the longest episode."""

    formats = dict(x=SQ(20, 12))
    actions = 1 << 16
    observation = dict(x=(-524_288.0, 524_287.0))
    limit = (1 << 31) - 1

    def reset(self, random):
        return [0.0]

    def step(self, state, action, random):
        return [action * 1.0], action * -1.0, action > 65_534.5


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64, np.uint64])
def test_the_most_actions_and_the_longest_episode(dtype):
    """Integers of every kind are actions."""
    *_, environments = made(Most, 3)
    environments.length[:] = Most.limit - 2
    actions = np.array([0, 65_534, 65_535], dtype)
    _, reward, terminated, truncated, final, _ = environments.step(actions)
    assert reward.tolist() == [0, -65_534, -65_535] and final[2, 0] == 65_535
    assert terminated.tolist() == [False, False, True] and not truncated.any()
    assert environments.step(actions)[3].tolist() == [True, True, False]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_real_numbers_of_every_kind_are_actions(dtype):
    """To the bit."""
    torques = np.array([[1], [-2], [0.5]], dtype)
    found = [made(Pendulum, 3)[2].step(each) for each in (torques, torques.astype(np.float64))]
    for got, expected in zip(*(each[:4] for each in found), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_words_have_their_fields_where_the_layout_has_them():
    word = encode(Opcode.SUB, 5, 256 | 200, 31, 29)
    fields = INSTRUCTION.from_bits(word)
    assert [int(getattr(fields, name)) for name in ("opcode", "destination", "a", "b")] == [
        2, 5, 456, 31
    ]  # fmt: skip
    assert int(fields.shift) == 5 and int(fields.write) == 1 and INSTRUCTION.size == 36
    assert encode(Opcode.LESS, None, 1, 2) >> INSTRUCTION["write"].offset == 0
    assert CORNERS.size == 9
