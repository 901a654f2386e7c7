"""The top of a ULX3S: a kernel's ``System`` on the FTDI's serial line, clocked by a PLL."""

from amaranth.hdl import (
    Cat,
    ClockDomain,
    ClockSignal,
    Elaboratable,
    Instance,
    Module,
    ResetSignal,
    Signal,
)
from amaranth.lib.cdc import ResetSynchronizer
from amaranth.lib.io import Buffer

from boards.ulx3s.pll import divide

__all__ = ["SYSTEM", "Top"]

#: Module name of the ``System``.
SYSTEM = "system"

_CLK25_HZ = 25_000_000


class Top(Elaboratable):
    """The design that a ULX3S of ``amaranth_boards`` gets: the module SYSTEM, its PLL and its pins.

    The PLL makes the system's clock from the pin clk25. The system is connected to the pins rx and
    tx of the serial line, and is in reset until the PLL is locked; LED 0 is on while it is locked,
    the others are the system's.

    Parameters
    ----------
    clock_hz : int
        Clock of the system; ValueError if no divisors of the PLL make it.
    """

    def __init__(self, clock_hz):
        self.divisors = divide(_CLK25_HZ, clock_hz)

    def elaborate(self, platform):
        m = Module()
        clk25 = platform.request("clk25", dir="-")
        line = platform.request("uart", dir=dict.fromkeys(("rx", "tx", "rts", "dtr"), "-"))
        m.submodules.rx = rx = Buffer("i", line.rx)
        m.submodules.tx = tx = Buffer("o", line.tx)
        leds = []
        for number in range(8):
            led = Buffer("o", platform.request("led", number, dir="-"))
            m.submodules[f"led_{number}"] = led
            leds.append(led.o)

        fed_back, locked = Signal(), Signal()
        clock, second = fed_back, {}
        if self.divisors.second is not None:
            clock = Signal()
            second = dict(
                p_CLKOS_DIV=self.divisors.second,
                p_CLKOS_CPHASE=self.divisors.output // 2,
                p_CLKOS_FPHASE=0,
                p_CLKOS_ENABLE="ENABLED",
                i_ENCLKOS=0,
                o_CLKOS=clock,
            )
        m.domains.sync = ClockDomain()
        m.d.comb += [ClockSignal().eq(clock), leds[0].eq(locked)]
        m.submodules.reset = ResetSynchronizer(~locked)
        m.submodules.pll = Instance(
            "EHXPLLL",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            p_CLKI_DIV=self.divisors.reference,
            p_CLKFB_DIV=self.divisors.feedback,
            p_CLKOP_DIV=self.divisors.output,
            p_CLKOP_CPHASE=self.divisors.output // 2,
            p_CLKOP_FPHASE=0,
            p_CLKOP_ENABLE="ENABLED",
            p_FEEDBK_PATH="CLKOP",
            i_CLKI=clk25.io,
            i_CLKFB=fed_back,
            i_RST=0,
            i_STDBY=0,
            i_ENCLKOP=0,
            i_PHASESEL0=0,
            i_PHASESEL1=0,
            i_PHASEDIR=1,
            i_PHASESTEP=1,
            i_PHASELOADREG=1,
            i_PLLWAKESYNC=0,
            o_CLKOP=fed_back,
            o_LOCK=locked,
            **second,
        )
        m.submodules.system = Instance(
            SYSTEM,
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_rx=rx.i,
            o_tx=tx.o,
            o_leds=Cat(leds[1:]),
        )
        return m
