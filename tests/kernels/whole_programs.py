"""A kernel of each design, of those that other tests compile, and a whole program for it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from fa3c import kernel_programs as a3c
from fa3c.test_kernel import SMALL as SMALL_A3C
from fixar import kernels as fixar
from gae import gae_programs as gae
from learner.core_programs import TrainingPrograms, without_clocks
from learner.test_kernel import CASES, LONG, config_of
from programs import Rig, assert_left, status_of
from replay import programs as replay
from replay.kernels import NARROW, opened

from hw.designs import DESIGNS
from hw.fixar.commands import FIXAR_STATUS
from hw.learner.records import REPORT

__all__ = ["EACH", "PROGRAMS", "QUICK", "Session", "same"]


@dataclass(frozen=True)
class WholeProgram:
    """``rig(kernel)`` has the buffers; ``launches()`` gives pairs of a Launch and of the places of
    its REPORTs, whose clocks no twin knows; ``since_reset`` names the fields of the design's status
    that no command clears."""

    config: object
    rig: Callable
    launches: Callable
    since_reset: tuple = ()


def _replay():
    return [(launch, ()) for launch in replay.tour(NARROW, 3)]


def _learner(config):
    """Also what acts and what stores, and memory as it is then."""
    source = TrainingPrograms(config, 1)
    first = source.first()
    program = source.PROGRAM(source.granules)
    source.learn(program)
    source.act(program)
    source.train(program)
    source.store(program, 15)
    source.sample(program)
    source.get(program)
    return [first, (program.launch(), program.reports)]


def _gae():
    source = gae.RandomRollouts(gae.NARROW, 1)
    return [(source.program(), ()) for _ in range(3)]


def _a3c():
    source = a3c.RandomRounds(SMALL_A3C, 1)
    launches = [source.images()]
    for _ in range(2):
        tasks = source.tasks()
        launches.append(source.round(tasks))
        source.reference.execute(tasks)
    program = a3c.Builder(a3c.COMMANDS)
    source.store(program)
    return [(launch, ()) for launch in (*launches, program.launch())]


def _fixar():
    """In 32 bits, then in 16."""
    config = fixar.SMALL
    source = fixar.FixarPrograms(config, 1)
    first, program = source.first(), source.fresh()
    for kind in ("full", "half"):
        program.format(fixar.precision_of(config, kind))
        fields = source.fields(config.learner.batch)
        program.learn(source.steps(2), source.records(4), **fields)
        source.act(program, 5)
    return [first, source.tail(program)]


def _rig(kernel):
    return replay.Rig(kernel, 1 << 15)


_DQN, _DDPG, _TD3 = (
    config_of(*next(case for case in (*CASES, *LONG) if case[0] == name))
    for name in ("dqn", "ddpg", "td3")
)
PROGRAMS = {
    "replay": WholeProgram(NARROW, _rig, _replay),
    "dqn": WholeProgram(_DQN, _rig, partial(_learner, _DQN), ("iterations",)),
    "ddpg": WholeProgram(_DDPG, _rig, partial(_learner, _DDPG), ("iterations",)),
    "td3": WholeProgram(_TD3, _rig, partial(_learner, _TD3), ("iterations",)),
    "gae": WholeProgram(gae.NARROW, gae.Rig, _gae),
    "a3c": WholeProgram(SMALL_A3C, partial(a3c.Rig, config=SMALL_A3C), _a3c, ("rounds", "tasks")),
    "fixar": WholeProgram(
        fixar.SMALL,
        lambda kernel: Rig(kernel, {"storage": 1 << 14}, FIXAR_STATUS, replay.CLOCKS),
        _fixar,
        (
            "iterations",
            "precision",
            "activation_shifts",
            "error_shifts",
            "activation_ranges",
            "error_ranges",
        ),  # fmt: skip
    ),
}
#: Those of which a quick test runs many programs.
QUICK = ("replay", "gae", "dqn")
#: Their names; kernels of ``ddpg`` and ``td3`` take half a minute to compile, for parts that
#: ``dqn`` has too.
EACH = [pytest.param(n, marks=pytest.mark.long) if n in ("ddpg", "td3") else n for n in PROGRAMS]


class Session:
    """A kernel of a design on a card, with the buffers and the launches of its whole program.

    Parameters
    ----------
    design : str
    kernel : host.cards.Kernel
    """

    def __init__(self, design, kernel):
        self.program, self.engine = PROGRAMS[design], kernel.card.device._kernel
        self.rig, self.launches = self.program.rig(kernel), self.program.launches()
        self.status = DESIGNS[design].core.STATUS
        own = self.rig.buffers.keys() - self.rig.SIZES.keys()
        self._first = {name: self.rig.buffers[name].view.copy() for name in own}

    def restore(self):
        """Puts into the design's own buffers what they held at first."""
        for name, data in self._first.items():
            self.rig.buffers[name].write(data)

    def run(self, number):
        """What launch ``number`` leaves: all that it may write, and the shell's record; clocks of
        REPORTs are 0."""
        launch, reports = self.launches[number]
        return without_clocks(self.rig.run(launch), reports)

    def run_all(self):
        return [self.run(number) for number in range(len(self.launches))]

    def without_counts(self, number, left):
        """``left`` of launch ``number``, all that is counted since reset at 0."""
        _, own = status_of(left["status"], self.status)
        for name in self.program.since_reset:
            own[name] = 0
        for place in self.launches[number][1]:
            report = left["results"][place : place + REPORT.size].view(REPORT.dtype)
            report["saturations"] = 0
        return left


def left_by(design, card, memory):
    with opened(card, PROGRAMS[design].config, memory=memory) as kernel:
        return Session(design, kernel).run_all()


def same(design, memory):
    """The program ends on card ``sim`` with ``memory``, and leaves what the twin leaves."""
    got, expected = (left_by(design, card, memory) for card in ("sim", "model"))
    for number, (left, right) in enumerate(zip(got, expected, strict=True)):
        assert_left(left, right, f"launch {number}")
