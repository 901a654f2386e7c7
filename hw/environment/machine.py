"""The barrel machine: runs the programs of tasks, an instruction a clock, for 8 environments.

Instruction k runs for environment 0, 1, .., in successive clocks, then instruction k + 1. So 8
clocks lie between two instructions of an environment, and the result of one is written a clock
before the next one reads its operands: nothing is forwarded. ::

    clock   0         1           2          3         4 .. 7      8         9           10
    k       address   operands'   operands   a and b   arithmetic  result
            of word   addresses   are read             unit        written
    k + 1                                                          address   operands'   operands
                                                                   of word   addresses   are read

More than 8 environments have a slot each, fewer have 8 slots. Lists (``machine_image``) run for one
environment after the other: words enter in clock 1, items leave in clock 3. So a STEP is ::

    ACTIONS             | STEP                                     | STEPPED
    e0 e0 .. e1 e1 ..   | k = 0: e0 e1 .. e7  k = 1: e0 e1 .. ..   | e0 e0 .. e1 e1 .. e7

Clocks 0 to 3 wait together, until a word comes on ``i`` or ``random``, or an item has left. The
clocks from 4 on never wait.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.area import area
from hw.environment.arithmetic_unit import ArithmeticUnit
from hw.environment.machine_control import FIRST_PLACE, MachineControl, place_width
from hw.environment.machine_image import Section
from hw.environment.machine_ports import WORD_BITS, Command, EnvironmentPorts
from hw.environment.task_program import CONSTANT, INSTRUCTION, REGISTERS, WORDS, Opcode
from hw.estimate import Estimate, together
from hw.stream.delay import delay
from hw.stream.ram import Ram

__all__ = ["Machine", "command_clocks"]

_ADDRESS = (REGISTERS - 1).bit_length()


def _depth(config):
    return REGISTERS * (FIRST_PLACE + config.slots)


def command_clocks(config, image):
    """``{Command: clocks}`` from a command to the next one, if words are ready and items are taken
    at once. The mask of BEGIN does not matter."""
    count, length = config.environments, {each: image.length(each) for each in Section}
    return {
        Command.LOAD: 1 + len(image.words),
        Command.BEGIN: config.slots * length[Section.RESET] + count * length[Section.BEGUN] + 4,
        Command.STEP: count * (length[Section.ACTIONS] + length[Section.STEPPED])
        + config.slots * length[Section.STEP]
        + 4,
        Command.SAVE: count * length[Section.STATE] + 4,
        Command.RESTORE: count * length[Section.STATE] + 2,
    }


class Machine(wiring.Component):
    """Runs the programs of ``config.environments`` environments.

    An image is not checked: ``machine_image`` makes correct ones. After a reset, which may have cut
    a command short, LOAD comes first; then BEGIN or RESTORE.

    Parameters
    ----------
    config : MachineConfig

    Members
    -------
    command, i, random, o
        As in EnvironmentPorts.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(EnvironmentPorts(config))

    @staticmethod
    def estimate(config):
        """Resources of a machine with ``config``."""
        registers = Ram.estimate(32, _depth(config), "block")
        return together(
            [
                area("environment.machine", slots=config.slots, place=place_width(config)),
                Ram.estimate(WORD_BITS, 2 * WORDS, "block"),
                registers,
                registers,
                Estimate(lut=0, ff=0, bram36=0, uram=0, dsp=4, ecp5=(0, 0, 0, 0, 4)),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.control = control = MachineControl(self.config)
        m.submodules.program = program = Ram(width=WORD_BITS, depth=2 * WORDS, style="block")
        m.submodules.arithmetic = arithmetic = ArithmeticUnit()
        connect(m, flipped(self.command), control.command)
        advance = control.advance
        # Clock 0 has the address of a word, clock 1 the word.
        s1 = delay(m, control.slot, 1, name="s1", enable=advance, reset=True)
        s2 = delay(m, s1, 1, name="s2", enable=advance, reset=True)
        s3 = delay(m, s2, 1, name="s3", enable=advance, reset=True)
        instruction = Signal(INSTRUCTION)
        m.d.comb += [
            program.read_enable.eq(advance),
            program.read_address.eq(control.address),
            program.write_enable.eq(control.load_program),
            program.write_address.eq(control.address),
            program.write_data.eq(self.i.payload),
            instruction.eq(program.read_data),
            control.words.payload.eq(self.i.payload),
            control.words.valid.eq(self.i.valid),
            self.i.ready.eq(control.words.ready | s1.receives),
            control.drained.eq(~(s1.receives | s1.sends | s2.sends | s3.sends)),
        ]
        opcode, shift, fraction, writes, to = (
            delay(m, instruction[name], 2, name=name, enable=advance)
            for name in ("opcode", "shift", "fraction", "write", "destination")
        )
        # Clock 3: operands. RANDOM waits for its word, and a list for its sink.
        draws, runs, sends = Signal(), Signal(), Signal()
        m.d.comb += [
            sends.eq(s3.sends & s3.active),
            draws.eq(s3.runs & s3.active & (opcode == Opcode.RANDOM)),
            self.random.ready.eq(draws),
            advance.eq(
                ~(
                    (s1.receives & ~self.i.valid)
                    | (sends & ~self.o.ready)
                    | (draws & ~self.random.valid)
                )
            ),
            runs.eq(s3.runs & s3.active & advance),
        ]
        # Clock 8: the result.
        s8_runs = delay(m, runs, arithmetic.LATENCY, name="runs", reset=True)
        s3_writes = runs & writes & (opcode != Opcode.LESS)
        s8_writes = delay(m, s3_writes, arithmetic.LATENCY, name="writes", reset=True)
        s8_to = delay(m, Cat(to, s3.place), arithmetic.LATENCY, name="to")
        write = Signal(data.StructLayout({"enable": 1, "address": len(s8_to), "word": 32}))
        receives = s1.receives & self.i.valid
        outside = control.load_constant | receives
        m.d.comb += [
            write.enable.eq(outside | s8_writes),
            write.address.eq(Mux(receives, Cat(instruction.destination, s1.place), s8_to)),
            write.word.eq(Mux(outside, self.i.payload[:32], arithmetic.result)),
        ]
        with m.If(control.load_constant):
            m.d.comb += write.address.eq(control.address[: len(control.address) - 1])
        a, b = self._operands(m, instruction, s1.place, advance, write)
        m.d.comb += [
            arithmetic.i.opcode.eq(opcode),
            arithmetic.i.shift.eq(shift),
            arithmetic.i.a.eq(a),
            arithmetic.i.b.eq(b),
            arithmetic.i.random.eq(self.random.payload),
            arithmetic.i.flag.eq(self._flag(m, s3, opcode, arithmetic.less, advance)),
        ]
        clipped = self._clipped(
            m, control.begins, s8_runs & arithmetic.clipped, s8_to[_ADDRESS:], s3.place
        )
        # The word before the last one says whether the episode is truncated.
        truncated, ends = Signal(), Signal()
        with m.If(sends & advance):
            m.d.sync += truncated.eq(~b[-1])
        m.d.comb += [
            ends.eq(s3.last & s3.steps),
            self.o.valid.eq(sends),
            self.o.p.word.eq(a),
            self.o.p.fraction.eq(fraction),
            self.o.p.last.eq(s3.last),
            self.o.p.terminated.eq(ends & b[0]),
            self.o.p.truncated.eq(ends & truncated),
            self.o.p.clipped.eq(s3.last & clipped),
        ]
        return m

    def _operands(self, m, instruction, place, advance, write):
        """The operands of an instruction, two clocks later; registers have a copy for each."""
        found = []
        for name in ("a", "b"):
            ram = Ram(width=32, depth=_depth(self.config), style="block")
            m.submodules[f"registers_{name}"] = ram
            operand, register = instruction[name], Signal(signed(32), name=name, reset_less=True)
            m.d.comb += [
                ram.read_enable.eq(advance),
                ram.read_address.eq(
                    Mux(operand & CONSTANT, operand[:-1], Cat(operand[:_ADDRESS], place))
                ),
                ram.write_enable.eq(write.enable),
                ram.write_address.eq(write.address),
                ram.write_data.eq(write.word),
            ]
            with m.If(advance):
                m.d.sync += register.eq(ram.read_data)
            found.append(register)
        return found

    def _flag(self, m, s3, opcode, less, advance):
        """The flag of the environment in clock 3. Flags go round with the environments."""
        flags, flag = Signal(self.config.slots), Signal()
        m.d.comb += flag.eq(flags[0] & ~s3.fresh)
        with m.If(s3.runs & advance):
            m.d.sync += flags.eq(Cat(flags[1:], Mux(opcode == Opcode.LESS, less, flag)))
        return flag

    def _clipped(self, m, begins, beyond, place, shown):
        """Whether a result of the environment ``shown`` was clipped since the command began."""
        clipped, width = Signal(self.config.slots), (self.config.slots - 1).bit_length()
        with m.If(beyond):
            m.d.sync += clipped.bit_select((place - FIRST_PLACE)[:width], 1).eq(1)
        with m.If(begins):
            m.d.sync += clipped.eq(0)
        return clipped.bit_select((shown - FIRST_PLACE)[:width], 1)
