"""Programs of the barrel machine: the words, registers and constants of a traced task.

A slot of the machine, which is one environment, has 32 registers of 32 bits; 256 constants are
common to all. An instruction is 36 bits (``INSTRUCTION``)::

    MUL     destination = clip(floor(a b / 2^shift + 1/2))      shift is 24 + ``shift``
    ADD     destination = clip(a + b)
    SUB     destination = clip(a - b)
    MIN     destination = min(a, b)
    MAX     destination = max(a, b)
    SELECT  destination = a if the slot's flag is set, else b
    LESS    flag = a < b
    RANDOM  destination = the next 32 bits of the generator

All numbers are signed, and ``clip`` is to -2^31..2^31 - 1. The flag is 0 when a function starts.
Without ``write`` the result is dropped. An operand is ``register`` or, with its highest bit set,
256 + ``constant``. A program has two functions, ``step`` and ``reset``; each runs
from its start to its end, without a jump. Registers when a function starts, and when it ends:

    0 .. S-1         state, before the step and after it
    S .. S+A-1       actions, before the step
    S, S+1           reward and terminated (a word of 1 or 0), after the step
    S+2 ..           observation's numbers that are not numbers of the state, after both
"""

from dataclasses import dataclass
from enum import IntEnum

from amaranth.lib import data

from hw.environment.trace import SHIFTS
from hw.errors import UsageError

__all__ = ["CONSTANT", "CONSTANTS", "INSTRUCTION", "REGISTERS", "WORDS", "Opcode", "Program"]
__all__ += ["assemble", "encode"]

REGISTERS, CONSTANTS, WORDS = 32, 256, 256
#: of an operand: the highest bit says that it is a constant
CONSTANT = 1 << 8
#: ``fraction`` is 0, but for numbers that the machine sends (``machine_image``).
INSTRUCTION = data.StructLayout(
    {"opcode": 3, "destination": 5, "a": 9, "b": 9, "shift": 3, "write": 1, "fraction": 6}
)


class Opcode(IntEnum):
    """Numbers of the instructions."""

    MUL = 0
    ADD = 1
    SUB = 2
    MIN = 3
    MAX = 4
    SELECT = 5
    LESS = 6
    RANDOM = 7


@dataclass(frozen=True)
class Program:
    """The program of a task, as the machine gets it.

    words : instructions of ``step``, then of ``reset``; integers of 36 bits.
    reset_start : the first word of ``reset``; ``step`` starts at 0.
    constants : words, from -2^31 to 2^31 - 1.
    state_count, action_count : registers of the state, and of actions.
    action_fractions : fraction bits of each action.
    reward_fraction : of register ``state_count``.
    observation : a pair (register, fraction bits) for each number.
    """

    words: tuple
    reset_start: int
    constants: tuple
    state_count: int
    action_count: int
    action_fractions: tuple
    reward_fraction: int
    observation: tuple

    @property
    def reward(self):
        """The register of the reward."""
        return self.state_count

    @property
    def terminated(self):
        """The register that is 1 if the step has ended the episode."""
        return self.state_count + 1


def assemble(traced):
    """The Program of a TracedTask. UsageError, with the task's name, if it needs more registers,
    constants or words than the machine has."""
    states, name = len(traced.task.formats), traced.name
    step, reset = traced.step, traced.reset
    observation, extra = [], []
    for i, (after, first) in enumerate(zip(step.observation, reset.observation, strict=True)):
        if after.fraction != first.fraction:
            raise UsageError(
                f"{name}.observe must give number {i} one format, not {after.fraction} fraction "
                f"bits after a step and {first.fraction} after a reset"
            )
        stored = [
            j
            for j in range(states)
            if step.state[j].index == after.index and reset.state[j].index == first.index
        ]
        if not stored:
            extra.append(i)
        place = stored[0] if stored else states + 1 + len(extra)
        observation.append((place, after.fraction))
    constants, words = {}, []
    for function in (step, reset):
        after = list(enumerate(function.state))
        ends = [(states, step.reward), (states + 1, step.terminated)] if function is step else []
        seen = [(observation[i][0], function.observation[i]) for i in extra]
        code = _shorter(
            name, function.trace, [after + ends + seen, ends + after + seen], states, constants
        )
        words.append([encode(*each) for each in code.instructions])
    if sum(map(len, words)) > WORDS:
        raise UsageError(
            f"{name} must have at most {WORDS} instructions, not {sum(map(len, words))}"
        )
    return Program(
        words=(*words[0], *words[1]),
        reset_start=len(words[0]),
        constants=tuple(constants),
        state_count=states,
        action_count=len(traced.action_fractions),
        action_fractions=traced.action_fractions,
        reward_fraction=step.reward.fraction,
        observation=tuple(observation),
    )


def encode(opcode, destination, a, b, shift=SHIFTS[0], fraction=0):
    """The word of an instruction; ``destination`` is None for one that writes no register."""
    fields = {
        "opcode": int(opcode),
        "destination": destination or 0,
        "a": a,
        "b": b,
        "shift": shift - SHIFTS[0],
        "write": int(destination is not None),
        "fraction": fraction,
    }
    return INSTRUCTION.const(fields).as_bits()


def _shorter(name, trace, orders, states, constants):
    """The shortest _Code with its results in one of two orders of computation. The second order
    must draw random numbers as the first one does, and may be one that has no register left."""
    found = []
    for order in orders:
        grown = dict(constants)
        try:
            code = _Code(name, trace, order, states, grown)
        except UsageError:
            if not found:
                raise
            continue
        if not found or code.draws == found[0][0].draws:
            found.append((code, grown))
    code, grown = min(found, key=lambda each: len(each[0].instructions))
    constants.update(grown)
    return code


class _Code:
    """The instructions of one function, with its values in registers.

    ``results`` are pairs of a register and the Number that it holds at the end; these registers
    hold nothing else but inputs before. A value is computed in its result's register if that is
    free, else in a temporary register, from which it is moved at the end. ``constants`` grows: a
    dict whose keys are the words in order. ``draws`` has the RANDOM operations in order.
    """

    def __init__(self, name, trace, results, states, constants):
        self._name, self._operations, self._states = name, trace.operations, states
        self._constants, self.instructions = constants, []
        self._results = [(place, self._value(each.index)) for place, each in results]
        self._order()
        self.draws = [value for opcode, value, *_ in self._listed if opcode is Opcode.RANDOM]
        self._last = {}
        for i, (_, _, operands, _) in enumerate(self._listed):
            self._last |= {value: i for value in operands}
        self._last |= {value: len(self._listed) for _, value in self._results}
        self._holds = [None] * REGISTERS
        self._place = {}
        for value, operation in enumerate(self._operations):
            if value in self._last and operation.name in ("STATE", "ACTION"):
                offset = states if operation.name == "ACTION" else 0
                self._put(value, offset + operation.value)
        for i, each in enumerate(self._listed):
            self._emit(i, *each)
        self._move()

    def _value(self, index):
        """The operation that computes a value: a number that is stored is computed once."""
        while self._operations[index].name == "STORED":
            (index,) = self._operations[index].operands
        return index

    def _order(self):
        """Lists ``(opcode, value or None, operands, shift)`` in depth-first order of the results;
        a comparison is not repeated while the flag holds it."""
        self._listed, done, compared = [], set(), None
        ahead = [(value, False) for _, value in reversed(self._results)]
        while ahead:
            value, ready = ahead.pop()
            operation = self._operations[value]
            if value in done or operation.name in ("STATE", "ACTION", "CONSTANT"):
                continue
            operands = [self._value(each) for each in operation.operands]
            if not ready:
                ahead += [(value, True), *((each, False) for each in reversed(operands))]
                continue
            done.add(value)
            if operation.name == "SELECT":
                left, right, *operands = operands
                if compared != (left, right):
                    self._listed.append((Opcode.LESS, None, (left, right), None))
                compared = left, right
            opcode = Opcode[operation.name]
            self._listed.append((opcode, value, operands, operation.value))

    def _put(self, value, register):
        self._holds[register], self._place[value] = value, register

    def _emit(self, i, opcode, value, operands, shift):
        places = [self._operand(each) for each in operands] or [0, 0]
        for register, held in enumerate(self._holds):
            if held is not None and self._last[held] <= i:
                self._holds[register] = None
        if value is not None:
            own = [place for place, each in self._results if each == value]
            free = [place for place in own if self._holds[place] is None]
            self._put(value, free[0] if free else self._free())
        shift = shift if opcode is Opcode.MUL else SHIFTS[0]
        self.instructions.append((opcode, self._place.get(value), *places, shift))

    def _operand(self, value):
        operation = self._operations[value]
        if operation.name != "CONSTANT":
            return self._place[value]
        index = self._constants.setdefault(operation.value, len(self._constants))
        if index == CONSTANTS:
            raise UsageError(f"{self._name} must have at most {CONSTANTS} constants")
        return CONSTANT | index

    def _free(self):
        kept = {place for place, _ in self._results}
        for register, held in enumerate(self._holds):
            if held is None and register not in kept:
                return register
        raise UsageError(
            f"{self._name} must hold at most {REGISTERS - len(kept)} numbers at a time, beside "
            f"{len(kept)} results, in {REGISTERS} registers"
        )

    def _move(self):
        """Moves results that are not where they belong."""
        ahead = {place: self._operand(value) for place, value in self._results}
        ahead = {place: source for place, source in ahead.items() if place != source}
        while ahead:
            ready = [place for place in ahead if place not in ahead.values()]
            place = ready[0] if ready else self._free()
            source = ahead.pop(place) if ready else next(iter(ahead))
            self.instructions.append((Opcode.MAX, place, source, source, SHIFTS[0]))
            if not ready:
                self._holds[place] = -1
                ahead = {to: place if each == source else each for to, each in ahead.items()}
