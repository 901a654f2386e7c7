"""The kernel's registers: an AXI4-Lite slave with the ``ap_ctrl_hs`` map that XRT drives.

| byte | name | bits |
|---|---|---|
| 0x00 | CTRL | 0 ap_start, 1 ap_done (read clears), 2 ap_idle, 3 ap_ready (as 1), 7 auto_restart |
| 0x04 | GIER | 0 interrupts on |
| 0x08 | IP_IER | 0 on done, 1 on ready |
| 0x0C | IP_ISR | 0 done, 1 ready; a written 1 toggles its bit |
| 0x10.. | arguments | 64-bit pointers low word first, 32-bit scalars |

One access at a time: a write is answered 2 clocks after its later half came, a read 1 clock.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.errors import UsageError
from hw.shell.axi import slave_members
from hw.shell.control_map import ARGUMENTS, CTRL, GIER, IP_IER, IP_ISR, STOP

__all__ = ["Control"]

PREFIX = "s_axi_control"
ADDRESS_WIDTH = 12

_START, _AUTO_RESTART = CTRL.bit("ap_start"), CTRL.bit("auto_restart")


class Control(wiring.Component):
    """Registers of one kernel; every access is answered OKAY, unmapped words read 0.

    ap_start stays 1 while the kernel runs: nothing is pipelined, so a launch is taken (ap_ready)
    when it is done. A start written while it runs is lost, as in HLS kernels. If auto_restart is
    set, the next launch starts one clock after ``done``.

    Parameters
    ----------
    arguments : sequence of Argument
        ValueError for an offset that is not a multiple of 4 in 0x10..0xFFC, or taken twice.
    stops : bool
        Whether the word at 0xFFC is ``STOP``.

    Members
    -------
    s_axi_control_* : AXI4-Lite slave, 12 address bits, 32 data bits
    start : Out(1)
        One clock: a launch begins.
    done : In(1)
        One clock, at least one after ``start``: the launch has ended.
    interrupt : Out(1)
        High while GIER is 1 and a bit of IP_ISR is 1. The end of a launch sets those bits of IP_ISR
        that are 1 in IP_IER.
    stop : Out(1)
        As last written to STOP, of a kernel that ``stops``.
    <argument name> : Out(64) for a pointer, Out(32) for a scalar
        As last written; the host leaves them alone between start and done.

    Source: UG1393 "Kernel Controls"; the control slave of Vitis_Accel_Examples' rtl_vadd.
    """

    def __init__(self, arguments, stops=False):
        self.arguments, self.stops = tuple(arguments), stops
        members = {
            **slave_members(PREFIX, ADDRESS_WIDTH),
            **({"stop": Out(1)} if stops else {}),
            "start": Out(1),
            "done": In(1),
            "interrupt": Out(1),
        }
        used = {STOP.offset} if stops else set()
        for argument in self.arguments:
            words = set(range(argument.offset, argument.offset + argument.size, 4))
            free = set(range(ARGUMENTS, 1 << ADDRESS_WIDTH, 4)) - used
            if not words <= free:
                raise UsageError(
                    f"offset of {argument.name} must be a free word in 0x10..0xffc, "
                    f"not {argument.offset:#x}"
                )
            if argument.name in members:
                raise UsageError(f"name must be free, not {argument.name!r}")
            used |= words
            members[argument.name] = Out(8 * argument.size)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        writing, write_address, mask, write_data = self._write_channel(m)
        reading, read_address, read_data = self._read_channel(m)

        # Launches.
        running = Signal()
        ap_start, ap_done, auto_restart = Signal(), Signal(), Signal()
        m.d.comb += self.start.eq(ap_start & ~running)
        with m.If(self.start):
            m.d.sync += running.eq(1)
        with m.If(self.done):
            m.d.sync += [running.eq(0), ap_start.eq(auto_restart), ap_done.eq(1)]
        with m.Elif(reading & (read_address == CTRL.offset >> 2)):
            m.d.sync += ap_done.eq(0)

        # Interrupts: an event outweighs a toggle in the same clock.
        gier, ier, isr = Signal(), Signal(2), Signal(2)
        event = Signal(2)
        m.d.comb += [
            event.eq(ier & self.done.replicate(2)),
            self.interrupt.eq(gier & isr.any()),
        ]
        m.d.sync += isr.eq(isr | event)

        # Writes: 32 data bits under a mask of 32 bits.
        def merged(word):
            return (word & ~mask) | (write_data & mask)

        control = {"ap_start": ap_start, "ap_done": ap_done, "ap_idle": ~ap_start}
        control |= {"ap_ready": ap_done, "auto_restart": auto_restart}
        bits = {bit.bit: control[bit.name] for bit in CTRL.bits}
        words = {CTRL.offset: Cat(bits.get(position, C(0, 1)) for position in range(8))}
        words |= {GIER.offset: gier, IP_IER.offset: ier, IP_ISR.offset: isr}
        with m.If(writing):
            with m.Switch(write_address):
                with m.Case(CTRL.offset >> 2):
                    with m.If(mask[_START]):
                        m.d.sync += auto_restart.eq(write_data[_AUTO_RESTART])
                        with m.If(write_data[_START]):
                            m.d.sync += ap_start.eq(1)
                with m.Case(GIER.offset >> 2):
                    m.d.sync += gier.eq(merged(gier)[0])
                with m.Case(IP_IER.offset >> 2):
                    m.d.sync += ier.eq(merged(ier)[:2])
                with m.Case(IP_ISR.offset >> 2):
                    m.d.sync += isr.eq((isr ^ (write_data & mask)[:2]) | event)
                if self.stops:
                    words[STOP.offset] = self.stop
                    with m.Case(STOP.offset >> 2):
                        m.d.sync += self.stop.eq(merged(self.stop)[0])
                for argument in self.arguments:
                    register = getattr(self, argument.name)
                    for low in range(0, len(register), 32):
                        word = register[low : low + 32]
                        words[argument.offset + low // 8] = word
                        with m.Case((argument.offset + low // 8) >> 2):
                            m.d.sync += word.eq(merged(word))

        with m.If(reading):
            with m.Switch(read_address):
                for offset, word in words.items():
                    with m.Case(offset >> 2):
                        m.d.sync += read_data.eq(word)
                with m.Default():
                    m.d.sync += read_data.eq(0)
        return m

    def _pin(self, name):
        return getattr(self, f"{PREFIX}_{name}")

    def _write_channel(self, m):
        """AW and W, in any order, each wait for the other; then one clock of ``writing``."""
        pin = self._pin
        have_address, have_data, writing = Signal(), Signal(), Signal()
        address = Signal(ADDRESS_WIDTH - 2, reset_less=True)
        data, strobe = Signal(32, reset_less=True), Signal(4, reset_less=True)
        mask = Signal(32)
        m.d.comb += [
            pin("awready").eq(~have_address),
            pin("wready").eq(~have_data),
            pin("bresp").eq(0),
            writing.eq(have_address & have_data & (~pin("bvalid") | pin("bready"))),
            mask.eq(Cat(bit.replicate(8) for bit in strobe)),
        ]
        with m.If(pin("awvalid") & pin("awready")):
            m.d.sync += [have_address.eq(1), address.eq(pin("awaddr")[2:])]
        with m.If(pin("wvalid") & pin("wready")):
            m.d.sync += [have_data.eq(1), data.eq(pin("wdata")), strobe.eq(pin("wstrb"))]
        with m.If(writing):
            m.d.sync += [have_address.eq(0), have_data.eq(0), pin("bvalid").eq(1)]
        with m.Elif(pin("bready")):
            m.d.sync += pin("bvalid").eq(0)
        return writing, address, mask, data

    def _read_channel(self, m):
        """AR waits while an answer does; in the clock of ``reading`` the answer is taken."""
        pin = self._pin
        reading = Signal()
        m.d.comb += [
            pin("arready").eq(~pin("rvalid")),
            pin("rresp").eq(0),
            reading.eq(pin("arvalid") & pin("arready")),
        ]
        with m.If(reading):
            m.d.sync += pin("rvalid").eq(1)
        with m.Elif(pin("rready")):
            m.d.sync += pin("rvalid").eq(0)
        return reading, pin("araddr")[2:], pin("rdata")
