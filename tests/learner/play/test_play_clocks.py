"""Clocks of PLAY by formula against those of the simulated card."""

from dataclasses import replace

import pytest
from amaranth import *
from learner.play.play_programs import SMALL, WIDE, PlayProgram, Plays
from learner.play.played import Calm, Ends, playing
from replay.kernels import opened
from replay.programs import Rig
from stream.resetting import driven

from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.environment.machine_image import image_of
from hw.environment.task import trace
from hw.environment.task_program import assemble
from hw.environment.tasks.cartpole import CartPole
from hw.learner.iteration_clocks import loaded_clocks
from hw.learner.play.acting import Acting
from hw.learner.play.config import PlayConfig
from hw.learner.play.experience_queue import ExperienceQueue
from hw.learner.play.play_clocks import lesson_clocks, period_parts, vector_step_clocks
from hw.learner.play.play_contract import Flag
from hw.learner.records import record_granules, record_words
from hw.learner.step_clocks import acting_clocks
from hw.replay.command_clocks import beats_of, stored_clocks
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


def image_for(task):
    made = task()
    return image_of(assemble(trace(made)), made.limit)


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
            image, ends = image_for(task), task is Ends
            for n in (1, longest) if not ends else (1,):
                for acts in (False, True):
                    clocks = []
                    for learn in (False, True):
                        found = card.clocks(task, n, 0 if acts else ALWAYS, learn)
                        formula = vector_step_clocks(
                            config, image, n, acts=acts, stores=learn, ended=ends
                        )
                        case = task.__name__, n, acts, learn
                        assert abs(formula - found) <= most * found, (case, found, formula)
                        clocks.append((found, formula))
                    found, formula = (learns - plays for plays, learns in zip(*clocks, strict=True))
                    assert abs(formula - found) <= 1, ("stored", *case, found, formula)


@pytest.mark.parametrize(("config", "most"), KERNELS)
def test_iterations(config, most):
    with Card(config) as card:
        alone = card.clocks(Calm, 1, ALWAYS, True)
        for iterations in (1, 3):
            found = card.clocks(Calm, 1, ALWAYS, True, iterations) - alone
            formula = lesson_clocks(config, config.learner.batch, iterations)
            assert abs(formula - found) <= most * found, (iterations, found, formula)


def clocks_of(config):
    """``(sent, left)``: clocks in which the observations of all environments are sent to the
    network, and in which an experience of each leaves its queue."""
    acting, queue = Acting(config), ExperienceQueue(config)
    unit, environments = Module(), config.play.environments
    unit.submodules += acting, queue
    words, found = sum(count for _, count in record_words(config.learner).values()), []

    async def passed(ctx, ends):
        clocks = 0
        while not ctx.get(ends):
            await ctx.tick()
            clocks += 1
        found.append(clocks)

    async def bench(ctx, _):
        ctx.set(acting.observations.ready, 1)
        ctx.set(acting.loaded, 1)
        ctx.set(acting.start, 1)
        await ctx.tick()
        ctx.set(acting.start, 0)
        await passed(ctx, acting.done)
        ctx.set(queue.keep, 1)
        ctx.set(queue.i.valid, 1)
        for word in range(environments * words):
            ctx.set(queue.i.p.last, (word + 1) % words == 0)
            await ctx.tick().until(queue.i.ready)
        ctx.set(queue.i.valid, 0)
        await ctx.tick().until(queue.settled)
        ctx.set(queue.o.ready, 1)
        ctx.set(queue.taking, 1)
        await passed(ctx, queue.empty)

    driven(unit, bench)
    return found


def test_the_narrowest_beats_and_the_widest():
    """A word of an observation, and a granule of an experience, takes a clock in either."""
    image, clocks = image_for(Calm), []
    for width in (128, 512):
        engine = EngineConfig(data_width=width, depth=64, burst_beats=16)
        config, learner = replace(SMALL, engine=engine), SMALL.learner
        count, granules = config.play.environments, record_granules(learner)
        plays, stores, acts = (
            vector_step_clocks(config, image, 1, stores=s, acts=a)
            for s, a in ((False, False), (True, False), (False, True))
        )
        sent, left = clocks_of(config)
        beats = count * beats_of(config, granules)
        acts -= plays + loaded_clocks(config) + acting_clocks(learner, count)
        stores -= plays + stored_clocks(config, count, granules) + latencies(engine)["write"]
        clocks.append((acts - sent, stores - (left - beats)))
        assert granules == 3 and beats == count * (3 if width == 128 else 1)
    assert clocks[0] == clocks[1]


@pytest.mark.parametrize("environments, steps", [(3, 10), (8, 4), (34, 1)])
def test_a_period(environments, steps):
    """32 steps of all environments, or at least one of each, and an iteration."""
    batch = max(8, environments)
    config = playing(environments=environments, longest=4, batch=batch, capacity=256)
    step = vector_step_clocks(config, image_for(CartPole), 4)
    lesson = lesson_clocks(config, batch, 1)
    assert period_parts(config, batch) == {"play": steps * step, "learn": lesson}


def test_a_report_has_the_vector_step():
    """Of the shipped task with the network's sizes; of a kernel that plays, and no other."""
    names = [
        DESIGNS["dqn"].of(config).clocks(config)
        for config in (SMALL, replace(SMALL, play=PlayConfig()))
    ]
    assert names[0].keys() - names[1].keys() == {"vector step of 3 environments of CartPole"}
