"""Reads a batch out of its memory, sample by sample, for the first layers and for the loss.

It reads one, two or four 32-bit words of an experience a clock and lane, as many as the layers are
fast. A sample begins when all buffers have room.
"""

from collections import deque

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.quantize import Quantize
from hw.learner.algorithms.plan import of_sweep
from hw.learner.layouts import scalars_layout
from hw.learner.records import WORDS, observation_granules, record_granules, record_words
from hw.nn.layouts import feed_layout, vector_layout
from hw.stream.delay import delay
from hw.stream.queue import Queue

__all__ = ["ReaderClocks", "SampleReader", "words_a_clock"]

DEPTH = 16  # reads between the memory and the buffers
# Of them, those that may still be on their way when the walk stops: in the memory, in the
# conversion to fixed point, and in the two clocks until the queue's level tells.
_IN_FLIGHT = 1 + Quantize.LATENCY + 2


def _end(config):
    """The last word of a record that anybody reads: the discount."""
    return WORDS + sum(record_words(config)["discount"]) - 1


def words_a_clock(config):
    """How many words of an experience the reader reads in a clock: the least of 1, 2 and 4 with
    which reading a sample takes no longer than the slowest layer, or 4, a whole granule."""
    return next((count for count in (1, 2) if _clocks(config, count) <= config.interval), WORDS)


def _clocks(config, count):
    """Clocks of an experience: its reads of ``count`` words, and stalls while a layer takes a word
    of another network, as DDPG's critic takes the actor's outputs."""
    # Networks that take the outputs of the same network take them in the same clocks.
    sources = {link.source: name for name, link in config.plan.links.items() if link}
    joined = sum(config.networks[name][0].joined_words for name in sources.values())
    return _end(config) // count + 1 + joined


def _last_fed(config, name, sweep):
    """The last word of a record that goes to a network in a sweep; 0 if none does."""
    places, feeds = record_words(config), config.plan.feeds(name)
    ends = [sum(places[field]) for field, (_, masks) in feeds.items() if masks[sweep]]
    return max((WORDS + end - 1 for end in ends), default=0)


class SampleReader(wiring.Component):
    """Reads the samples of a batch from ``BatchMemory``. It sends the numbers of each sample to the
    first layers of the networks, as the networks' feeds say, and index, weight, action, reward and
    discount to the loss. A sample here is one experience of each lane.

    The reader reads ``count`` words of every lane a clock, and stalls while a buffer takes a word
    of another network. A sample takes the reads of its record up to the discount; the first sample
    takes a clock more. It begins when every buffer has a free slot (``docs/flow_control.md``) and
    fewer than ``scalars_ahead`` samples have scalars that the loss has not taken.

    Parameters
    ----------
    config : LearnerConfig
    depth : int
        Words of the batch memory.
    scalars_ahead : int
        Samples whose scalars may wait for the loss.

    Attributes
    ----------
    AHEAD : int
        Reads in the queue that stop further reads.
    count : int
        ``words_a_clock(config)``.
    feeds, scalars : dict
        The streams to each network, and of the scalars for each network.

    Members
    -------
    acting : In(1), sweep : In(range(sweeps))
        ``acting``: the batch holds observations, which are sent to the network that acts.
        ``sweep``: the current sweep, or the sweep of the acting pass if ``acting``. Both are steady
        while samples are to begin or under way.
    start : In(1), samples : In
        ``start``, a pulse: read the first ``samples`` samples of the batch. ``samples`` is steady
        until all of them have begun.
    address : Out.array(lanes), words : In([count] of 32).array(lanes)
        Wired to the members of ``BatchMemory`` with these names. Experience k goes to lane ``k mod
        lanes``.
    begun : Out(1)
        A pulse: a sample begins, and takes a slot in every buffer.
    room : In(1)
        Every buffer has a free slot.
    <network> : Out(stream of feed_layout)
        For each network of the config, with its name: the numbers for its first layer.
    scalars_<network> : Out(stream of scalars_layout)
        For each network of the config whose outputs a loss takes: the scalars of each sample, in
        order; none while ``acting``, or in a sweep whose loss does not take them.
    saturations : Out
        How many numbers of experiences were clipped to activations in this clock.
    """

    AHEAD = DEPTH - _IN_FLIGHT

    def __init__(self, config, depth, scalars_ahead):
        self.config, self.depth, self.scalars_ahead = config, depth, scalars_ahead
        self.count = words_a_clock(config)
        self._queues = {}
        self._seen = WORDS + config.observation - 1  # the last word of ``obs``
        shape, lanes = config.arithmetic.shape("activation"), config.lanes
        members = {}
        for name, network in config.plan.networks.items():
            groups = config.plan.count(name)
            layout = feed_layout(shape, network.inputs, groups, lanes, self.count)
            members[name] = Out(stream.Signature(layout))
        super().__init__(
            {
                "acting": In(1),
                "sweep": In(range(config.plan.sweeps)),
                "start": In(1),
                "samples": In(range(config.batch // lanes + 1)),
                "address": Out(range(depth)).array(lanes),
                "words": In(data.ArrayLayout(32, self.count)).array(lanes),
                "begun": Out(1),
                "room": In(1),
                **{
                    f"scalars_{name}": Out(stream.Signature(scalars_layout(config)))
                    for name in config.plan.ends
                },
                "saturations": Out(range(lanes * self.count + 1)),
                **members,
            }
        )
        self.feeds = {name: getattr(self, name) for name in config.plan.networks}
        self.scalars = {name: getattr(self, f"scalars_{name}") for name in config.plan.ends}

    @staticmethod
    def last_read_of(config, name=None, sweep=0, acting=False):
        """The number, from 0, of a sample's last read, or of the last that has numbers for the
        network ``name`` in a sweep. If ``acting``, samples are observations."""
        last = _last_fed(config, name, sweep) if name else _end(config)
        last = config.observation - 1 if acting else last
        return last // words_a_clock(config)

    @staticmethod
    def interval_of(config):
        """Clocks from one experience to the next, at least, where nothing else is slower."""
        return _clocks(config, words_a_clock(config))

    @staticmethod
    def latency_of(config):
        """Clocks from a read until its numbers are in the feeds of the networks, if none waits. The
        first read of a sample is in the clock after ``begun``."""
        return 2 + config.arithmetic.quantize_latency

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        size = 1 + record_granules(config)
        words = size * WORDS
        # An observation lies as if its header were before it.
        observation = observation_granules(config)
        stride = Mux(self.acting, observation, size)

        # The walk through the memory: a read a clock while the queue behind it has room.
        left = Signal.like(self.samples)
        # A base a lane, in granules, so that a word's address is one sum.
        granules = range(-(-self.depth // WORDS))
        bases = [Signal(granules, name=f"base_{lane}") for lane in range(lanes)]
        place, position = (WORDS - 1).bit_length(), Signal(range(words))
        inside, step, last = Signal(), Signal(), Signal()
        room = [self._scalars(m, name) for name in config.plan.ends]
        m.d.comb += [
            *(
                address.eq(Cat(position[:place], base + position[place:]))
                for address, base in zip(self.address, bases, strict=True)
            ),
            self.begun.eq((left != 0) & (~inside | last) & self.room & Cat(room).all()),
            last.eq(
                step
                & (position == Mux(self.acting, self._read(self._seen), self._read(_end(config))))
            ),
        ]
        with m.If(self.start):
            m.d.sync += left.eq(self.samples)
            for lane, base in enumerate(bases):
                m.d.sync += base.eq(Mux(self.acting, lane * observation - 1, lane * size))
        with m.If(step):
            m.d.sync += position.eq(position + self.count)
        with m.If(last):
            m.d.sync += [inside.eq(0), *(base.eq(base + lanes * stride) for base in bases)]
        with m.If(self.begun):
            begin = Mux(self.acting, WORDS, 0)
            m.d.sync += [inside.eq(1), position.eq(begin), left.eq(left - 1)]
        s1_valid = delay(m, step, 1, name="step", reset=True)
        s1_position = delay(m, position, 1, name="position")
        self._keep_scalars(m, s1_valid, s1_position)
        level = self._feed(m, s1_valid, s1_position, words)
        m.d.comb += step.eq(inside & (level < self.AHEAD))
        return m

    def _read(self, word):
        """First word of the read that brings ``word``."""
        return word // self.count * self.count

    def _scalars(self, m, name):
        """Adds the queue of scalars for a network's loss; returns whether it has room for another
        sample."""
        config, depth = self.config, self.scalars_ahead
        m.submodules[f"queue_{name}"] = queue = Queue(scalars_layout(config), max(2, depth))
        wiring.connect(m, queue.o, wiring.flipped(self.scalars[name]))
        # Samples begun whose scalars are not taken.
        waiting = Signal(range(depth + 1), name=f"waiting_{name}")
        taken = queue.o.valid & queue.o.ready
        begun = self.begun & ~self.acting & self._in_sweep(self._taken_in(name))
        m.d.sync += waiting.eq(waiting + begun - taken)
        self._queues[name] = queue
        return waiting != depth

    def _taken_in(self, name):
        """For each sweep whether its loss takes outputs of the network ``name``."""
        return [name in rule.numbers for rule in self.config.plan.losses]

    def _in_sweep(self, values):
        """The one of ``values``, numbers, that is for this sweep."""
        return of_sweep(self.sweep, values)

    def _keep_scalars(self, m, valid, position):
        """Keeps what the losses need, and hands it over after the last word."""
        config = self.config
        places = {"index": 0, "weight": 2}
        for name in ("action", "reward", "discount"):
            places[name] = WORDS + record_words(config)[name][0]
        kept = Signal(scalars_layout(config), reset_less=True)
        for name, place in places.items():
            with m.If(valid & (position == self._read(place))):
                m.d.sync += [
                    kept[lane][name].eq(words[place % self.count])
                    for lane, words in enumerate(self.words)
                ]
        whole = valid & (position == self._read(_end(config)))
        whole = delay(m, whole, 1, name="whole", reset=True)
        for name, queue in self._queues.items():
            wanted = self._in_sweep(self._taken_in(name))
            m.d.comb += [queue.i.payload.eq(kept), queue.i.valid.eq(whole & wanted)]

    def _feed(self, m, valid, position, size):
        """Converts the numbers and sends them to their places; returns the reads that wait."""
        config, lanes = self.config, self.config.lanes
        number = {"value": vector_layout(config.arithmetic.shape("activation"), lanes)}
        number = data.StructLayout({**number, "saturated": lanes})
        numbers = data.ArrayLayout(number, self.count)
        layout = data.StructLayout({"position": range(size), "numbers": numbers})
        m.submodules.words = queue = Queue(layout, DEPTH)
        latency = config.arithmetic.quantize_latency
        for lane, words in enumerate(self.words):
            for k, number in enumerate(queue.i.p.numbers):
                value, saturated = config.arithmetic.quantize(
                    m, words[k], kind="activation", name=f"value_{lane}_{k}"
                )
                m.d.comb += [number.value[lane].eq(value), number.saturated[lane].eq(saturated)]
        m.d.comb += [
            queue.i.valid.eq(delay(m, valid, latency, name="converted", reset=True)),
            queue.i.p.position.eq(delay(m, position, latency, name="converted_position")),
        ]

        # A number may go to two buffers, and leaves when both can take it; neither waits for valid.
        names, at = config.plan.networks, queue.o.p.position
        m.d.comb += queue.o.ready.eq(Cat(self.feeds[name].ready for name in names).all())
        move = queue.o.valid & queue.o.ready
        fed = [Signal(name=f"fed_{k}") for k in range(self.count)]
        for name in names:
            self._route(m, name, queue.o.p.numbers, at, move, fed)
        clipped = [
            Mux(sent, bit, 0)
            for sent, number in zip(fed, queue.o.p.numbers, strict=True)
            for bit in number.saturated
        ]
        m.d.comb += self.saturations.eq(Mux(move, sum(clipped, Const(0, 1)), 0))
        return queue.level

    def _route(self, m, name, numbers, at, move, fed):
        """Sends the numbers of a read, whose first word is ``at``, to the first layer of the
        network ``name``, and marks them in ``fed``."""
        feed, places = self.feeds[name], record_words(self.config)
        ends = [_last_fed(self.config, name, sweep) for sweep in range(self.config.plan.sweeps)]
        end = self._in_sweep([self._read(end) for end in ends])
        m.d.comb += feed.p.last.eq(at == Mux(self.acting, self._read(self._seen), end))
        for k, (number, sent) in enumerate(zip(numbers, feed.p.numbers, strict=True)):
            m.d.comb += sent.value.eq(number.value)
            for field, (first, masks) in self._fields(name):
                begin, length = WORDS + places[field][0], places[field][1]
                # Of observations to act on nothing else is sent, and to the network that acts.
                wanted = ~self.acting
                if field == "obs" and name == self.config.acts:
                    wanted = Const(1)
                wanted &= self._in_sweep([mask != 0 for mask in masks])
                with m.If((at + k >= begin) & (at + k < begin + length) & wanted):
                    m.d.comb += [
                        feed.valid.eq(move),
                        sent.mask.eq(self._in_sweep(masks)),
                        sent.index.eq(at + k - begin + first),
                        fed[k].eq(1),
                    ]

    def _fields(self, name):
        """The fields that a network reads, in the order of the record."""
        feeds = self.config.plan.feeds(name)
        return [(field, feeds[field]) for field in record_words(self.config) if field in feeds]


class ReaderClocks:
    """Reads of a batch's samples, as they leave ``SampleReader`` for the first layers: one a clock,
    stalled while a layer takes a word of another network. The slots of the layers bound the reads
    in flight, so the reader's queue never fills.

    config : LearnerConfig
    acting : whether samples are observations
    """

    def __init__(self, config, acting=False):
        self.reads = SampleReader.last_read_of(config, acting=acting) + 1
        self.latency = SampleReader.latency_of(config)
        self.last = 1  # the clock of the last read, in which the next sample may begin
        self.left = 0  # the clock in which the last read left
        # Clocks in which a layer takes a word of another network, and so nothing of the reader.
        self.taken = deque()

    def read(self, begun):
        """Reads a sample that begins in clock ``begun``; returns when each of its reads leaves."""
        self.last = begun + self.reads
        first = begun + 1 + self.latency
        clocks, taken = range(first, first + self.reads), self.taken
        if taken or self.left >= first:  # some of them wait
            clocks, ready = [], clocks
            for clock in ready:
                clock = max(clock, self.left + 1)
                while taken and taken[0] <= clock:
                    clock += taken.popleft() == clock
                clocks.append(clock)
                self.left = clock
        self.left = clocks[-1]
        return clocks

    def take(self, words):
        """A layer takes a word of another network in each of the clocks ``words``."""
        late = bool(self.taken) and self.taken[-1] > words[0]
        self.taken.extend(words)
        if late:  # words of several networks
            self.taken = deque(sorted(self.taken))
