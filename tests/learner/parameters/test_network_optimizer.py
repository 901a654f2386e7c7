"""network_optimizer: the optimizer is hollow here, and has the numbers of the layer whose turn it
is."""

from amaranth import Module
from amaranth.lib.wiring import In
from amaranth.sim import Simulator

from hw.learner.config import LearnerConfig
from hw.learner.parameters.network_optimizer import NetworkOptimizer
from hw.nn.optimizers import optimizer_of

LAYERS = 3


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
