"""update_control with limited norms: when layers are measured and updated, and which numbers each
network's norm has. The norms are hollow here: a test says when they are ready."""

import pytest
from amaranth import Module
from amaranth.sim import Simulator

from hw.learner.config import LearnerConfig
from hw.learner.network.gradient_norm import GradientNorm
from hw.learner.network.update_control import UpdateControl

#: Of td3, in the order of the image, with the first layer and the bits of both.
NORMS = {"critic": (0, 0b000011), "critic_2": (2, 0b001100), "actor": (4, 0b110000)}


@pytest.fixture
def controlled(monkeypatch):
    """``controlled(bench)`` runs ``bench(context, unit, norms)``, norms by network."""
    monkeypatch.setattr(GradientNorm, "elaborate", lambda self, platform: Module())

    def run(bench):
        sizes = dict(algorithm="td3", observation=3, action=2, hidden=(4,), batch=8)
        unit = UpdateControl(LearnerConfig(clip_norm=True, **sizes))
        module = unit.elaborate(None)
        norms = {name: module.submodules[f"{name}_norm"] for name in NORMS}

        async def started(context):
            await bench(context, unit, norms)

        simulator = Simulator(module)
        simulator.add_clock(1e-6)
        simulator.add_testbench(started)
        simulator.run()

    return run


def test_each_norm_has_the_numbers_of_its_network(controlled):
    """Both critics have the first largest norm."""

    async def bench(context, unit, norms):
        for k, port in enumerate(unit.squares):
            context.set(port, 10 + k)
        for k, port in enumerate(unit.scales):
            context.set(port, 20 + k)
        for k in range(2):
            context.set(unit.max_norm[k], 30 + k)
        context.set(unit.clear, 1)
        for number, (name, (first, _)) in enumerate(NORMS.items()):
            norm = norms[name]
            context.set(norm.limited, 40 + number)
            totals = [context.get(total) for total in norm.totals]
            assert totals == [10 + first, 11 + first]
            given = [context.get(port) for port in (norm.scale, norm.max_norm, norm.clear)]
            assert given == [20 + number, 30 + (name == "actor"), 1]
            assert context.get(unit.limited[number]) == 40 + number

    controlled(bench)


def test_layers_are_measured_and_then_updated_together(controlled):
    """Each layer once its gradients are complete; a network when all of it is measured and its
    scale has come, before another or after it. In the second sweep it is the actor."""

    async def bench(context, unit, norms):
        found = []
        for updates, done, busy, ready in (
            (1, 0b000000, 0b000000, ""),
            (0, 0b000001, 0b000000, ""),  # the critic's first layer begins,
            (0, 0b101111, 0b000001, ""),  # then three others, while it is busy
            (0, 0b111111, 0b001110, ""),
            (0, 0b111111, 0b000010, ""),  # critic_2 is measured,
            (0, 0b111111, 0b000010, "critic_2"),
            (0, 0b111111, 0b001100, ""),  # and the critic after it
            (0, 0b111111, 0b000000, "critic"),
            (0, 0b111111, 0b000011, ""),
            (0, 0b111111, 0b000000, ""),
            (2, 0b111111, 0b000000, ""),
            (0, 0b111111, 0b000000, ""),
            (0, 0b111111, 0b110000, ""),
            (0, 0b111111, 0b000000, "actor"),
            (0, 0b111111, 0b000000, ""),
        ):
            for port, value in ((unit.updates, updates), (unit.done, done), (unit.busy, busy)):
                context.set(port, value)
            for name, norm in norms.items():
                context.set(norm.ready, name == ready)
            complete = [name for name, norm in norms.items() if context.get(norm.complete)]
            shown = (unit.measure, unit.update, unit.updating)
            found.append((*(context.get(port) for port in shown), " ".join(complete)))
            await context.tick()
        assert found == [
            (0b000000, 0b000000, 0, ""),
            (0b000001, 0b000000, 1, ""),
            (0b001110, 0b000000, 1, ""),
            (0b000000, 0b000000, 1, ""),
            (0b000000, 0b000000, 1, "critic_2"),
            (0b000000, 0b001100, 1, "critic_2"),
            (0b000000, 0b000000, 1, "critic"),
            (0b000000, 0b000011, 1, "critic"),
            (0b000000, 0b000000, 1, ""),
            (0b000000, 0b000000, 0, ""),
            (0b000000, 0b000000, 0, ""),
            (0b110000, 0b000000, 1, ""),
            (0b000000, 0b000000, 1, ""),
            (0b000000, 0b110000, 1, "actor"),
            (0b000000, 0b000000, 0, ""),
        ]

    controlled(bench)
