"""TD errors of the batch: one binary32 pipeline for all cores, a sample every ``GAP`` clocks.

Samples are taken in the order of the batch, so that sums and items equal any other learner's.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.network.loss import send_td
from hw.learner.records import WORDS, record_granules, record_words
from hw.nn.td_loss import TdLoss
from hw.replay.records import ITEM
from hw.stream.delay import delay

__all__ = ["GAP", "TdErrors", "error_layout"]

#: Clocks from a sample to the next. The pipeline takes a sample a clock, and four clocks read one;
#: but the errors are computed beside the actor's passes, which take longer.
GAP = 7

#: Where a sample is read from memory, and the clock of its q values.
_READS = ("index", "weight", "reward", "discount")
_BEGINS = len(_READS)


def _words(config):
    """The places of a core's samples, in pairs."""
    return range(2 * -(-config.samples // 2))


def error_layout(config):
    """If ``valid``: a word of errors at the critic's output, of one sample or of two, for E word
    ``word`` of core ``core``; ``keep``: which of the two samples exist."""
    return data.StructLayout(
        {
            "valid": 1,
            "core": range(config.cores),
            "word": _words(config),
            "keep": 2,
            "value": data.ArrayLayout(config.arithmetic.gradient.shape, 2),
        }
    )


class TdErrors(wiring.Component):
    """Computes TD error, gradient and loss of every sample by ``hw.nn.td_loss``, and writes the
    gradients, here called errors, as words of E cells.

    Sample b belongs to core ``b % cores`` and has place ``j = b // cores`` there. The Q values of a
    place are word j of its core; with ``half`` they are one of the two in word ``j // 2``. The
    error of a place is word j of E; with ``pair`` two errors share word ``j // 2``. A place without
    a sample has error 0.

    Parameters
    ----------
    config : FixarConfig

    Attributes
    ----------
    size : int
        32-bit words of an experience with its header.
    latency : int
        Clocks from ``start`` to ``done`` for a single place, if no item has to wait; ``GAP`` more
        for each further place.

    Members
    -------
    start : In(1), batch : In, groups : In, half : In(1), pair : In(1)
        ``start`` is high for one clock, when the batch before is over: the errors of ``batch``
        samples, with ``groups`` words of Q values in each core, are to be computed. The others are
        steady until ``done``; ``pair`` is 1 only if ``half`` is.
    inverse, clip : In(32)
        In binary32, steady until ``done``: reciprocal of the batch's largest weight; limit of the
        TD errors, infinity for none.
    address : Out, word : In(32)
        A word of the batch, one clock after its address; experience b begins at ``b * size``.
    q_address : Out({core, word}), q, q_next : In([2] of activations)
        Q values of s and of s', at the latest four clocks after their address.
    td : Out(stream.Signature(ITEM.shape))
        Index and TD error of each sample, in the order of the batch.
    error : Out({valid, core, word, keep: 2, value: [2] of errors})
        A word of errors for word ``word`` of core ``core``'s E cells. ``keep``: which of its
        samples exist; the second only with ``pair``.
    saturated : Out(1)
        An error was clipped in this clock.
    loss, td_sum : Out(32)
        Sums over the samples, binary32, in the order of ``BatchSum``. They are there
        ``TdLoss.FOLD_LATENCY + 1`` clocks after ``done``, long before the last update ends.
    diverged, diverged_index : Out
        A TD error was infinite or NaN; the index of the first such experience.
    done : Out(1)
        All errors are there, though items may still wait; high until the next ``start``.
    """

    def __init__(self, config):
        self.config = config
        self._pipeline = TdLoss(config.arithmetic)
        self.size = (1 + record_granules(config)) * WORDS
        self.latency = self.latency_of(config)
        # So many that only a slow reader makes the pipeline wait.
        self._ahead = -(-(self._pipeline.td_latency + 3) // GAP) + 2
        words = _words(config)
        activations = data.ArrayLayout(config.arithmetic.activation.shape, 2)
        cores = range(config.cores)
        super().__init__(
            {
                "start": In(1),
                "batch": In(range(config.batch + 1)),
                "groups": In(range(config.samples + 1)),
                "half": In(1),
                "pair": In(1),
                "inverse": In(32),
                "clip": In(32),
                "address": Out(range(self.size * len(words) * config.cores)),
                "word": In(32),
                "q_address": Out(data.StructLayout({"core": cores, "word": words})),
                "q": In(activations),
                "q_next": In(activations),
                "td": Out(stream.Signature(ITEM.shape)),
                "error": Out(error_layout(config)),
                "saturated": Out(1),
                "loss": Out(32),
                "td_sum": Out(32),
                "diverged": Out(1),
                "diverged_index": Out(32),
                "done": Out(1),
            }
        )

    @staticmethod
    def latency_of(config):
        """Clocks from ``start`` to ``done`` for a single place."""
        return 1 + _BEGINS + TdLoss.latency_of(config.arithmetic)

    def elaborate(self, platform):
        m = Module()
        m.submodules.pipeline = pipeline = self._pipeline
        place = self._walk(m)
        read = self._read(m, place)
        begins = place["begins"]
        m.d.comb += [
            pipeline.i.valid.eq(begins & place["exists"]),
            pipeline.i.q.eq(Mux(place["second"], self.q[1], self.q[0])),
            pipeline.i.bootstrap.eq(Mux(place["second"], self.q_next[1], self.q_next[0])),
            pipeline.i.weight.eq(read["weight"]),
            pipeline.i.reward.eq(read["reward"]),
            pipeline.i.discount.eq(self.word),
            pipeline.inverse.eq(self.inverse),
            pipeline.clip.eq(self.clip),
            pipeline.clear.eq(self.start),
            self.loss.eq(pipeline.loss_sum),
            self.td_sum.eq(pipeline.td_sum),
            self.saturated.eq(pipeline.gradient.valid & pipeline.gradient.saturated),
        ]
        self._send_td(m, read["index"])
        self._send_errors(m, place)
        # The last error has left when its loss is about to enter the sums.
        ends = delay(m, begins & place["last"], pipeline.latency - 1, name="ends", reset=True)
        m.d.comb += pipeline.fold.eq(delay(m, ends, 1, name="fold", reset=True))
        with m.If(ends):
            m.d.sync += self.done.eq(1)
        with m.If(self.start):
            m.d.sync += self.done.eq(0)
        return m

    def _walk(self, m):
        """Goes through the places: the signals of the present place, and when it begins."""
        config, size = self.config, self.size
        busy, phase, base = Signal(), Signal(range(GAP)), Signal.like(self.address)
        core = Signal(range(config.cores))
        j = Signal.like(self.q_address.word)
        left = Signal.like(self.batch)  # samples that are not over
        self._room = Signal()
        waits, last_core, last, steps = Signal(), Signal(), Signal(), Signal()
        places = Signal(range(2 * config.samples + 1))
        m.d.comb += [
            places.eq(self.groups << self.half),
            waits.eq((phase == 0) & ~self._room),
            steps.eq(busy & (phase == GAP - 1)),
            last_core.eq(core == config.cores - 1),
            last.eq(last_core & (j + 1 == places)),
        ]
        with m.If(busy & ~waits):
            m.d.sync += phase.eq(Mux(steps, 0, phase + 1))
        with m.If(steps):
            m.d.sync += [
                busy.eq(~last),
                base.eq(base + size),
                left.eq(left - (left != 0)),
                core.eq(Mux(last_core, 0, core + 1)),
                j.eq(j + last_core),
            ]
        with m.If(self.start):
            m.d.sync += [busy.eq(1), base.eq(0), core.eq(0), j.eq(0), left.eq(self.batch)]
        m.d.comb += [
            self.q_address.core.eq(core),
            self.q_address.word.eq(Mux(self.half, j >> 1, j)),
        ]
        return dict(
            phase=phase,
            base=base,
            core=core,
            j=j,
            second=self.half & j[0],
            exists=left != 0,
            last=last,
            begins=busy & (phase == _BEGINS),
        )

    def _read(self, m, place):
        """The sample's scalars when it begins; the last word has just come."""
        words = record_words(self.config)
        offsets = {"index": 0, "weight": 2}
        offsets |= {name: WORDS + words[name][0] for name in ("reward", "discount")}
        read = {name: Signal(32, name=f"read_{name}", reset_less=True) for name in _READS[:-1]}
        with m.Switch(place["phase"]):
            for phase, name in enumerate(_READS):
                with m.Case(phase):
                    m.d.comb += self.address.eq(place["base"] + offsets[name])
                    if phase:
                        m.d.sync += read[_READS[phase - 1]].eq(self.word)
        return read

    def _send_td(self, m, index):
        pipeline, depth = self._pipeline, self._ahead
        send_td(m, self, pipeline, index, depth)
        untaken = Signal(range(depth + 1))
        m.d.comb += self._room.eq(untaken != depth)
        m.d.sync += untaken.eq(untaken + pipeline.i.valid - (self.td.valid & self.td.ready))

    def _send_errors(self, m, place):
        """Sends words of one error or of two; the first of two waits in a register of its core."""
        clocks, error = self._pipeline.gradient_latency, self.error
        late = {
            name: delay(m, Value.cast(place[name]), clocks, name=f"late_{name}", reset=reset)
            for name, reset in (("begins", True), ("exists", False), ("core", False), ("j", False))
        }
        gradient = self._pipeline.gradient.value
        value = Signal(gradient.shape())
        m.d.comb += value.eq(Mux(late["exists"], gradient, 0))
        firsts = Array(
            Signal(1 + len(value), name=f"first_{core}", reset_less=True)
            for core in range(self.config.cores)
        )
        second = self.pair & late["j"][0]
        first = Signal(1 + len(value))
        with m.If(late["begins"] & ~second):
            m.d.sync += firsts[late["core"]].eq(Cat(value, late["exists"]))
        m.d.comb += first.eq(Mux(second, firsts[late["core"]], Cat(value, late["exists"])))
        m.d.sync += [
            error.valid.eq(late["begins"] & (second | ~self.pair)),
            error.core.eq(late["core"]),
            error.word.eq(Mux(self.pair, late["j"] >> 1, late["j"])),
            error.keep.eq(Cat(first[-1], second & late["exists"])),
            error.value[0].eq(first[:-1].as_signed()),
            error.value[1].eq(value),
        ]
