"""square_sum with the largest squares that there are, and network_optimizer, whose optimizer is
hollow here and has the numbers of the layer whose turn it is."""

from amaranth import Module
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerConfig
from hw.learner.network.update_control import UpdateControl
from hw.learner.parameters.network_optimizer import NetworkOptimizer
from hw.learner.parameters.square_sum import SquareSum, square_shape
from hw.nn.optimizers import optimizer_of

FIXED = Arithmetic(kind="fixed")
LAYERS = 3


def test_sum_of_the_largest_squares():
    """Exact in fixed point, of all numbers; a sum begins with 0."""
    config = LayerConfig(arithmetic=FIXED, batch=8)
    shape = BlockShape(inputs=5, outputs=3, input_word=2, output_word=2, part=2)
    unit, found = SquareSum(config, shape), []
    largest = (1 << square_shape(config).width) - 1

    async def bench(context):
        for _ in range(2):
            context.set(unit.clear, 1)
            await context.tick()
            context.set(unit.clear, 0)
            for part in range(shape.parts):
                context.set(unit.i.valid, 1)
                context.set(unit.i.last, part == shape.parts - 1)
                for place in range(2):
                    context.set(unit.i.value[place], largest)
                await context.tick()
            context.set(unit.i.valid, 0)
            await context.tick().repeat(unit.latency_of(config, shape) - 1)
            found.append((context.get(unit.done), context.get(unit.total)))

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert found == [(1, shape.parts * shape.part * largest)] * 2


def test_a_network_adds_sums_of_its_widest_layer():
    """Which is not the first here."""
    config = LearnerConfig(
        observation=1, hidden=(2, 64), action=2, clip_norm=True, arithmetic=FIXED
    )
    widths = [
        SquareSum.sum_shape(config.layer_config, shape).width for shape in config.networks["q"]
    ]
    unit = UpdateControl(config)
    assert len(unit.squares[0]) == max(widths) > widths[0]


def test_layers_in_turn(monkeypatch):
    """From the clock after its begin a layer's numbers go in; results go to all layers."""
    config = LearnerConfig(optimizer="adam", hidden=(4, 4), update_units=0).layer_config
    cls, turns = optimizer_of(config.arithmetic), []
    monkeypatch.setattr(cls, "elaborate", lambda self, platform: Module())
    unit = NetworkOptimizer(config, LAYERS)
    module = unit.elaborate(None)
    optimizer = module.submodules.optimizer

    async def bench(context):
        context.set(unit.coefficients.rate, 5)
        assert context.get(optimizer.coefficients.rate) == 5
        for number, port in enumerate(unit.ports):
            for k, (_, member, value) in enumerate(port.signature.flatten(port)):
                if member.flow == In:
                    context.set(value, 10 * number + k)
        names = [path for path, member, _ in port.signature.flatten(port) if member.flow == In]
        members = {path: value for path, _, value in optimizer.signature.flatten(optimizer)}
        for begins in (0, 0b010, 0, 0b100, 0, 0b001, 0):
            context.set(unit.begins, begins)
            values = [context.get(members[path]) for path in names]
            assert len({value // 10 for value in values}) == 1
            turns.append(values[0] // 10)
            await context.tick()
        context.set(optimizer.new_weight, 7)
        context.set(optimizer.saturated, 1)
        for port in unit.ports:
            assert (context.get(port.new_weight), context.get(port.saturated)) == (7, 1)

    simulator = Simulator(module)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert turns == [0, 0, 1, 1, 2, 2, 0]
