"""The twin of PLAY: the order of everything, against gymnasium, ``NStep``, NumPy and LEARN."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learner.play.played import (
    BATCH,
    CONFIG,
    FRESH,
    GOAL,
    GREEDY,
    LEARN,
    Played,
    playing,
    segments_of,
)

from host.environments.environment import Transitions
from host.environments.spec import Spec
from host.replay.nstep import NStep
from hw.environment.tasks.cartpole import CartPole
from hw.learner.commands import LearnOpcode
from hw.learner.config import PARAMETER_SETS
from hw.learner.play.commands import PlayOpcode
from hw.learner.play.episodes import EPISODE
from hw.learner.play.play_contract import SAVED, saved_words
from hw.learner.records import HYPERPARAMETERS, REPORT

NONE = (0, 0)
ALWAYS = dict(explore=(1 << 32) - 1, decrement=0, end=(1 << 32) - 1)


def begun(config=CONFIG, seed=7, **options):
    """Environments that have begun, and not stepped."""
    kernel = Played(config, seed=seed)
    kernel.core.stop = True
    assert kernel.play(1, LEARN | FRESH, **options) == NONE
    kernel.core.stop = False
    return kernel


class Seen:
    """The words of SAVE by name."""

    def __init__(self, kernel):
        words, at = kernel.save(), 0
        for name, count in saved_words(kernel.config).items():
            setattr(self, name, words[at : at + count])
            at += count
        count = kernel.config.play.environments
        self.saved = self.saved.view(SAVED.dtype)[0]
        self.observations = self.observations.view(np.float32).reshape(count, -1)
        self.windows, self.running = self.windows.reshape(count, -1), self.running.reshape(count, 3)
        self.returns = self.returns.view(np.int64)

    def last_actions(self):
        """Of the windows' newest step, [environments]; -1 without one."""
        newest = [(row[1:].reshape(-1, 6), int(row[0])) for row in self.windows]
        return np.array([int(rows[count - 1, 4]) if count else -1 for rows, count in newest])


def stored(kernel):
    """All experiences, in the order in which they came; the memory must not have been full."""
    record = kernel.core._record["experience"]
    ring, count = kernel.core.replay._ring, kernel.core.fill
    rows = kernel.storage[: count * ring.stride * 4].reshape(count, ring.stride * 4)
    return np.ascontiguousarray(rows[:, : record.itemsize]).view(record)[:, 0]


def kept(kernel):
    """The records of the ring of EPISODE, which have come."""
    size = kernel.config.engine.beat_bytes
    rows = kernel.results[: 16 * size].reshape(16, size)[:, :16].copy().view(EPISODE.dtype)[:, 0]
    return rows[rows["length"] > 0]


def test_against_gymnasium_and_nstep():
    """Steps of gymnasium's environment from what is shown, in float64, and its windows by the
    host's NStep: the same ends, and within binary32 the same experiences, in the same order."""
    kernel = begun(playing(capacity=200), settings=ALWAYS)
    envs = [gymnasium.make("CartPole-v1").unwrapped for _ in range(3)]
    for env in envs:
        env.reset()
    spec = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)
    windows = NStep(3, 3, int(0.9 * 2**31) / 2**31, spec, scale=0.25)
    returns, fill, no = [], 0, np.zeros(3, bool)
    seen, running = Seen(kernel), np.zeros(3, int)
    for step in range(50):
        assert kernel.play(1, LEARN, settings=ALWAYS | dict(iterations=0)) == NONE
        obs, seen = seen.observations, Seen(kernel)
        new = stored(kernel)[fill:]
        fill += len(new)
        ended = {int(r["environment"]): r for r in kept(kernel) if r["step"] == step}
        actions = seen.last_actions()
        for e in ended:  # its windows are closed
            actions[e] = next(r["action"] for r in new[::-1] if (r["obs"] == obs[e]).all())
        rows = []
        for e, env in enumerate(envs):
            env.state, env.steps_beyond_terminated = obs[e].astype(np.float64), None
            following, reward, terminated, *_ = env.step(actions[e])
            rows.append((following, reward, terminated))
            running[e] += 1
            if terminated:
                assert ended[e]["end"] == 1 and ended[e]["length"] == running[e]
                returns.append(running[e])
                running[e] = 0
            else:
                assert e not in ended
                np.testing.assert_allclose(seen.observations[e], following, atol=3e-7)
        following, reward, terminated = map(np.array, zip(*rows, strict=True))
        mine = windows.push(
            Transitions(obs, actions, reward, following, terminated, no, np.ones(3, bool))
        )
        assert len(mine) == len(new)
        for name in ("obs", "action", "next_obs", "reward", "discount"):
            np.testing.assert_allclose(new[name], mine[name], rtol=1e-6, atol=3e-7)
    assert len(returns) > 2 and kept(kernel)["total"].tolist() == returns


def test_random_numbers_by_numpy():
    """All that is random is NumPy's SFC64: first states, actions, and the resets between."""
    kernel, bits = begun(settings=ALWAYS), np.random.SFC64(7)
    first = bits.random_raw(12).astype(np.uint32).view(np.int32).reshape(4, 3).T
    np.testing.assert_allclose(Seen(kernel).observations, first * (0.05 / 2**31), atol=1e-8)
    for _ in range(60):
        before = kernel.status["episodes"]
        assert kernel.play(1, settings=ALWAYS | dict(iterations=0)) == NONE
        chosen = (bits.random_raw(3) >> np.uint64(32)).astype(np.int64) * 2 >> 32
        actions, ended = Seen(kernel).last_actions(), kernel.status["episodes"] - before
        assert ((actions == chosen) | (actions < 0)).all() and (actions < 0).sum() == ended
        bits.random_raw(4 * int(ended))
    assert before > 3
    np.testing.assert_array_equal(kernel.status["play_state"], bits.state["state"]["state"])


def test_greedy_actions_are_those_of_act():
    """And leave no epsilon; the numbers of exploration are drawn all the same."""
    kernel = begun()
    for _ in range(30):
        seen, before = Seen(kernel).observations, kernel.status["play_state"].copy()
        kernel.operands[:48] = seen.view(np.uint8).reshape(-1)
        assert kernel.run(LearnOpcode.ACT, count=3) == NONE
        values = kernel.results[:48].view(np.float32).reshape(3, 4)[:, :2]
        assert kernel.play(1, GREEDY) == NONE
        actions = Seen(kernel).last_actions()
        same = (actions == values.argmax(axis=1)) | (actions < 0)
        assert same.all() and kernel.status["explore"] == 0
        assert kernel.status["play_state"][3] >= before[3] + 3
    assert len(kept(kernel)) > 0 and not kernel.core.fill and not kernel.core.iterations


def test_epsilon_falls_in_a_line():
    """As a float's, to 2^-32 a step, and not below its end."""
    kernel, start, end, steps = begun(), 0.5, 0.05, 40
    decrement = round((start - end) / steps * 2**32)
    line = dict(explore=1 << 31, decrement=decrement, end=round(end * 2**32), iterations=0)
    for step in range(1, 60):
        now = dict(line, explore=int(kernel.status["explore"]) if step > 1 else 1 << 31)
        assert kernel.play(1, settings=now) == NONE
        wanted = max(start + (end - start) * step / steps, end)
        assert abs(kernel.status["explore"] / 2**32 - wanted) <= step / 2**32


def test_iterations_are_those_of_learn():
    """The same records, one by one, after the same vector steps; ``blend`` counts in the third."""
    kernel, other = begun(), begun()
    segments = segments_of(CONFIG, [2, 1, 3, 1], blend=0.5)
    assert kernel.play(8, segments=segments, settings=dict(period=8, iterations=5)) == NONE
    assert other.play(8, settings=dict(iterations=0)) == NONE
    steps = np.frombuffer(segments.tobytes(), HYPERPARAMETERS.dtype)[[0, 0, 1, 2, 2]].copy()
    steps["reserved"] = 0
    steps["blend"], steps["keep"] = 0, 1
    steps["blend"][2] = steps["keep"][2] = 0.5
    other.operands[: steps.nbytes] = steps.view(np.uint8)
    options = dict(batch=BATCH, stratum_width=1 << 48, alpha=1 << 14, epsilon=9)
    assert other.run(LearnOpcode.LEARN, count=5, destination=1 << 12, **options) == NONE
    assert kernel.state == other.state and kernel.status["iterations"] == 5
    begin = 16 * CONFIG.engine.beat_bytes
    reports = kernel.results[begin : begin + 5 * REPORT.size]
    assert reports.tobytes() == other.results[1 << 12 :][: 5 * REPORT.size].tobytes()
    assert reports.view(REPORT.dtype)["loss"].all()


def test_the_last_segment_serves_for_ever():
    """So does one with a ``repeat`` of 0, whatever follows it."""
    states = set()
    for repeats in ([3, 1], [3, 0], [3, 0, 1], [3, 8, 1]):
        kernel = begun()
        segments = segments_of(CONFIG, repeats)
        assert kernel.play(28, segments=segments) == NONE
        states.add(kernel.state)
    assert kernel.core.iterations == 12 and len(states) == 2  # [3, 8, 1] is served out


@pytest.mark.parametrize("parts", [[30] * 10, [1] * 12 + [288]])
def test_launches_are_one(parts):
    """Bytes of all that can be seen."""
    whole, cut = begun(), begun()
    assert whole.play(300) == NONE
    for part in parts:
        assert cut.play(part) == NONE
    assert whole.state == cut.state and whole.rings == cut.rings
    assert (whole.save() == cut.save()).all() and whole.core.iterations == 148


CONFIGS = {
    "one": playing(environments=1, longest=1),
    "five": playing(environments=5, longest=16, capacity=120),
    "adam, clipped": playing(environments=2, clip_norm=True, batch=8),
}


@given(st.data())
@settings(max_examples=12, deadline=None)
def test_any_cut_is_one(data):
    """Whatever the settings, and wherever a launch ends; and a task resumes to the bit on a machine
    that did something else meanwhile."""
    config = CONFIGS[data.draw(st.sampled_from([*CONFIGS]))]
    count = data.draw(st.integers(2, 40))
    cut = data.draw(st.integers(1, count - 1))
    own = dict(
        period=data.draw(st.integers(1, 5)), iterations=data.draw(st.integers(0, 3)),
        starts=data.draw(st.integers(0, 30)) + 16, target_interval=data.draw(st.integers(1, 4)),
        n=data.draw(st.integers(1, config.play.longest)), window=data.draw(st.integers(0, 7)),
        explore=data.draw(st.integers(0, (1 << 32) - 1)), end=0,
        discount=data.draw(st.integers(0, 1 << 31)), scale=data.draw(st.integers(0, (1 << 32) - 1)),
    )  # fmt: skip
    segments = segments_of(config, [data.draw(st.integers(0, 3)) for _ in range(3)])[-1:]
    whole, other = Played(config), Played(config)
    options = dict(segments=segments, batch=2, episodes=data.draw(st.sampled_from([0, 1, 4, 16])))
    assert whole.play(count, LEARN | FRESH, settings=own, **options) == NONE
    assert other.play(cut, LEARN | FRESH, settings=own, **options) == NONE
    words = other.save()
    status = other.status
    for flags in (GREEDY, FRESH):
        assert other.play(3, flags, settings=dict(n=1)) == NONE
    assert other.resume(words) == NONE and (other.save() == words).all()
    step, explore = int(status["step"]), int(status["explore"])
    goes_on = own | dict(step=step, explore=explore, phase=step % own["period"])
    goes_on |= dict(target_phase=int(status["iterations"]) % own["target_interval"])
    assert other.play(count - cut, LEARN, settings=goes_on, **options) == NONE
    assert (whole.save() == other.save()).all() and whole.state == other.state


def test_save_by_hand():
    """What its words are: episodes under way, open windows and returns."""
    kernel = begun(settings=ALWAYS | dict(window=1))
    assert kernel.play(60, settings=ALWAYS | dict(iterations=0, window=1)) == NONE
    seen, episodes = Seen(kernel), kept(kernel)
    saved, count = seen.saved, len(episodes)
    assert (saved["n"], saved["window"], saved["episodes"]) == (3, 1, count) and 3 < count < 16
    quantum = int(saved["total"]) / episodes["total"][-2:].sum()
    assert quantum == 2.0 ** round(np.log2(quantum))
    expected = np.zeros(128)
    expected[[count - 2, count - 1]] = episodes["total"][-2:] * quantum
    np.testing.assert_array_equal(seen.returns, expected)
    lengths = np.full(3, 60)
    for row in episodes:
        lengths[row["environment"]] -= row["length"]
    np.testing.assert_array_equal(seen.running[:, 2], lengths)
    np.testing.assert_array_equal(
        seen.running[:, 0] + (seen.running[:, 1].astype(np.int64) << 32), lengths * quantum
    )
    for e in range(3):
        assert seen.windows[e, 0] == min(lengths[e], 2)
        assert not seen.windows[e, 1 + 6 * int(seen.windows[e, 0]) :].any()
    states = seen.states.reshape(3, 32).view(np.int32)
    np.testing.assert_allclose(seen.observations, states[:, :4] / 2.0 ** np.array([28, 27, 30, 28]),
                               rtol=1e-6)  # fmt: skip
    assert (states[:, 4] == lengths - 500).all() and not states[:, 5:].any()


def looks(kernel, stops):
    """Sets the stop bit when it is looked at for the time ``stops`` from now."""

    class Stops(type(kernel.core)):
        seen = 0
        stop = property(lambda self: self._looked(), lambda self, value: None)

        def _looked(self):
            self.seen += 1
            return self.seen > stops

    kernel.core.__class__ = Stops


@pytest.mark.parametrize("total", [(1 << 54) - 1, -(1 << 54), 1 << 48])
def test_the_largest_sum_of_returns_is_resumed(total):
    """128 returns of 48 bits."""
    kernel = begun()
    words = kernel.save()
    words[: SAVED.size // 4].view(SAVED.dtype)["total"] = total
    assert kernel.resume(words) == NONE and kernel.status["returns"] == total


@pytest.mark.parametrize("steps", [0, 1, 3, 4, 8])
def test_the_stop_bit(steps):
    """Ends a PLAY within a vector step, whose iterations are done; no error."""
    kernel, other = begun(), begun()
    for each in (kernel, other):
        assert each.play(10) == NONE
    core = type(kernel.core)
    looks(kernel, steps)
    assert kernel.play(100) == NONE and kernel.status["step"] == 10 + steps
    kernel.core.__class__ = core
    if steps:
        assert other.play(steps) == NONE
    assert kernel.state == other.state
    assert kernel.play(20) == other.play(20) == NONE and kernel.state == other.state


def test_the_goal():
    """The sum of the last 2^window returns, when so many ended; not without its flag."""
    kernel, other = begun(), begun()
    assert other.play(200, settings=dict(goal=0)) == NONE and other.status["step"] == 200
    assert kernel.play(200, LEARN | GOAL, settings=dict(goal=1)) == NONE
    status = kernel.status
    assert status["episodes"] >= 4 and status["step"] < 200
    assert kernel.play(5, LEARN | GOAL, settings=dict(goal=int(status["returns"]))) == NONE
    assert kernel.status["step"] == status["step"]
    above = dict(goal=int(status["returns"]) + 1)
    assert kernel.play(1, LEARN | GOAL, settings=above) == NONE
    assert kernel.status["step"] == status["step"] + 1


def test_fresh_begins_all_anew():
    """Windows, episodes, environments, but not what was learned; with another n."""
    kernel = begun()
    assert kernel.play(50, settings=dict(iterations=0)) == NONE
    fill = kernel.core.fill
    assert kernel.play(2, LEARN | FRESH, settings=dict(n=4, iterations=0, window=0)) == NONE
    seen = Seen(kernel)
    assert (seen.running[:, 2] == 2).all() and (seen.windows[:, 0] == 2).all()
    assert seen.saved["n"] == 4 and kernel.status["episodes"] == 0 and kernel.core.fill == fill
    # Later settings do not count, and are checked.
    assert kernel.play(1, settings=dict(n=1, iterations=0, discount=0)) == NONE
    assert Seen(kernel).saved["n"] == 4 and (Seen(kernel).windows[:, 0] == 3).all()


def test_init():
    """The image of one set is as a LOAD of all with zeros, whatever was learned before."""
    kernel = begun()
    sections, before = (kernel.core.learner.store(sets) for sets in (("online",), PARAMETER_SETS))
    assert kernel.play(40) == NONE and (kernel.core.learner.store() != before).any()
    kernel.operands[1 << 12 :][: sections.nbytes] = sections.view(np.uint8)
    kernel.core.missing = 0b1111
    assert kernel.run(PlayOpcode.INIT, source=1 << 12) == NONE and kernel.core.missing == 0
    np.testing.assert_array_equal(kernel.core.learner.store(), before)
    assert kernel.core.iterations == 18


def test_another_task():
    """PROGRAM changes the physics of the next episodes, and nothing that was learned."""

    class Moon(CartPole):
        def step(self, state, action, random):
            state, reward, fallen = super().step(state, action, random)
            return state, 0.25, fallen

    kernel = begun()
    assert kernel.play(40) == NONE
    learned = kernel.core.learner.store()
    assert kernel.task(Moon) == NONE and kernel.status["ready"] == 1
    assert kernel.play(40, FRESH) == NONE
    np.testing.assert_array_equal(kernel.core.learner.store(), learned)
    rows = [row for row in kept(kernel) if row["total"] == row["length"] / 4]
    assert len(rows) == kernel.status["episodes"] > 0
