"""Clocks of each pass of one compute unit in the RTL, and the share of them in which PEs work."""

from amaranth import C, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bench import row
from hw.errors import Failure
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.layouts import unit_task
from hw.fa3c.pass_types import Kind
from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.fa3c.unit.compute_unit import ComputeUnit
from hw.fa3c.unit.pass_clocks import pass_clocks
from hw.shell.ports import read_port, write_port
from hw.stream.delay import delay
from hw.stream.queue import Queue
from sim.streams import StreamUnit

__all__ = ["PAPER", "measure", "rows"]

_SOURCE = "RTL under Verilator, one unit of 64 PEs, memory that answers after 64 clocks"

#: (kind, layer) -> clocks of FA3C's own mapping on 64 PEs, computed from its sections 4.2 to 4.5.
#: An inference has one agent, a training 5 samples.
PAPER = {
    (Kind.FW, 0): 25_600,
    (Kind.FW, 1): 11_520,
    (Kind.FW, 2): 41_472,
    (Kind.FW, 3): 512,
    (Kind.GC, 0): 128_000,
    (Kind.GC, 1): 51_840,
    (Kind.GC, 2): 51_840,
    (Kind.GC, 3): 640,
    (Kind.BW, 1): 102_400,
    (Kind.BW, 2): 52_480,
    (Kind.BW, 3): 640,
}
#: Clocks from a request to its first beat.
_LATENCY = 64
_EVENT = data.StructLayout({"clock": 32, "done": 1})


def _answer_reads(m, port, name):
    """Answers each request after ``_LATENCY`` clocks with ones, a beat a clock."""
    m.submodules[f"{name}_owed"] = owed = Queue(unsigned(24), 512)
    left = Signal(24, name=f"{name}_left")
    asked = port.request.valid
    m.d.comb += [
        port.request.ready.eq(1),
        owed.i.valid.eq(delay(m, asked, _LATENCY - 4, name=f"{name}_asked", reset=True)),
        owed.i.payload.eq(delay(m, port.request.p.beats, _LATENCY - 4, name=f"{name}_beats")),
        port.data.valid.eq(left != 0),
        port.data.p.data.eq(C(0x3F80_0000, 32).replicate(ROW)),
        owed.o.ready.eq((left == 0) | ((left == 1) & port.data.ready)),
    ]
    with m.If(owed.o.ready):
        m.d.sync += left.eq(Mux(owed.o.valid, owed.o.payload, 0))
    with m.Elif(port.data.ready):
        m.d.sync += left.eq(left - 1)


def _answer_writes(m, port, name):
    """Answers each request with a token, some clocks after it."""
    m.submodules[f"{name}_owed"] = owed = Queue(unsigned(24), 64)
    m.submodules[f"{name}_tokens"] = tokens = Queue(unsigned(1), 64)
    written = Signal(24, name=f"{name}_written")
    last = owed.o.valid & (written >= owed.o.payload)
    m.d.comb += [
        port.request.ready.eq(owed.i.ready),
        owed.i.valid.eq(port.request.valid),
        owed.i.payload.eq(port.request.p.beats),
        port.data.ready.eq(1),
        owed.o.ready.eq(last),
        tokens.i.valid.eq(last),
        port.done.valid.eq(tokens.o.valid),
        tokens.o.ready.eq(port.done.ready),
    ]
    m.d.sync += written.eq(written + port.data.valid - Mux(last, owed.o.payload, 0))


class _Clocks(wiring.Component):
    """A compute unit with memories full of ones: ``response`` gives the clock in which each pass
    begins, and the clock in which the task ends."""

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "request": In(stream.Signature(unit_task(config))),
                "response": Out(stream.Signature(_EVENT)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = ComputeUnit(self.config, 0)
        m.submodules.events = events = Queue(_EVENT, 32)
        connect(m, flipped(self.request), unit.task)
        connect(m, events.o, flipped(self.response))
        clock = Signal(32)
        m.d.sync += clock.eq(clock + 1)
        with m.If(self.request.valid & self.request.ready):
            m.d.sync += clock.eq(1)
        m.d.comb += [
            unit.gradients.ready.eq(1),
            events.i.valid.eq(unit.begun | unit.done),
            events.i.p.clock.eq(clock),
            events.i.p.done.eq(unit.done),
        ]
        for name, kind in (
            ("parameters", "r"),
            ("features", "r"),
            ("screens", "r"),
            ("rollout", "w"),
            ("outputs", "w"),
        ):
            signature = (read_port if kind == "r" else write_port)(ROW_WIDTH)
            port = signature.flip().create(path=(name,))
            connect(m, getattr(unit, name), port)
            (_answer_reads if kind == "r" else _answer_writes)(m, port, name)
        return m


def measure(unit, config, *, train, count):
    """``(clocks of the whole task, list of the clocks of each pass)`` of one compute unit.

    ``unit`` is a ``StreamUnit`` of ``_Clocks``. The task is a training of ``count`` samples if
    ``train``, else an inference of ``count`` agents.
    """
    passes = training_passes(config) if train else forward_passes(config)
    task = unit_task(config).const({"train": train, "count": count, "agents": [0] * 8})
    found, _ = unit.run([task.as_value().value], responses=len(passes) + 1, max_idle=2_000_000)
    clocks = [_EVENT.from_bits(word).clock for word in found]
    return clocks[-1], [after - before for before, after in zip(clocks, clocks[1:], strict=False)]


def _name(p):
    convolutions = ("conv1", "conv2")
    return f"{p.kind.name} {convolutions[p.layer] if p.layer < 2 else f'fc{p.layer + 1}'}"


def rows():
    """The list of rows infer_cycles and train_cycles of tasks, and of pass_cycles and pe_use (the
    share of clocks in which PEs work) of each pass.

    Failure if the clocks of a pass differ from the estimate.
    """
    config, result = Fa3cConfig(units=("any",)), []
    unit = StreamUnit(_Clocks(config), name="fa3c_unit")
    bars = {(0, 4): 190_000, (0, 1): 80_000, (1, 5): 345_000}
    papers = {(0, 4): 4 * 79_104, (0, 1): 79_104, (1, 5): 503_400}
    for (train, count), bar in bars.items():
        name = "train" if train else "infer"
        passes = training_passes(config) if train else forward_passes(config)
        clocks, found = measure(unit, config, train=train, count=count)
        case = f"Atari network, {count} {'samples' if train else 'agents'}"
        result += [
            row("fa3c", case, f"{name}_cycles", clocks, "cycles",
                reference="FA3C's mapping on 64 PEs, computed",
                reference_value=papers[train, count], source=_SOURCE),
            row("fa3c", case, f"{name}_cycles", clocks, "cycles", reference="at most",
                reference_value=bar, source=_SOURCE),
        ]  # fmt: skip
        expected = pass_clocks(config, passes, count)
        for position, (p, cycles) in enumerate(zip(passes, found, strict=True)):
            layer = config.layers[p.layer]
            work = count * layer.products // (config.lanes * ROW)
            ideal = count if not train else 1
            result += [
                row("fa3c", f"{case}, {_name(p)}", "pass_cycles", cycles, "cycles",
                    reference="FA3C's mapping on 64 PEs, computed",
                    reference_value=PAPER[p.kind, p.layer] * ideal, source=_SOURCE),
                row("fa3c", f"{case}, {_name(p)}", "pe_use", round(work / cycles, 3), "",
                    reference="FA3C's mapping, computed",
                    reference_value=round(work / (PAPER[p.kind, p.layer] * ideal), 2),
                    source="products of the pass over clocks and PEs"),
            ]  # fmt: skip
            # The last pass of an inference is not compared: it ends with the stores of the task.
            if (train or position + 1 < len(passes)) and cycles != expected[position]:
                raise Failure(
                    f"clocks of {_name(p)} must be as estimated ({expected[position]}), "
                    f"not {cycles}"
                )
    unit.close()
    return result
