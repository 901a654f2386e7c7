"""Counters of a kernel that plays, past their largest values: Verilog, twin and numbers by hand."""

import numpy as np
import pytest
from learner.core_programs import run_both
from learner.play.play_programs import SMALL, PlayProgram, Plays
from learner.play.played import Ends
from replay.kernels import opened
from replay.programs import Rig

from host.environments.task_ids import program_of
from hw.learner.play.episodes import EPISODE, LARGEST_WINDOW
from hw.learner.play.play_contract import PLAY_STATUS, SAVED, Flag, saved_words
from hw.shell.status_block import STATUS
from sim.card.memory import MemoryConfig

LEARN, FRESH, GOAL = Flag.LEARN, Flag.FRESH, Flag.GOAL
SIZES = saved_words(SMALL)
#: A reward of ``Ends``, whose every step ends the episode.
ONE = 1 << program_of(Ends)[1].reward_fraction
LAST = (1 << 32) - 1
SETTINGS = dict(period=1, phase=0, iterations=1, starts=0, n=2, goal=-(1 << 62), window=3, step=0,
                explore=LAST, end=0, target_interval=1, target_phase=0)  # fmt: skip
RING = 16


class Pair:
    """A kernel and its twin, whose environments have ended nine episodes of one step."""

    def __init__(self, kernel, twin):
        self.rigs, self.source = [Rig(each, 1 << 14) for each in (kernel, twin)], Plays(SMALL, 4)
        program = PlayProgram(SMALL)
        program.begin(self.source)
        program.task(Ends)
        self.played(LEARN | FRESH, 3, program)

    def played(self, flags, count, program=None, **own):
        """Plays ``count`` vector steps. ``status`` is the block after it, ``ring`` the EPISODEs,
        ``words`` what SAVE has written."""
        program = program or PlayProgram(SMALL)
        fields = dict(count=count, destination=0, batch=3, episodes=RING, reports=0)
        self.source.play(program, flags, SETTINGS | own, **fields)
        program.store(self.source.image(15), 15)
        place, ring = program.save(), RING * SMALL.engine.beat_bytes
        shell, *_ = run_both(*self.rigs, program.launch(), program.reports, str(own))
        assert not shell["error"]
        results, block = (self.rigs[1].buffers[name].view for name in ("results", "status"))
        block = block[STATUS.size :][: PLAY_STATUS.size]
        self.status = block.view(PLAY_STATUS.dtype)[0].copy()
        self.words = results[place:][: 4 * sum(SIZES.values())].view("<u4").copy()
        rows = results[:ring].reshape(RING, -1)[:, : EPISODE.size]
        self.ring = np.ascontiguousarray(rows).view(EPISODE.dtype)[:, 0]

    def numbers(self, *names):
        return [int(self.status[name]) for name in names]

    @property
    def header(self):
        """SAVED of ``words``, which it changes."""
        return self.words[: SAVED.size // 4].view(SAVED.dtype)[0]

    def resumed(self):
        """A program that resumes ``words``."""
        program = PlayProgram(SMALL)
        program.resume(self.words)
        return program


@pytest.fixture
def pair():
    memory = MemoryConfig(max_idle=20_000, read_latency=1, write_latency=1)
    with opened("sim", SMALL, memory=memory) as kernel, opened("model", SMALL) as twin:
        yield Pair(kernel, twin)


def test_episodes_and_their_returns(pair):
    """32 bits of episodes, 16 of steps, 48 of a return, 55 of the sum; also when resumed so."""
    assert pair.numbers("episodes", "returns") == [9, 8 * ONE]
    pair.header["episodes"], pair.header["total"] = LAST - 3, -(1 << 54)
    at = sum(SIZES[name] for name in ("saved", "states", "observations"))
    running, sums = pair.words[at:][:9].reshape(3, 3), [(1 << 47) - ONE, -(1 << 47), 0]
    running[:, :2], running[:, 2] = np.array(sums)[:, None].view("<u4"), [65_535, 65_534, 7]
    pair.played(LEARN, 3, pair.resumed())
    # Returns at those places were 0; the last eight of nine count.
    assert pair.numbers("episodes", "returns") == [5, (1 << 54) - (1 << 47) + 8 * ONE]
    ring = pair.ring[[*range(RING - 4, RING), *range(5)]]
    assert ring["length"].tolist() == [0, 65_535, 8] + [1] * 6
    returns = np.array([-(1 << 47), ONE - (1 << 47), *[ONE] * 7])
    np.testing.assert_array_equal(ring["total"], (returns / ONE).astype(np.float32))
    kept = pair.words[-2 * LARGEST_WINDOW :].view("<i8")[np.arange(5 - 8, 5)]
    np.testing.assert_array_equal(kept, returns[-8:])
    pair.played(LEARN, 1)
    assert pair.numbers("episodes", "returns") == [8, 8 * ONE - (1 << 54)], "a negative sum"


def test_a_window_is_full_until_a_resume(pair):
    """GOAL, whose sum is always met, tells."""
    pair.header["episodes"] = LAST - 3
    pair.played(LEARN, 1, pair.resumed())
    assert pair.numbers("step", "episodes") == [1, LAST]
    pair.played(LEARN, 2)
    assert pair.numbers("step", "episodes") == [2, 5]
    pair.played(LEARN | GOAL, 9, step=2)
    assert pair.numbers("step", "episodes") == [2, 5]
    pair.played(LEARN | GOAL, 9, pair.resumed(), step=2)
    assert pair.numbers("step", "episodes") == [3, 8]


def test_vector_steps_and_iterations(pair):
    """``starts`` is compared with the wrapped number; the largest period and target interval."""
    before = pair.numbers("iterations")[0]
    largest = dict(target_interval=LAST, target_phase=LAST - 1)
    pair.played(LEARN, 3, step=LAST - 1, starts=LAST, **largest)
    assert pair.numbers("step", "iterations") == [1, before + 1]
    steps = pair.ring["step"][[*range(9, RING), 0, 1]]
    assert steps.tolist() == [LAST - 1] * 3 + [LAST] * 3 + [0] * 3
    pair.played(LEARN, 1, step=1, period=65_535, phase=65_534)
    assert pair.numbers("step", "iterations") == [2, before + 2]


def test_the_generator(pair):
    """The number in its state, as of NumPy's."""
    pair.header["state"][3], bits = (1 << 64) - 5, np.random.SFC64()
    words = {"state": pair.header["state"].copy()}
    pair.played(LEARN, 3, pair.resumed(), iterations=0)
    bits.state = {"bit_generator": "SFC64", "state": words, "has_uint32": 0, "uinteger": 0}
    drawn = int(pair.status["play_state"][3]) + 5
    bits.random_raw(drawn)
    np.testing.assert_array_equal(pair.status["play_state"], bits.state["state"]["state"])
    assert drawn > 9
