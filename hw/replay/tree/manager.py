"""The replay manager: one stream of GET, SET, SAMPLE and FIND, one operation a clock in any mix.

Interval 1; a response leaves ``latency`` clocks after its request when nothing stalls, so a batch
of B operations takes B + ``latency`` clocks. PEARL section V-A (one opcode stream over a tree).
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from hw.arith.multiply import Multiply
from hw.arith.sfc64 import STATE_LAYOUT
from hw.comparison import at_least
from hw.replay.config import FRACTION_WIDTH
from hw.replay.tree.draw import Draw
from hw.replay.tree.operations import Operation, request_layout, response_layout
from hw.replay.tree.priority_table import PriorityTable
from hw.replay.tree.tree_level import TreeLevel
from hw.stream.delay import delay

__all__ = ["ReplayManager"]


class ReplayManager(wiring.Component):
    """Executes operations as if each had finished before the next one began.

    SAMPLE finds the leaf of target = floor(fraction * total / 2**48), with the total as it is after
    all operations before it. The leaf that holds target t is the least i with p_0 + ... + p_i > t,
    so a leaf of zero priority is never drawn. Errors are an index of ``capacity`` or more, a FIND
    at or past the total, and a SAMPLE from an empty tree.

    Operations travel from the priority table over the target multiplier down the levels and never
    stall on the way: a request enters only when the response queue has room for its answer.

    Parameters
    ----------
    config : ReplayConfig

    Members
    -------
    request : In(stream of request_layout)
        Operations, each with its operands.
    response : Out(stream of response_layout)
        In the order of the requests.
    stratum_width : In(49)
        Stratum width w of SAMPLE: with 2**48 every draw is uniform; with floor(2**48 / B), draw k
        falls into stratum k of B equal ones. Steady while SAMPLEs enter.
    load : In(1), seed : In(STATE_LAYOUT), state : Out(STATE_LAYOUT)
        ``load``, one clock while ``idle``: the state of the random generator becomes ``seed``.
        ``state`` is the present one.
    clear : In(1)
        One clock: all priorities, total and maximum become 0. This begins when no operation is
        under way any more, and takes as many clocks as the deepest memory has words. Requests wait
        until it is over. Reset does the same.
    idle : Out(1)
        No response is still to be taken, and nothing is being cleared.
    total : Out(total_width), maximum : Out(priority_width)
        Sum of all priorities; largest priority SET since the last clear.
    """

    INTERVAL = 1

    def __init__(self, config):
        self.config = config
        memories = [config.table_rows, *(shape.nodes for shape in config.levels)]
        self.clear_count = max(memories)
        clear_width = self.clear_count.bit_length()
        self.table = PriorityTable(config, clear_width=clear_width)
        self.draw = Draw()
        self.scale = Multiply(FRACTION_WIDTH, config.total_width)
        self.levels = [
            TreeLevel(config, level, clear_width=clear_width) for level in range(config.depth)
        ]
        self.front_latency, self.latency = config.front_latency, config.latency
        self.queue_depth = 1 << self.latency.bit_length()
        super().__init__(
            {
                "request": In(stream.Signature(request_layout(config))),
                "response": Out(stream.Signature(response_layout(config))),
                "stratum_width": In(FRACTION_WIDTH + 1),
                "load": In(1),
                "seed": In(STATE_LAYOUT),
                "state": Out(STATE_LAYOUT),
                "clear": In(1),
                "idle": Out(1),
                "total": Out(config.total_width),
                "maximum": Out(config.priority_width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.table = self.table
        m.submodules.draw = self.draw
        m.submodules.scale = self.scale
        accept, sweep = self._admission(m)
        is_set, wrong_index = self._front(m, accept, sweep)
        operation = self._scale(m, accept, is_set, wrong_index)
        self._tree(m, operation)
        self._response(m, operation)
        return m

    def _admission(self, m):
        """Reserves a place in the response queue for every operation under way; sweeps the memories
        for ``clear``."""
        under_way = Signal(range(self.queue_depth + 1))
        accept = Signal()
        leave = Signal()
        clearing = Signal(init=1)
        clear_address = Signal(self.clear_count.bit_length())
        m.d.comb += [
            self.request.ready.eq((under_way != self.queue_depth) & ~clearing),
            accept.eq(self.request.valid & self.request.ready),
            leave.eq(self.response.valid & self.response.ready),
            self.idle.eq((under_way == 0) & ~clearing),
        ]
        m.d.sync += under_way.eq(under_way + accept - leave)
        sweep = Signal()
        m.d.comb += sweep.eq(clearing & (under_way == 0))
        with m.If(self.clear):
            m.d.sync += [clearing.eq(1), clear_address.eq(0)]
        with m.Elif(sweep):
            m.d.sync += clear_address.eq(clear_address + 1)
            with m.If(clear_address == self.clear_count - 1):
                m.d.sync += clearing.eq(0)
        for unit in [self.table, *self.levels]:
            m.d.comb += [unit.clear.eq(sweep), unit.clear_address.eq(clear_address)]
        return accept, sweep

    def _front(self, m, accept, sweep):
        """Reads the table and draws a fraction, side by side."""
        config, request = self.config, self.request.p
        table, draw = self.table, self.draw
        is_set = Signal()
        wrong_index = Signal()
        m.d.comb += [
            wrong_index.eq(
                ((request.operation == Operation.GET) | (request.operation == Operation.SET))
                & at_least(request.index, config.capacity)
            ),
            is_set.eq(accept & (request.operation == Operation.SET) & ~wrong_index),
            table.set.eq(is_set),
            table.index.eq(request.index),
            table.priority.eq(request.value),
            draw.take.eq(accept & (request.operation == Operation.SAMPLE)),
            draw.first.eq(request.first),
            draw.stratum_width.eq(self.stratum_width),
            draw.load.eq(self.load),
            draw.seed.eq(self.seed),
            self.state.eq(draw.state),
            self.total.eq(table.running_total),
        ]
        # A clock later: what gives the request has little time left in its own.
        s1_set = delay(m, is_set, 1, name="s1_set", reset=True)
        s1_priority = delay(m, table.priority, 1, name="s1_priority")
        with m.If(sweep):
            m.d.sync += self.maximum.eq(0)
        with m.Elif(s1_set & (s1_priority > self.maximum)):
            m.d.sync += self.maximum.eq(s1_priority)
        return is_set, wrong_index

    def _scale(self, m, accept, is_set, wrong_index):
        """Computes the target of a SAMPLE; a FIND brings its own. Returns what goes on to the
        tree."""
        request, table, draw, scale = self.request.p, self.table, self.draw, self.scale
        after_table = self.front_latency - table.latency
        s_valid = delay(m, accept, self.front_latency, name="s_valid", reset=True)
        s_set = delay(m, is_set, self.front_latency, name="s_set", reset=True)
        s_wrong = delay(m, wrong_index, self.front_latency, name="s_wrong")
        s_request = delay(m, request, self.front_latency, name="s_request")
        s_total = delay(m, table.total, after_table, name="s_total")
        s_old = delay(m, table.old, after_table, name="s_old")
        s_delta = delay(m, table.delta, after_table, name="s_delta")
        s_fraction = delay(m, draw.fraction, self.front_latency - Draw.LATENCY, name="s_fraction")
        s_find = Signal()
        s_error = Signal()
        m.d.comb += [scale.a.eq(s_fraction), scale.b.eq(s_total)]
        with m.Switch(s_request.operation):
            with m.Case(Operation.SAMPLE):
                m.d.comb += s_error.eq(s_total == 0)
            with m.Case(Operation.FIND):
                m.d.comb += s_error.eq(s_request.value >= s_total)
            with m.Default():
                m.d.comb += s_error.eq(s_wrong)
        s_search = (s_request.operation == Operation.SAMPLE) | (
            s_request.operation == Operation.FIND
        )
        m.d.comb += s_find.eq(s_valid & s_search & ~s_error)
        return SimpleNamespace(
            valid=s_valid,
            set=s_set,
            find=s_find,
            request=s_request,
            total=s_total,
            old=s_old,
            delta=s_delta,
            error=s_error,
        )

    def _tree(self, m, operation):
        """The levels, from the root to the leaves' parents."""
        scale = self.scale
        root = self.levels[0].i
        t_request = delay(m, operation.request, scale.latency, name="t_request")
        m.d.comb += [
            root.valid.eq(delay(m, operation.valid, scale.latency, name="t_valid", reset=True)),
            root.set.eq(delay(m, operation.set, scale.latency, name="t_set", reset=True)),
            root.find.eq(delay(m, operation.find, scale.latency, name="t_find", reset=True)),
            root.index.eq(Mux(root.find, 0, t_request.index)),
            root.delta.eq(delay(m, operation.delta, scale.latency, name="t_delta")),
            root.base.eq(0),
            root.upper.eq(delay(m, operation.total, scale.latency, name="t_total")),
            root.target.eq(
                Mux(
                    t_request.operation == Operation.SAMPLE,
                    scale.product[FRACTION_WIDTH:],
                    t_request.value,
                )
            ),
        ]
        for level, unit in enumerate(self.levels):
            m.submodules[f"level_{level}"] = unit
            if level:
                m.d.comb += unit.i.eq(self.levels[level - 1].o)

    def _response(self, m, operation):
        """Answers with the priority of the leaf that was found, or with that of the table."""
        config, last = self.config, self.levels[-1].o
        way = self.scale.latency + self.config.tree_latency
        value = operation.request.value[: config.priority_width]
        s_priority = Mux(operation.set, value, operation.old)
        r_priority = delay(m, s_priority, way, name="r_priority")
        r_error = delay(m, operation.error, way, name="r_error")
        m.submodules.queue = queue = SyncFIFOBuffered(
            width=response_layout(config).size, depth=self.queue_depth
        )
        response = Signal(response_layout(config), reset_less=True)
        m.d.sync += [
            response.index.eq(Mux(r_error, 0, last.index)),
            response.priority.eq(
                Mux(r_error, 0, Mux(last.find, last.upper - last.base, r_priority))
            ),
            response.error.eq(r_error),
        ]
        m.d.comb += [
            queue.w_en.eq(delay(m, last.valid, 1, name="r_valid", reset=True)),
            queue.w_data.eq(response),
            self.response.payload.eq(queue.r_data),
            self.response.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.response.ready),
        ]
