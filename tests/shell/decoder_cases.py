"""Commands, states and sizes for a ``Decoder``, and what the twin says of them."""

import collections
from types import SimpleNamespace

from amaranth import Shape
from clocks import Clocks

from hw.shell.command import MAX_BEATS
from hw.shell.decoder import Decoder
from hw.shell.program import COMMAND_BYTES
from sim.model.command import CommandCheck

__all__ = ["SIZE", "Cases"]

_KINDS = {
    "u32": (0, (1 << 32) - 1),
    "u64": (0, (1 << 64) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
    "i64": (-(1 << 63), (1 << 63) - 1),
    "f32": (0, (1 << 32) - 1),
}
#: The largest that a size can be.
SIZE = (1 << 32) - 1


class Cases:
    """Clocks of one decoder: each command as long as it takes to be right, and one more.

    Parameters
    ----------
    table, config, state, buffers : as of ``Decoder``
    usual : a field or a member of the state -> numbers that it has in half of the random cases

    ``seen``: how many there are of each ``(opcode, error)``.
    """

    def __init__(self, table, config, state, buffers, usual=()):
        self.usual = dict(usual)
        self.table, self.config, self.state, self.buffers = table, config, state, buffers
        self.decoder = Decoder(table, config, state, buffers)
        self.twin = CommandCheck(table, config, lambda name: self.buffers[name][1])
        self.clocks, self.seen = Clocks(), collections.Counter()

    def bits(self, command, values, tail=0, opcode=None):
        """A command; ``tail`` is what lies behind its fields."""
        number = command.opcode.value if opcode is None else opcode
        for field in command.fields:
            if field.name != "opcode":
                number |= self._field(field, values.get(field.name, 0)) << self._at(command, field)
        return number | tail << 8 * command.used

    @staticmethod
    def _at(command, field):
        return 8 * command.offsets[field.name]

    @staticmethod
    def _field(field, value):
        width = 8 * field.size // field.count
        parts = value if isinstance(value, list) else [value]
        return sum((part & (1 << width) - 1) << width * k for k, part in enumerate(parts))

    def check(self, raw, state, sizes):
        """``(command, c, error, detail)`` of the twin."""
        return self.twin(
            raw.to_bytes(COMMAND_BYTES, "little"),
            SimpleNamespace(config=self.config, **state),
            lambda name: sizes[name] * self.buffers[name][0].unit,
        )

    def add(self, raw, state, sizes):
        """One case; returns error, detail, and what else the table says of it."""
        declared = {name: buffer for name, (buffer, _) in self.buffers.items()}
        command, c, error, detail = self.check(raw, state, sizes)
        outputs = dict(refused=error != 0, error=error, detail=detail, selected=0, beats=0)
        if command is not None:
            outputs["selected"] = 1 << list(self.table).index(command.opcode)
            del outputs["beats"]
            fields = all(
                (low is None or low <= getattr(c, field.name))
                and (high is None or getattr(c, field.name) <= high)
                for field, low, high in command.checked(self.config)
            )
            if fields and not raw >> 8 * command.used:
                outputs |= self._rest(command, c, state)
        self.seen[command and command.opcode, int(error)] += 1
        inputs = {declared[name].size_name: size for name, size in sizes.items()}
        inputs["state"] = self.state.const(state).as_value().value
        begin = len(self.clocks.inputs)
        for _ in range(self.decoder.LATENCY + 2):
            self.clocks.add(raw=raw, **inputs)
        for clock in range(begin + self.decoder.LATENCY, len(self.clocks.inputs)):
            self.clocks.expect(clock, **outputs)
        return SimpleNamespace(error=error, detail=detail, **vars(c or SimpleNamespace()))

    def _rest(self, command, c, state):
        """Stages and beats: right of a command whose fields are, whatever else refuses it."""
        state, beats = SimpleNamespace(config=self.config, **state), {}
        for footprint in command.footprints:
            size = self.buffers[footprint.buffer][1]
            # Of more than these nobody makes one request.
            beats[footprint.name] = -(-footprint.bytes(c, state) // size) & MAX_BEATS
        shown = dict(beats=beats, stages={name: getattr(c, name) for name in self.table.stages})
        layouts = {name: self.decoder.signature.members[name].shape for name in shown}
        return {
            name: layout.const(shown[name]).as_value().value
            for name, layout in layouts.items()
            if layout.size
        }

    def run(self, simulate, directory):
        self.clocks.run(simulate, self.decoder, directory)

    def corners(self):
        """Each field of each command at each limit and beyond, bytes behind the fields, opcodes."""
        for command in self.table.values():
            fields = [field for field in command.fields if field.name != "opcode"]
            limits = {field.name: self.limits(field) for field in fields if field.count == 1}
            fine = {name: inside[0] for name, (inside, _) in limits.items()}
            for name, (inside, outside) in limits.items():
                for value in inside + outside:
                    yield self.bits(command, fine | {name: value})
            last = COMMAND_BYTES - command.used - 1
            for byte in {0, 3, last} if last >= 0 else ():
                yield self.bits(command, fine, tail=1 << 8 * byte)
            for opcode in (0, command.opcode.value + (1 << 8), command.opcode.value + (1 << 31)):
                yield self.bits(command, fine, opcode=opcode)

    def limits(self, field):
        """``(inside, outside)``: numbers at the limits of a field, and beyond."""
        least, most = _KINDS[field.kind]
        low, high = field.limits(self.config)
        low, high = least if low is None else low, most if high is None else high
        some = {low, low + 1, -1, 0, 1, high - 1, high}
        # One beyond; what would be inside if it were cut.
        some |= {low - 1, high + 1, 2 * high + 2, low + (1 << 32), low + (1 << 31), least, most}
        some = sorted(k for k in some if least <= k <= most)
        inside = [k for k in some if low <= k <= high]
        return inside, [k for k in some if k not in inside]

    def reasons(self):
        """``(opcode, error)`` of every rule and every place, and of commands that are fine."""
        for opcode, command in self.table.items():
            for reason in (*command.rules, *command.footprints):
                yield opcode, int(reason.error)
            yield opcode, 0

    def fill(self, rng, few=5, many=20):
        """Add random cases, ``few`` for each reason at least, and of none more than ``many``."""
        for _ in range(30_000):
            raw, state, sizes = self.random(rng)
            command, _, error, _ = self.check(raw, state, sizes)
            if self.seen[command.opcode, int(error)] < many:
                self.add(raw, state, sizes)
            if all(self.seen[reason] >= few for reason in self.reasons()):
                return
        raise AssertionError(f"few cases of {[r for r in self.reasons() if self.seen[r] < few]}")

    def random(self, rng):
        """A command that mostly has its fields in range, a state and sizes that fit it, or hardly;
        ``rng`` may be hypothesis'."""
        command = rng.choice(list(self.table.values()))
        raw, numbers = self._raw(rng, command)
        state = self._state(rng, numbers)
        return raw, state, self._sizes(rng, raw, state)

    def _one(self, rng, name, kinds, low, high):
        """A number of any kind that fits."""
        if name in self.usual and rng.random() < 0.5:
            kinds = [self.usual[name], *kinds[:1]]
        kinds = [[k for k in kind if low <= k <= high] for kind in kinds]
        return rng.choice(rng.choice([kind for kind in kinds if kind]))

    def _raw(self, rng, command):
        """A command, and its numbers, which those of later fields and of the state may equal."""
        fields = [field for field in command.fields if field.name != "opcode"]
        spoilt = rng.choice(fields) if rng.random() < 0.1 else None
        offsets = {footprint.offset for footprint in command.footprints}
        values, numbers = {}, []

        def number(field, inside, outside):
            low, high = inside[0], inside[-1]
            if field.name in offsets and rng.random() < 0.9:
                return 64 * rng.randint(0, 40)
            if field is spoilt and outside:
                return rng.choice(outside)
            near = rng.randint(low, min(high, low + 99))
            kinds = [inside, [near], [rng.randint(low, high)], numbers]
            return self._one(rng, field.name, kinds, low, high)

        for field in fields:
            parts = [number(field, *self.limits(field)) for _ in range(field.count)]
            values[field.name] = parts if field.count > 1 else parts[0]
            numbers += [part + k for part in parts for k in (-1, 0, 1)]
        return self.bits(command, values), numbers

    def _state(self, rng, numbers):
        """Every member at its limits, at a number of the command, or anywhere between."""
        state = {}
        for name, field in self.state:
            shape = Shape.cast(field.shape)
            low = -(1 << shape.width - 1) if shape.signed else 0
            high = low + (1 << shape.width) - 1
            kinds = [[low, 0, high], [rng.randint(low, high)], numbers]
            state[name] = self._one(rng, name, kinds, low, high)
        return state

    def _sizes(self, rng, raw, state):
        """By which the footprints just fit, or just do not, or something else."""
        needs = dict.fromkeys(self.buffers, 0)
        command, c, _, _ = self.check(raw, state, dict.fromkeys(self.buffers, 1 << 80))
        for footprint in command.footprints if command else ():
            if footprint.name in c.beats:
                begin = getattr(c, footprint.offset) if footprint.offset else 0
                end = begin + c.beats[footprint.name] * self.buffers[footprint.buffer][1]
                needs[footprint.buffer] = max(needs[footprint.buffer], end)
        sizes = {}
        for name, (buffer, beat_bytes) in self.buffers.items():
            fits = -(-needs[name] // buffer.unit)
            size = fits + rng.choice([0] * 6 + [1, -1, -beat_bytes, beat_bytes])
            size = rng.choice([size] * 8 + [0, SIZE])
            sizes[name] = min(max(size, 0), SIZE)
        return sizes
