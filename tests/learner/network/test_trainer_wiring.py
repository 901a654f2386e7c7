"""The wires between the units of a ``Trainer``: the units are hollow here, so a test sets what one
gives and reads what another gets. Most is about ``td3``: two sweeps, in which not all run.

In a sample's order networks are actor, critic and critic_2, in that of the image critic, critic_2
and actor; each has two layers.
"""

from itertools import product

import pytest
from amaranth import Module
from amaranth.sim import Simulator
from arith.float32_cases import bits, floats
from learner.quartet import ENTRIES

from hw.learner.algorithms.algorithm import Algorithm
from hw.learner.algorithms.dqn import DqnLoss
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.config import LearnerConfig
from hw.learner.network import trainer as units
from hw.learner.network.smooth import Smooth
from hw.learner.network.trainer import Trainer
from hw.learner.step_clocks import slots_of

HOLLOW = (
    units.Layer, units.Loss, units.BatchMemory, units.SampleReader, units.Outputs,
    units.ImageTransfer, units.SweepControl, units.UpdateControl, units.NetworkOptimizer, Smooth,
)  # fmt: skip
#: Layers by their names, in a sample's order and in the image's.
ORDER = ["actor_0", "actor_1", "critic_0", "critic_1", "critic_2_0", "critic_2_1"]
IMAGE = ORDER[2:] + ORDER[:2]
FIRST, LAST = ORDER[::2], ORDER[1::2]


@pytest.fixture
def wired(monkeypatch):
    """``wired(bench, **config)`` runs ``bench(context, trainer, units)``, units by name."""
    for unit in HOLLOW:
        monkeypatch.setattr(unit, "elaborate", lambda self, platform: Module())

    def run(bench, **options):
        sizes = dict(algorithm="td3", observation=3, action=2, hidden=(4,), batch=8)
        trainer = Trainer(LearnerConfig(**sizes | options), 128)
        module = trainer.elaborate(None)

        async def started(context):
            await bench(context, trainer, module.submodules)

        simulator = Simulator(module)
        simulator.add_clock(1e-6)
        simulator.add_testbench(started)
        simulator.run()

    return run


def chosen(context, trainer, unit, sweep, acting=0):
    """A sweep is under way and begins now, or an ACT."""
    context.set(unit.sweeps.sweep, sweep)
    context.set(unit.sweeps.start, 0 if acting else 1 << sweep)
    context.set(trainer.act, acting)
    context.set(trainer.acting, acting)


def those(context, names, port):
    """The names whose port is 1."""
    return [name for name in names if context.get(port(name))]


def test_layers_with_errors_begin_a_sweep(wired):
    """They wait for errors of a batch; of others no sample is kept, as in an ACT."""

    async def bench(context, trainer, unit):
        errors = [ORDER[2:], ORDER[:4]]
        for sweep, acting in product(range(2), range(2)):
            chosen(context, trainer, unit, sweep, acting)
            begun = those(context, ORDER, lambda name: unit[name].start)
            keep = those(context, ORDER, lambda name: ~unit[name].acting)
            assert begun == ([] if acting else errors[sweep])
            assert keep == ([] if acting else errors[sweep])

    wired(bench)


def test_samples_are_read_for_networks_that_run(wired):
    async def bench(context, trainer, unit):
        context.set(unit.play.begun, 1)
        for sweep, acting in product(range(2), range(2)):
            chosen(context, trainer, unit, sweep, acting)
            runs = FIRST[:1] if acting else [FIRST, FIRST[:2]][sweep]
            assert context.get(unit.play.start) and context.get(unit.play.acting) == acting
            assert context.get(unit.play.sweep) == (1 if acting else sweep)
            assert those(context, FIRST, lambda name: unit[name].feed_begun) == runs
            for full in FIRST:
                for name in FIRST:
                    context.set(unit[name].feed_room, name != full)
                assert context.get(unit.play.room) == (full not in runs), (sweep, acting, full)
        chosen(context, trainer, unit, 0)
        context.set(unit.sweeps.start, 0)
        assert not context.get(unit.play.start)

    wired(bench)


def test_a_sweep_has_passed_when_its_layers_are_done(wired):
    """And its own loss; a layer that has no errors is not waited for."""

    async def bench(context, trainer, unit):
        for sweep, errors in enumerate((ORDER[2:], ORDER[:4])):
            chosen(context, trainer, unit, sweep)
            for late in ORDER:
                for name in ORDER:
                    context.set(unit[name].done, name != late)
                assert context.get(unit.sweeps.passed) == (late not in errors)
            for own in range(2):
                for number in range(2):
                    context.set(unit[f"loss_{number}"].done, number == own)
                assert context.get(unit.sweeps.summed) == (own == sweep)

    wired(bench)


def test_each_loss_has_the_numbers_of_its_sweep(wired):
    async def bench(context, trainer, unit):
        given, losses = trainer.control.hyperparameters, (unit.loss_0, unit.loss_1)
        context.set(given.clip, 77)
        context.set(unit.batch_memory.inverse, 88)
        context.set(trainer.batch, 5)
        for place, shift in enumerate((1, -5, -2, 7)):
            context.set(given.shift[place], shift)
        for sweep in range(2):
            chosen(context, trainer, unit, sweep)
            assert [context.get(loss.start) for loss in losses] == [1 - sweep, sweep]
        for loss in losses:
            found = [context.get(port) for port in (loss.clip, loss.inverse, loss.samples)]
            assert found == [77, 88, 5]
        shifts = [[context.get(x) for x in loss.shift] for loss in losses]
        assert shifts == [[1, -5], [-2]]

    wired(bench)


def test_results_are_those_of_the_first_loss(wired):
    """But for the sum of values, which is the last one's."""

    async def bench(context, trainer, unit):
        context.set(trainer.control.hyperparameters.sweeps, 3)
        names = ("loss", "td_sum", "value", "diverged", "diverged_index")
        for k, name in enumerate(names):
            for number, loss in enumerate((unit.loss_0, unit.loss_1)):
                value = number if name == "diverged" else 10 * k + number
                context.set(getattr(loss, name), value)
        found = [context.get(getattr(trainer.control, name)) for name in names]
        assert found == [0, 10, 21, 0, 40]
        context.set(unit.loss_0.diverged, 1)
        context.set(unit.loss_1.diverged, 0)
        assert context.get(trainer.control.diverged) and context.get(unit.sweeps.diverged)

    wired(bench)


def test_outputs_go_to_the_loss_of_the_sweep(wired):
    """With the scalars of their samples; room and errors come from there."""
    ends = {"critic": ["loss_0", "loss_1"], "critic_2": ["loss_0"]}
    pairs = [(name, loss) for name, losses in ends.items() for loss in losses]

    async def bench(context, trainer, unit):
        ports = {(name, loss): unit[loss].ports[name] for name, loss in pairs}
        for k, name in enumerate(ends):
            layer, scalars = unit[f"{name}_1"], unit.play.scalars[name]
            context.set(layer.o.valid, 1)
            context.set(layer.delta.ready, 1)
            context.set(layer.o.value[0][0][0], 5 + k)
            context.set(layer.o.value[1][0][0], 7 + k)
            context.set(scalars.valid, 1)
            context.set(scalars.payload[0].index, 9 + k)
        for sweep in range(2):
            chosen(context, trainer, unit, sweep)
            own = [pair for pair in pairs if pair[1] == f"loss_{sweep}"]
            for port in (
                lambda pair: ports[pair].i.valid,
                lambda pair: ports[pair].scalars.valid,
                lambda pair: ports[pair].delta.ready,
            ):
                assert those(context, pairs, port) == own
            for pair, port in ports.items():
                for other in ports.values():
                    full = other is port
                    context.set(other.room, full)
                    context.set(other.scalars.ready, full)
                    context.set(other.delta.valid, full)
                    context.set(other.delta.payload[0][0][0], 3 * full)
                layer, scalars = unit[f"{pair[0]}_1"], unit.play.scalars[pair[0]]
                found = [context.get(x) for x in (layer.room, scalars.ready, layer.delta.valid)] + [
                    context.get(layer.delta.payload[0][0][0])
                ]
                assert found == ([1, 1, 1, 3] if pair in own else [0] * 4), (sweep, pair)
        for (name, _), port in ports.items():
            k = [*ends].index(name)
            found = [context.get(path[0][0]) for path in port.i.value]
            assert found == [5 + k, 7 + k][: len(found)]
            assert context.get(port.scalars.payload[0].index) == 9 + k

    wired(bench)


def test_outputs_of_an_act_leave(wired):
    """They are no sample of a critic; else nothing leaves."""

    async def bench(context, trainer, unit):
        layer, outputs = unit.actor_1, unit.outputs
        for port in (layer.o.valid, layer.started, outputs.room):
            context.set(port, 1)
        context.set(layer.o.value[0][0][0], 6)
        context.set(trainer.batch, 7)
        for acting in range(2):
            chosen(context, trainer, unit, 0, acting)
            found = (outputs.i.valid, outputs.begun, outputs.start, layer.room)
            assert [context.get(port) for port in found] == [acting] * 4
            critics = [unit[name] for name in FIRST[1:]]
            assert [context.get(critic.chain_begun) for critic in critics] == [1 - acting] * 2
        assert context.get(outputs.i.value[0][0][0]) == 6 and context.get(outputs.count) == 7

    wired(bench)


def test_noise_has_the_numbers_of_the_step(wired):
    """It begins with the first sweep only, and smooths nothing in another one or in an ACT."""

    async def bench(context, trainer, unit):
        given, smooth = trainer.control.hyperparameters, unit.actor_smooth
        numbers = dict(seed=2**64 - 5, noise=11, noise_clip=12)
        for name, value in numbers.items():
            context.set(given[name], value)
        context.set(trainer.batch, 3)
        found = (smooth.seed, smooth.deviation, smooth.clip, smooth.samples)
        assert [context.get(port) for port in found] == [*numbers.values(), 3]
        for port in (unit.actor_1.o.valid, unit.actor_1.started):
            context.set(port, 1)
        found = (smooth.start, smooth.smoothed, smooth.i.valid, smooth.begun)
        for sweep, acting, wanted in ((0, 0, [1, 1, 1]), (1, 0, [0, 0, 1]), (0, 1, [0, 0, 0])):
            chosen(context, trainer, unit, sweep, acting)
            assert [context.get(port) for port in found] == [*wanted, 1]

    wired(bench)


@pytest.mark.parametrize("clip_norm", [False, True])
def test_each_network_has_its_rates_and_its_scale(wired, clip_norm):
    """Of the actor the second of a pair; the scale follows from the shift, or from the norm."""

    async def bench(context, trainer, unit):
        given = trainer.control.hyperparameters
        names = ("first_decay", "first_gain", "second_decay", "second_gain")
        for k, name in enumerate(names):
            context.set(given[name], 40 + k)
        pairs = ("rate", "floor", "blend", "keep")
        for (k, name), place in product(enumerate(pairs), range(2)):
            context.set(given[name][place], 10 * place + k)
        context.set(given.scale, *bits([3]).tolist())
        for place, shift in enumerate((1, -5, -2)):
            context.set(given.shift[place], shift)
        await context.tick()
        scales = [6, 3 / 32, 0.75]
        if clip_norm:
            assert [*floats([context.get(x) for x in unit.updates.scales])] == scales
            scales = [5, 7, 9]
            for place, scale in enumerate(bits(scales).tolist()):
                context.set(unit.updates.limited[place], scale)
                context.set(given.max_norm[place % 2], 70 + place % 2)
            assert [context.get(x) for x in unit.updates.max_norm] == [70, 71]
        for k, name in enumerate(IMAGE):
            found, place = unit[name].coefficients, int(k >= 4)
            assert floats([context.get(found.scale)])[0] == scales[k // 2], name
            assert [context.get(found[x]) for x in names] == [40, 41, 42, 43]
            wanted = [10 * place + n for n in range(4)]
            assert [context.get(found[x]) for x in pairs] == wanted, name

    wired(bench, clip_norm=clip_norm)


def test_a_limited_norm_is_of_one_network(wired, monkeypatch):
    """Of four without shifts, each two with one rate, none has the scale of another."""
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)

    async def bench(context, trainer, unit):
        for place, scale in enumerate(bits([5, 6, 7, 8]).tolist()):
            context.set(unit.updates.limited[place], scale)
        found = [unit[f"{name}_0"].coefficients.scale for name in trainer.config.networks]
        assert [*floats([context.get(scale) for scale in found])] == [5, 6, 7, 8]

    wired(bench, algorithm="quartet", clip_norm=True)


def test_updates_and_images_are_in_the_order_of_the_image(wired):
    async def bench(context, trainer, unit):
        updates, transfer = unit.updates, unit.transfer
        context.set(unit.sweeps.updates, 2)
        assert context.get(updates.updates) == 2
        for k, name in enumerate(IMAGE):
            layer = unit[name]
            to = (updates.update, updates.measure, transfer.load_layer, transfer.store_layer)
            for port in to:
                context.set(port, 1 << k)
            for port in (layer.done, layer.busy, layer.image_o.valid, layer.image_i.ready):
                context.set(port, 1)
            context.set(layer.squares, 20 + k)
            words, stored = (getattr(transfer, f"{each}_{k}") for each in ("words", "stored"))
            context.set(words.valid, 1)
            for port in ("update", "measure", "load", "store"):
                assert those(context, IMAGE, lambda x: getattr(unit[x], port)) == [name]  # noqa: B023
            assert those(context, IMAGE, lambda x: unit[x].image_i.valid) == [name]
            assert context.get(stored.valid) and context.get(words.ready)
            found = (updates.done, updates.busy, transfer.layer_busy)
            assert [context.get(port) for port in found] == [1 << k] * 3
            assert context.get(updates.squares[k]) == 20 + k
            for port in (layer.done, layer.busy, layer.image_o.valid, words.valid):
                context.set(port, 0)

    wired(bench, clip_norm=True)


def test_all_that_makes_a_trainer_busy(wired):
    async def bench(context, trainer, unit):
        control, sweeps = trainer.control, unit.sweeps
        reasons = (control.update, trainer.load, trainer.store, unit.transfer.busy)
        for port in (*reasons, unit.updates.updating, sweeps.more):
            assert not context.get(control.busy)
            context.set(port, 1)
            assert context.get(control.busy)
            context.set(port, 0)
        for port, other in (
            (control.train, sweeps.train), (control.update, sweeps.update),
            (sweeps.trained, control.trained), (unit.updates.updating, sweeps.updating),
            (control.train, unit.updates.clear),
        ):  # fmt: skip
            context.set(port, 1)
            assert context.get(other)
            context.set(port, 0)
            assert not context.get(other)

    wired(bench, clip_norm=True)


class SeenSecond(Algorithm):
    """The pass that acts is the network's second one; the first has errors."""

    name, summary, discrete, sizes = "seen_second", "", True, dict(observation=3, action=2)

    def plan(self, config):
        passes = {
            "seen": Pass("q", "online", (Feed("obs", 0),)),
            "next": Pass("q", "online", (Feed("next_obs", 0),), errors=True, trains=True),
        }
        return Plan({"q": Network(3, 2, "linear")}, passes, (DqnLoss(),), acts="seen")


def test_outputs_of_the_pass_that_acts_leave(wired, monkeypatch):
    monkeypatch.setitem(ALGORITHMS, "seen_second", SeenSecond())

    async def bench(context, trainer, unit):
        for path in range(2):
            context.set(unit.q_1.o.value[path][0][0], 3 + path)
        assert context.get(unit.outputs.i.value[0][0][0]) == 4

    wired(bench, algorithm="seen_second")


def test_each_pass_takes_the_outputs_of_its_source(wired):
    """Of ``ddpg``, whose critic takes both passes of the actor at once: errors of the first one
    return."""

    async def bench(context, trainer, unit):
        actor, critic = unit.actor_1, unit.critic_0
        for path in range(2):
            context.set(actor.o.value[path][0][0], 5 + path)
            context.set(critic.dx.value[path][0][0], 7 + path)
        assert [context.get(value[0][0]) for value in critic.chain.value] == [5, 6]
        assert context.get(critic.chain_mask) == 3
        assert context.get(actor.delta.payload[0][0][0]) == 8

    wired(bench, algorithm="ddpg")


def test_layers_have_the_slots_of_the_formula(wired):
    """They are in a sample's order."""

    async def bench(context, trainer, unit):
        found = tuple(unit[name].ring.slots for name in ORDER)
        assert found == slots_of(trainer.config) and len({*found}) > 1

    wired(bench)
