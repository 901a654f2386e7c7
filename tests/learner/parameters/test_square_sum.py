"""square_sum: the largest squares that there are, in every place of the largest layer's parts."""

from amaranth.sim import Simulator

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerConfig
from hw.learner.network.update_control import UpdateControl
from hw.learner.parameters.square_sum import SquareSum, square_shape

FIXED = Arithmetic(kind="fixed")


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
