"""Sweeps one after the other, and errors of several networks that become one."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import Module
from amaranth.sim import Simulator
from arith.float32_cases import bits, floats
from clocks import Clocks, run_together
from learner import random_plan
from learner.learning import experiences, random_learner, steps
from learner.network.test_network import numbers
from learner.quartet import ENTRIES

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerConfig
from hw.learner.network.loss import Loss
from hw.learner.network.merge import Merge
from hw.learner.network.smooth import Smooth
from hw.learner.network.sweep_control import SweepControl
from hw.learner.network.takers import wire_takers
from hw.learner.network.trainer import Trainer as Hardware
from hw.learner.network.update_control import UpdateControl
from sim.model.learner.network.network import merge
from sim.model.learner.network.trainer import Trainer

NARROW = Arithmetic(kind="fixed", weight=SQ(3, 9), activation=SQ(4, 6), gradient=SQ(2, 4))
SIZES = dict(algorithm="quartet", observation=3, action=2, hidden=(4,), batch=8)
TD3 = SIZES | dict(algorithm="td3")


@pytest.fixture
def quartet(monkeypatch):
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)


@pytest.mark.parametrize("arithmetic", [Arithmetic(), NARROW], ids=["float32", "fixed"])
@pytest.mark.parametrize("takers", [2, 3])
def test_merge(simulate, tmp_path, arithmetic, takers):
    """A word a clock, of all takers that are wanted, with pauses."""
    rng, lanes, word, paths = np.random.default_rng(takers), 2, 2, 2
    unit = Merge(LayerConfig(arithmetic=arithmetic, lanes=lanes), word, paths, takers)
    latency, clocks, over = unit.latency_of(arithmetic, takers), Clocks(), 0
    wanted = [3, 1, 3][:takers]
    for clock in range(40):
        shape = takers, paths, lanes, word
        values = numbers(rng, arithmetic, "gradient", shape, 1.0)
        valid = int(rng.random() < 0.7)
        clocks.at(
            clock,
            **{f"i__{k}": dict(valid=valid, value=values[k]) for k in range(takers)},
            **{f"wanted__{k}": wanted[k] for k in range(takers)},
        )
        sums, clipped = zip(
            *(
                merge(arithmetic, [values[k][p] for k in range(takers) if wanted[k] >> p & 1])
                for p in range(paths)
            ),
            strict=True,
        )
        expected = dict(valid=valid) | (dict(value=list(sums)) if valid else {})
        clocks.expect(clock + latency, o=expected, saturations=sum(clipped) * valid)
        over += sum(clipped) * valid
    assert bool(over) == arithmetic.saturates
    clocks.run(simulate, unit, tmp_path)


def course(quartet_config, wanted=3, **inputs):
    """``Clocks`` with a train in clock 2, and levels from one clock to another."""
    clocks = Clocks()
    for clock in range(24):
        now = {name: int(a <= clock < b) for name, (a, b) in inputs.items()}
        clocks.at(clock, train=int(clock == 2), wanted=wanted, **now)
    return SweepControl(quartet_config), clocks


def test_a_sweep_begins_when_updates_have_ended(quartet, simulate, tmp_path):
    """Whatever is there too early: samples have passed, sums are there, and no update is left."""
    unit, clocks = course(
        LearnerConfig(**SIZES), update=(5, 6), updating=(6, 10), passed=(4, 12), summed=(4, 12)
    )
    for clock in range(16, 24):
        clocks.inputs[clock] |= dict(passed=1, summed=1)
    for clock in range(12, 18):
        clocks.inputs[clock] |= dict(updating=1)
    for clock in range(24):
        clocks.expect(
            clock,
            sweep=int(11 <= clock < 19),
            start={2: 1, 11: 2}.get(clock, 0),
            updates={5: 1, 11: 2}.get(clock, 0),
            more=int(6 <= clock < 19),
            trained=int(clock >= 17),
        )
    clocks.run(simulate, unit, tmp_path)


def test_a_sweep_is_left_out(quartet, simulate, tmp_path):
    """The first sweep is then the last: it is trained at its end, and nothing follows."""
    unit, clocks = course(
        LearnerConfig(**SIZES),
        wanted=1,
        update=(5, 6),
        updating=(6, 10),
        passed=(4, 24),
        summed=(12, 24),
    )
    for clock in range(24):
        clocks.expect(
            clock,
            sweep=0,
            start=int(clock == 2),
            updates=int(clock == 5),
            more=int(6 <= clock < 14),
            trained=int(clock >= 13),
        )
    clocks.run(simulate, unit, tmp_path)


def test_of_three_sweeps_one_may_be_left_out(simulate, tmp_path):
    """They follow each other in the order of their numbers, each by its own bit."""
    config, cases = SimpleNamespace(plan=SimpleNamespace(sweeps=3)), {}
    for wanted, begins in ((7, {7: 1, 9: 2}), (5, {7: 2}), (3, {7: 1})):
        low = dict(updating=(0, 0), diverged=(0, 0))
        ends = dict(passed=(4, 24), summed=(4, 24))
        unit, clocks = course(config, wanted, update=(5, 6), **ends, **low)
        sweep, end = 0, max(begins) + 3
        for clock in range(24):
            sweep = 0 if clock >= end else begins.get(clock, sweep)
            begun = 1 << sweep if clock in begins else 0
            clocks.expect(
                clock,
                sweep=sweep,
                start=begun or int(clock == 2),
                updates=begun or int(clock == 5),
                trained=int(clock >= end - 1),
            )
        cases[str(wanted)] = clocks, unit
    run_together(simulate, tmp_path, cases)


def test_no_sweep_follows_one_that_diverged(quartet, simulate, tmp_path):
    unit, clocks = course(LearnerConfig(**SIZES), passed=(8, 24), summed=(8, 24), diverged=(6, 24))
    for clock in range(24):
        clocks.expect(clock, start=int(clock == 2), sweep=0, more=0, trained=int(clock >= 9))
    clocks.run(simulate, unit, tmp_path)


def test_one_sweep_is_trained_before_its_update(simulate, tmp_path):
    unit, clocks = course(LearnerConfig(), 1, passed=(4, 24), summed=(7, 24), update=(12, 13))
    for clock in range(24):
        clocks.expect(
            clock, start=int(clock == 2), updates=int(clock == 12), more=0, trained=clock >= 8
        )
    clocks.run(simulate, unit, tmp_path)


def simulated(unit, bench):
    simulator = Simulator(unit)
    simulator.add_clock(1e-6, if_exists=True)
    simulator.add_testbench(bench)
    simulator.run()


def test_layers_of_a_sweep_are_updated_when_they_are_complete(quartet):
    """Six of the first sweep, two of the second, in the image's order."""
    unit, found = UpdateControl(LearnerConfig(**SIZES)), []

    async def bench(context):
        for updates, done, busy in (
            (1, 0, 0), (0, 0, 0), (0, 0b1100_1001, 0), (0, 0xFF, 0b1001), (0, 0xFF, 4),
            (0, 0xFF, 0), (2, 0xFF, 0), (0, 0xFF, 0), (0, 0xFF, 0),
        ):  # fmt: skip
            for port, value in ((unit.updates, updates), (unit.done, done), (unit.busy, busy)):
                context.set(port, value)
            found.append((context.get(unit.update), context.get(unit.updating)))
            await context.tick()

    simulated(unit, bench)
    assert found == [
        (0, 0), (0, 1), (0b1001, 1), (0b11_0110, 1), (0, 1), (0, 0),
        (0, 0), (0b1100_0000, 1), (0, 0),
    ]  # fmt: skip


def test_of_layers_with_one_optimizer_the_last_goes_first(quartet):
    """Of each network by itself; a layer that is complete does not wait for one that is not."""
    unit, found = UpdateControl(LearnerConfig(**SIZES, update_units=0)), []

    async def bench(context):
        for updates, done, busy in (
            (1, 0, 0), (0, 0b11_0111, 0), (0, 0xFF, 0b10_0110), (0, 0xFF, 0b00_0100), (0, 0xFF, 0),
        ):  # fmt: skip
            for port, value in ((unit.updates, updates), (unit.done, done), (unit.busy, busy)):
                context.set(port, value)
            found.append(context.get(unit.update))
            await context.tick()

    simulated(unit, bench)
    assert found == [0, 0b10_0110, 0, 0b01_0001, 0b00_1000]


def test_networks_of_one_gradient_have_the_shift_of_the_first(monkeypatch):
    """Their scales too. Here both critics of ``td3`` have the first gradient."""
    config, found = LearnerConfig(**TD3), []
    monkeypatch.setattr(type(config.plan.losses[0]), "shifts", {"critic": 0, "critic_2": 0})
    module, trainer = Module(), Hardware(config, 128)
    scales = [trainer._scale(module, name) for name in config.networks]
    given = trainer.control.hyperparameters

    async def bench(context):
        context.set(given.scale, *bits([3]).tolist())
        for place, shift in enumerate((1, -5, -2)):
            context.set(given.shift[place], shift)
        await context.tick()
        found.extend(floats([context.get(scale) for scale in scales]))

    simulated(module, bench)
    assert found == [6, 6, 0.75]


def test_the_sum_of_values_is_0_without_the_last_sweep():
    trainer, found = Hardware(LearnerConfig(**TD3), 128), []
    trainer._losses = [Loss(trainer.config, sweep) for sweep in range(2)]

    async def bench(context):
        context.set(trainer._losses[0].value, 5)
        context.set(trainer._losses[1].value, 7)
        for sweeps in (1, 3, 0xFFFF_FFFD):
            context.set(trainer.control.hyperparameters.sweeps, sweeps)
            found.append(context.get(trainer._value()))

    simulated(Module(), bench)
    assert found == [0, 7, 0]


def test_an_act_runs_in_the_sweep_of_its_pass():
    """Of ``td3`` in the second, whatever sweep is under way: the first has the target actor."""
    trainer, found = Hardware(LearnerConfig(**TD3), 128), []
    trainer.sweeps = SweepControl(trainer.config)
    target = [weights == ("target",) for weights in trainer.config.plan.weights("actor")]

    async def bench(context):
        for acting, sweep in ((0, 0), (0, 1), (1, 0), (1, 1)):
            context.set(trainer.acting, acting)
            context.set(trainer.sweeps.sweep, sweep)
            found.append(context.get(trainer.now([*map(int, target)])))

    simulated(Module(), bench)
    assert found == [1, 0, 0, 0]


def test_what_every_unit_clips_is_counted():
    """Layers, the reader of samples, losses of both sweeps and merges; nothing in an ACT."""
    trainer, found = Hardware(LearnerConfig(**TD3), 128), []
    reader, *losses, merge = (SimpleNamespace(saturations=1 << k) for k in range(4))
    trainer._losses, trainer.merges = losses, [merge]
    layers = [SimpleNamespace(saturations=(16, 32, 64 << k)) for k in range(2)]

    async def bench(context):
        for acting in (0, 1):
            context.set(trainer.acting, acting)
            found.append([context.get(count) for [count] in trainer._clipped(layers, reader)])

    simulated(Module(), bench)
    assert found == [[32, 65, 192 + 14], [0, 0, 0]]


def test_clipped_activations_of_online_and_target_are_counted():
    """Of ``td3``; of a data path without a pass in a sweep nothing is."""
    trainer, module, found = Hardware(LearnerConfig(**TD3), 128), Module(), []
    trainer.sweeps = SweepControl(trainer.config)
    networks = trainer._layers(module)

    async def bench(context):
        for sweep in range(2):
            context.set(trainer.sweeps.sweep, sweep)
            found.append([{context.get(x.counted) for x in own} for own in networks.values()])

    simulated(module, bench)
    assert [*networks] == ["actor", "critic", "critic_2"]
    assert found == [[{1}, {3}, {3}], [{1}, {1}, {0}]]


def taken(algorithm):
    """``(module, trainer, actor's last layer, critics' first ones)``: only what lies between."""
    options = dict(algorithm=algorithm, arithmetic=Arithmetic(kind="fixed"))
    trainer = Hardware(LearnerConfig(**SIZES | options), 128)
    trainer.sweeps = SweepControl(trainer.config)
    networks = trainer._layers(Module())
    trainer.merges, module = [], Module()
    wire_takers(module, trainer, "actor", networks)
    return module, trainer, networks["actor"][-1], [networks[x][0] for x in ("critic", "critic_2")]


def test_errors_of_actions_return_and_no_others(quartet):
    """The third word of a critic's inputs is the actor's; experiences are in front of it, padding
    behind. In the first sweep no error goes to the actor."""
    module, trainer, actor, critics = taken("quartet")
    latency, found = Merge.latency_of(trainer.config.arithmetic, 2), []

    async def bench(context):
        for sweep, index in ((1, 1), (1, 2), (1, 3), (0, 2)):
            context.set(trainer.sweeps.sweep, sweep)
            for critic, number in zip(critics, (5, -12), strict=True):
                context.set(critic.dx.index, index)
                for place in range(2):
                    context.set(critic.dx.value[0][0][place], number * (place + 1))
                for port in (critic.dx.valid, critic.dx_begun):
                    context.set(port, 1)
            begun = context.get(actor.delta_begun), context.get(critics[1].dx_room)
            await context.tick().repeat(latency)
            values = [context.get(actor.delta.payload[0][0][place]) for place in range(2)]
            comes = context.get(actor.delta.valid)
            found.append((*begun, comes, values if comes else None))

    simulated(module, bench)
    assert found == [(1, 0, 0, None), (1, 0, 1, [-7, -14]), (1, 0, 0, None), (0, 1, 0, None)]


def test_words_go_to_networks_that_run():
    """Of ``td3``: to both critics in the first sweep, to the first path of one in the second."""
    module, trainer, actor, critics = taken("td3")
    rooms, begun, given = [], [], []

    async def bench(context):
        for port in (actor.o.valid, actor.started, critics[0].chain_room, critics[1].chain_room):
            context.set(port, 1)
        context.set(actor.o.value[0][0][0], 77)
        # Noise that has not come holds up the first sweep, and no ACT.
        for sweep, acting in ((0, 1), (0, 0), (1, 0)):
            context.set(trainer.sweeps.sweep, sweep)
            context.set(trainer.acting, acting)
            rooms.append(context.get(actor.room))
            if not acting:
                begun.append([context.get(critic.chain_begun) for critic in critics])
        given.append(context.get(critics[0].chain_mask))
        await context.tick().repeat(Smooth.latency_of(trainer.config.arithmetic))
        given.extend(context.get(critic.chain.valid) for critic in critics)
        given.append(context.get(critics[0].chain.value[0][0][0]))
        for critic in reversed(critics):
            context.set(critic.chain_room, 0)
            rooms.append(context.get(actor.room))

    simulated(module, bench)
    assert rooms == [1, 0, 1, 1, 0] and begun == [[1, 1], [1, 0]]
    assert given == [0b01, 1, 0, 77]


def overflow(records, place):
    """Of two experiences from ``place`` on, alike but for the sign of the reward, one has no finite
    TD error."""
    records["next_obs"][place + 1] = records["next_obs"][place]
    records["discount"][place : place + 2] = np.finfo(np.float32).max
    records["reward"][place : place + 2] = np.finfo(np.float32).max * np.float32([1, -1])


def trained(seed=0, **options):
    """``(learner, before, result)`` of a step of the twin."""
    learner, rng = random_learner(LearnerConfig(**SIZES | options), seed)
    records = {n: 5 * x.astype("<f4") for n, x in experiences(learner.config, rng, 8).items()}
    before = learner.store().copy()
    if seed:
        overflow(records, 3)
    step = steps(1, 8, rate=(0, 0.01), clip=np.inf)[0]
    return learner, before, learner.train(records, None, np.ones(8, np.float32), step)


def test_twin_that_diverges_leaves_out_the_second_sweep(quartet):
    learner, before, result = trained(seed=1)
    assert result.diverged in (3, 4) and (learner.store() == before).all()
    assert not any(part.any() for pair in learner.gradients["actor"] for part in pair)


def test_networks_of_a_rate_share_it(quartet):
    """Both critics have the first rate, which is 0 here; actor and value have the second."""
    learner, before, _ = trained(optimizer="sgd")
    after = learner.store()
    learner.load(before)
    moved = {}
    for name, layers in learner.parameters.items():
        old = [part.copy() for layer in layers for part in layer["online"]]
        learner.load(after)
        new = [part for layer in layers for part in layer["online"]]
        moved[name] = any((a != b).any() for a, b in zip(old, new, strict=True))
        learner.load(before)
    assert moved == {"critic": False, "value": True, "critic_2": False, "actor": True}


def test_saturations_of_all_sweeps_are_counted(quartet):
    """Of a format in which activations and gradients are clipped."""
    learner, _, result = trained(arithmetic=NARROW)
    assert all(count > 0 for count in result.saturations[1:]), result.saturations
    assert learner.gradients.keys() == {"critic", "value", "critic_2", "actor"}


def test_clipped_weights_of_all_networks_are_counted(quartet):
    """Of parameters that are 0 only the last biases have a gradient: one of each critic, three of
    the value network. In the second sweep nothing moves."""
    learner = Trainer(LearnerConfig(**SIZES, arithmetic=NARROW, optimizer="sgd"))
    records = experiences(learner.config, np.random.default_rng(0), 8) | dict(reward=np.ones(8))
    records = {name: x.astype("<f4") for name, x in records.items()}
    step = steps(1, 8, rate=1e3)[0]
    assert learner.train(records, None, np.ones(8, np.float32), step).saturations[0] == 5


def test_gradients_that_a_critic_clips_on_the_way_to_the_actor_are_counted():
    """Of ``td3``: one of each sample; no critic has a TD error, and the actor's errors are 0."""
    learner, unit = Trainer(LearnerConfig(**TD3, arithmetic=NARROW)), 1 << NARROW.weight.fraction
    first, last = (layer["online"] for layer in learner.parameters["critic"])
    first[1][0] = unit // 2
    last[0][0, 0], last[1][0] = 3 * unit, -3 * unit // 2
    records = experiences(learner.config, np.random.default_rng(0), 8)
    records |= dict(reward=np.zeros(8), discount=np.zeros(8))
    records, counts = {name: x.astype("<f4") for name, x in records.items()}, []
    for sweeps in (1, 3):
        step = steps(1, 8, learner.config, rate=0, shift=[0] * 7, sweeps=sweeps)[0]
        result = learner.train(records, None, np.ones(8, np.float32), step)
        counts.append(result.saturations[2])
    assert counts == [0, 8]


def test_each_later_sweep_has_its_bit(monkeypatch):
    """Of three; the networks of those that are left out stay as they are."""
    for names, key, value in random_plan.entries(9):
        monkeypatch.setitem(names, key, value)
    sizes = dict(observation=3, action=2, hidden=(4,), batch=8, clip_norm=True)
    learner = Trainer(LearnerConfig(algorithm="random_9", **sizes))
    rng, plan = np.random.default_rng(0), learner.config.plan
    records = {name: x.astype("<f4") for name, x in experiences(learner.config, rng, 8).items()}
    for array in (a for layers in learner.parameters.values() for x in layers for a in x["online"]):
        array[...] = rng.normal(size=array.shape)
    for sweeps in (5, 3):
        before = copy.deepcopy(learner.parameters)
        step = steps(1, 8, learner.config, sweeps=sweeps)[0]
        result = learner.train(records, None, np.ones(8, np.float32), step)
        assert (result.value == 0) == (sweeps == 3), "the last sweep's"
        for name, layers in learner.parameters.items():
            moved = (layers[-1]["online"][1] != before[name][-1]["online"][1]).any()
            assert moved == bool(sweeps >> plan.trained_in(name) & 1), (name, sweeps)
