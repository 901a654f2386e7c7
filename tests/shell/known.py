"""No X where a stranger looks: what a kernel drives is known while anybody may read it."""

from cocotb.triggers import ReadOnly, RisingEdge

__all__ = ["watch"]

_CONTROL = "s_axi_control_"
#: Valid or ready, and what must be known while it is valid.
_SLAVE = {"awready": (), "wready": (), "arready": (), "bvalid": ("bresp",)}
_SLAVE |= {"rvalid": ("rdata", "rresp")}
_ADDRESS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos", "region")
_MASTER = {f"{c}valid": tuple(c + name for name in _ADDRESS) for c in ("ar", "aw")}
_MASTER |= {"wvalid": ("wdata", "wstrb", "wlast"), "rready": (), "bready": ()}


async def watch(dut, masters):
    """Every clock out of reset, of the interrupt, ``s_axi_control`` and the masters."""
    pins = [("interrupt", ())]
    for prefix, names in [(_CONTROL, _SLAVE), *((f"{name}_", _MASTER) for name in masters)]:
        pins += [
            (prefix + name, tuple(prefix + other for other in payload))
            for name, payload in names.items()
        ]
    handles = [(name, getattr(dut, name), payload) for name, payload in pins]
    while True:
        await RisingEdge(dut.ap_clk)
        await ReadOnly()
        if not dut.ap_rst_n.value:
            continue
        for name, handle, payload in handles:
            value = handle.value
            assert value.is_resolvable, f"{name} is {value}"
            for other in payload if value else ():
                assert getattr(dut, other).value.is_resolvable, f"{other} is X while {name}"
