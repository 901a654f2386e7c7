"""Clocks of PLAY by formula against those of the simulated card."""

from dataclasses import replace

import pytest
from learner.play.play_programs import SMALL, WIDE, PlayProgram, Plays
from learner.play.played import Calm, Ends, playing
from replay.kernels import opened
from replay.programs import Rig

from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.environment.machine_image import image_of
from hw.environment.task import trace
from hw.environment.task_program import assemble
from hw.learner.play.config import PlayConfig
from hw.learner.play.play_clocks import lesson_clocks, vector_step_clocks
from hw.learner.play.play_contract import Flag
from hw.shell.axi import EngineConfig
from hw.shell.memory_clocks import latencies
from hw.shell.status_block import STATUS
from sim.card.memory import MemoryConfig

ALWAYS = (1 << 32) - 1
#: As on a small part: 12 environments, longer windows, the loss as a program, short queues.
MANY = replace(
    playing(
        environments=12, longest=16, hidden=(8, 5), lanes=1, multipliers=2, update_units=0,
        optimizer="rmsprop", loss_unit="program", arithmetic=Arithmetic(kind="fixed"), batch=16,
        capacity=256,
    ),
    engine=EngineConfig(data_width=128, depth=32, burst_beats=8),
)  # fmt: skip


class Card:
    """A kernel on card ``sim`` whose memory is as formulas assume it."""

    def __init__(self, config):
        self.config = config
        memory = latencies(config.engine)
        memory = MemoryConfig(
            max_idle=200_000, read_latency=memory["read"], write_latency=memory["write"]
        )
        self._kernel, self._source = opened("sim", config, memory=memory), Plays(config, 3)

    def __enter__(self):
        self._rig = Rig(self._kernel.__enter__(), 1 << 17)
        begun = PlayProgram(self.config)
        begun.begin(self._source)
        self._rig.run(begun.launch())
        return self

    def __exit__(self, *error):
        return self._kernel.__exit__(*error)

    def clocks(self, task, n, explore, learn, iterations=0):
        """Of a vector step with its iterations, the mean of forty."""
        flags, batch = Flag.FRESH + (Flag.LEARN if learn else 0), self.config.learner.batch
        settings = dict(period=1, iterations=iterations, starts=20, n=n, discount=1 << 31)
        settings |= dict(scale=1 << 31, explore=explore, end=explore, target_interval=1)
        found = []
        for count in (20, 60):
            program = PlayProgram(self.config)
            program.task(task)
            program.play(
                count, flags, settings | dict(goal=1 << 60), self._source.segments([0]),
                episodes=0, stratum_width=1 << 48, batch=batch, alpha=0, epsilon=7,
            )  # fmt: skip
            self._rig.run(program.launch())
            shell = self._rig.buffers["status"].view[: STATUS.size].view(STATUS.dtype)[0]
            assert not shell["error"]
            found.append(int(shell["cycles"]))
        return (found[1] - found[0]) / 40


KERNELS = [(SMALL, 0.005)]
KERNELS += [pytest.param(*each, marks=pytest.mark.long) for each in ((MANY, 0.01), (WIDE, 0.06))]


@pytest.mark.parametrize(("config", "most"), KERNELS)
def test_a_vector_step(config, most):
    """All kinds; wide beats hold actions back, which no formula counts."""
    longest = config.play.longest
    with Card(config) as card:
        for task in (Calm, Ends):
            made = task()
            image, ends = image_of(assemble(trace(made)), made.limit), task is Ends
            for n in (1, longest) if not ends else (1,):
                for acts in (False, True):
                    for learn in (False, True):
                        found = card.clocks(task, n, 0 if acts else ALWAYS, learn)
                        formula = vector_step_clocks(
                            config, image, n, acts=acts, stores=learn, ended=ends
                        )
                        case = task.__name__, n, acts, learn
                        assert abs(formula - found) <= most * found, (case, found, formula)


@pytest.mark.parametrize(("config", "most"), KERNELS)
def test_iterations(config, most):
    with Card(config) as card:
        alone = card.clocks(Calm, 1, ALWAYS, True)
        for iterations in (1, 3):
            found = card.clocks(Calm, 1, ALWAYS, True, iterations) - alone
            formula = lesson_clocks(config, config.learner.batch, iterations)
            assert abs(formula - found) <= most * found, (iterations, found, formula)


def test_a_report_has_the_vector_step():
    """Of the shipped task with the network's sizes; of a kernel that plays, and no other."""
    names = [
        DESIGNS["dqn"].of(config).clocks(config)
        for config in (SMALL, replace(SMALL, play=PlayConfig()))
    ]
    assert names[0].keys() - names[1].keys() == {"vector step of 3 environments of CartPole"}
