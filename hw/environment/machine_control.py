"""The control of the barrel machine: the instruction and the environment for each clock.

A command runs sections of the image: functions for all environments in turn, an instruction for
each, and lists for one environment after the other. ::

    BEGIN     RESET, BEGUN
    STEP      ACTIONS, STEP, STEPPED
    SAVE      STATE, to send
    RESTORE   STATE, to receive

Between two sections no clock is lost.
"""

from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out

from hw.environment.machine_image import HEADER, Section
from hw.environment.machine_ports import WORD_BITS, Command, command_layout
from hw.environment.task_program import CONSTANTS, REGISTERS, WORDS

__all__ = ["FIRST_PLACE", "MachineControl", "place_width", "slot_layout"]

#: Environment e has place 8 + e of 32 registers each; constants have the places before.
FIRST_PLACE = CONSTANTS // REGISTERS
_ADDRESS = (WORDS - 1).bit_length()


def place_width(config):
    """Bits of a place."""
    return (FIRST_PLACE + config.slots - 1).bit_length()


def slot_layout(config):
    """The work of a clock.

    place, active : of the environment, and whether it takes part.
    runs : an instruction of a function.
    fresh : the first instruction of a function.
    sends, receives : a word of a list.
    last : the last word of a list.
    steps : the list follows STEP.
    """
    flags = ("active", "runs", "fresh", "sends", "receives", "last", "steps")
    return data.StructLayout({"place": place_width(config), **dict.fromkeys(flags, 1)})


class _Mode(Enum, shape=3):
    IDLE = 0
    HEADER = 1  # of a section that is loaded
    LOAD = 2  # its words
    RUN = 3  # a function
    SEND = 4  # a list
    RECEIVE = 5


class MachineControl(wiring.Component):
    """Runs commands, and loads images.

    Parameters
    ----------
    config : MachineConfig

    Members
    -------
    command : In(stream of command_layout)
        Taken while ``drained``.
    words : In(stream of 36 bits)
        An image, after LOAD.
    address : Out(9)
        Of the instruction or list's word that ``slot`` runs, or of the word that is loaded; lists
        have the upper half.
    load_program, load_constant : Out(1)
        The word that is taken in this clock goes to ``address``, as a constant without the highest
        bit.
    slot : Out(slot_layout)
    advance : In(1)
        The next clock runs the next slot.
    drained : In(1)
        Nothing that was sent or received is on its way.
    begins : Out(1)
        A command is taken.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "words": In(stream.Signature(unsigned(WORD_BITS))),
                "address": Out(_ADDRESS + 1),
                "load_program": Out(1),
                "load_constant": Out(1),
                "slot": Out(slot_layout(config)),
                "advance": In(1),
                "drained": In(1),
                "begins": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, count = self.config, self.config.environments
        mode, section = Signal(_Mode), Signal(Section)
        place = Signal(place_width(config))
        word, more, fresh = Signal(_ADDRESS), Signal(), Signal()
        # Bit 0 is for the environment at ``place``.
        mask, everyone = Signal(config.slots), (1 << count) - 1
        # The section of the next clock, whose ``first`` address is known a clock ahead.
        following, header, taken = Signal(Section), Signal(HEADER), Signal()
        m.d.comb += [
            following.eq(section),
            header.eq(self.words.payload),
            taken.eq(self.words.valid & self.words.ready),
        ]
        m.d.sync += section.eq(following)
        first, last = self._bounds(m, section, following, header, taken & (mode == _Mode.HEADER))
        ends, wraps = Signal(), Signal()
        m.d.comb += [
            ends.eq(word == last),
            wraps.eq(place == FIRST_PLACE - 1 + Mux(mode == _Mode.RUN, config.slots, count)),
        ]

        def run(mode_after, section_after):
            """The next clock begins a section."""
            m.d.comb += following.eq(section_after)
            m.d.sync += [mode.eq(mode_after), word.eq(first), fresh.eq(1)]

        def turn():
            """The next clock is for the next environment."""
            m.d.sync += [place.eq(place + 1), mask.eq(mask.rotate_right(1))]
            with m.If(wraps):
                m.d.sync += place.eq(FIRST_PLACE)

        with m.Switch(mode):
            with m.Case(_Mode.IDLE):
                m.d.comb += self.command.ready.eq(self.drained)
                with m.If(self.begins):
                    m.d.sync += [place.eq(FIRST_PLACE), mask.eq(everyone)]
                    with m.Switch(self.command.p.kind):
                        with m.Case(Command.LOAD):
                            m.d.sync += mode.eq(_Mode.HEADER)
                        with m.Case(Command.BEGIN):
                            run(_Mode.RUN, Section.RESET)
                            m.d.sync += mask.eq(self.command.p.mask)
                        with m.Case(Command.STEP):
                            run(_Mode.RECEIVE, Section.ACTIONS)
                        with m.Case(Command.SAVE):
                            run(_Mode.SEND, Section.STATE)
                        with m.Case(Command.RESTORE):
                            run(_Mode.RECEIVE, Section.STATE)
            with m.Case(_Mode.HEADER):
                m.d.comb += self.words.ready.eq(1)
                with m.If(taken):
                    m.d.comb += following.eq(header.section)
                    m.d.sync += [mode.eq(_Mode.LOAD), word.eq(header.first), more.eq(header.more)]
            with m.Case(_Mode.LOAD):
                m.d.comb += self.words.ready.eq(1)
                with m.If(taken):
                    m.d.sync += word.eq(word + 1)
                    with m.If(ends):
                        m.d.sync += mode.eq(Mux(more, _Mode.HEADER, _Mode.IDLE))
            with m.Case(_Mode.RUN):
                with m.If(self.advance):
                    turn()
                    with m.If(wraps):
                        m.d.sync += [word.eq(word + 1), fresh.eq(0)]
                        with m.If(ends):
                            after = Mux(section == Section.STEP, Section.STEPPED, Section.BEGUN)
                            run(_Mode.SEND, after)
            with m.Default():  # SEND, RECEIVE
                with m.If(self.advance):
                    m.d.sync += word.eq(word + 1)
                    with m.If(ends):
                        turn()
                        m.d.sync += word.eq(first)
                        with m.If(wraps):
                            m.d.sync += mode.eq(_Mode.IDLE)
                            with m.If(section == Section.ACTIONS):
                                run(_Mode.RUN, Section.STEP)
                                m.d.sync += mask.eq(everyone)

        loads, slot = taken & (mode == _Mode.LOAD), self.slot
        m.d.comb += [
            self.begins.eq(self.command.valid & self.command.ready),
            self.address.eq(Cat(word, section > Section.RESET)),
            self.load_constant.eq(loads & (section == Section.CONSTANTS)),
            self.load_program.eq(loads & (section != Section.CONSTANTS)),
            slot.place.eq(place),
            slot.active.eq(mask[0]),
            slot.runs.eq(mode == _Mode.RUN),
            slot.fresh.eq(fresh),
            slot.sends.eq(mode == _Mode.SEND),
            slot.receives.eq(mode == _Mode.RECEIVE),
            slot.last.eq(ends),
            slot.steps.eq(section == Section.STEPPED),
        ]
        return m

    def _bounds(self, m, section, following, header, write):
        """The first address of the section ``following``, and the last one of ``section``."""
        m.submodules.bounds = bounds = memory.Memory(
            shape=unsigned(2 * _ADDRESS), depth=1 << len(section), init=[]
        )
        first, last = (bounds.read_port(domain="comb") for _ in range(2))
        port = bounds.write_port()
        m.d.comb += [
            first.addr.eq(following),
            last.addr.eq(section),
            port.addr.eq(header.section),
            port.data.eq(Cat(header.first, header.last)),
            port.en.eq(write),
        ]
        return first.data[:_ADDRESS], last.data[_ADDRESS:]
