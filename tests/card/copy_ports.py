"""AXI ports and the ap_ctrl_hs registers of the copy kernel, written apart from ``hw.shell``.

The simulated card is held to the contract, not to what our own shell makes of it.
"""

from amaranth import *
from amaranth.lib.wiring import In, Out

__all__ = ["elaborate_control", "master_members", "slave_members"]

ADDRESS = {"addr": 64, "len": 8, "size": 3, "burst": 2, "id": 1, "lock": 1, "cache": 4, "prot": 3}
ADDRESS |= {"qos": 4, "region": 4}


def master_members(prefix, width):
    members = {f"{prefix}_{x}{name}": Out(w) for x in ("aw", "ar") for name, w in ADDRESS.items()}
    for channel, payload in (("aw", {}), ("ar", {}), ("w", {"data": width, "last": 1})):
        members |= {f"{prefix}_{channel}{name}": Out(w) for name, w in payload.items()}
        members |= {f"{prefix}_{channel}valid": Out(1), f"{prefix}_{channel}ready": In(1)}
    members[f"{prefix}_wstrb"] = Out(width // 8)
    for channel, payload in (("b", {}), ("r", {"data": width, "last": 1})):
        members |= {
            f"{prefix}_{channel}{n}": In(w) for n, w in (payload | {"id": 1, "resp": 2}).items()
        }
        members |= {f"{prefix}_{channel}valid": In(1), f"{prefix}_{channel}ready": Out(1)}
    return members


SLAVE_IN = "awaddr 12 awvalid 1 wdata 32 wstrb 4 wvalid 1 bready 1 araddr 12 arvalid 1 rready 1"
SLAVE_OUT = "awready 1 wready 1 bresp 2 bvalid 1 arready 1 rdata 32 rresp 2 rvalid 1"


def slave_members(prefix):
    return {
        f"{prefix}_{name}": flow(int(width))
        for flow, names in ((In, SLAVE_IN), (Out, SLAVE_OUT))
        for name, width in zip(names.split()[::2], names.split()[1::2], strict=True)
    }


def elaborate_control(m, kernel, arguments):
    """Registers of ``kernel``; returns the arguments' signals by name, start and done.

    A write needs address and data together; one transfer at a time.
    """
    axi = {name[14:]: getattr(kernel, name) for name in slave_members("s_axi_control")}
    start, done, done_flag, enable, isr = (
        Signal(name=name) for name in "start done done_flag gie isr".split()
    )
    signals = {a.name: Signal(8 * a.size, name=a.name) for a in arguments}
    words = {
        argument.offset + 4 * half: signals[argument.name].word_select(half, 32)
        for argument in arguments
        for half in range(argument.size // 4)
    }
    write, read = Signal(), Signal()
    m.d.comb += [
        write.eq(axi["awvalid"] & axi["wvalid"] & ~axi["bvalid"]),
        read.eq(axi["arvalid"] & ~axi["rvalid"]),
        axi["awready"].eq(write),
        axi["wready"].eq(write),
        axi["arready"].eq(read),
        kernel.interrupt.eq(enable & isr),
    ]
    with m.If(axi["bvalid"] & axi["bready"]):
        m.d.sync += axi["bvalid"].eq(0)
    with m.If(axi["rvalid"] & axi["rready"]):
        m.d.sync += axi["rvalid"].eq(0)
    with m.If(write):
        m.d.sync += axi["bvalid"].eq(1)
        with m.Switch(axi["awaddr"]):
            for offset, word in words.items():
                with m.Case(offset):
                    m.d.sync += word.eq(axi["wdata"])
            with m.Case(0x00):
                m.d.sync += start.eq(axi["wdata"][0])
            with m.Case(0x04):
                m.d.sync += enable.eq(axi["wdata"][0])
            with m.Case(0x0C):
                m.d.sync += isr.eq(isr ^ axi["wdata"][0])
    with m.If(read):
        m.d.sync += axi["rvalid"].eq(1)
        with m.Switch(axi["araddr"]):
            with m.Case(0x00):
                m.d.sync += [axi["rdata"].eq(Cat(start, done_flag, ~start)), done_flag.eq(0)]
            with m.Case(0x0C):
                m.d.sync += axi["rdata"].eq(isr)
    with m.If(done):
        m.d.sync += [done_flag.eq(1), isr.eq(1), start.eq(0)]
    return signals, start, done
