"""How the parts of ``a3c`` share the masters: ports of whole rows, on beats of any width.

Each master has one interconnect for reads and one for writes; no port of an interconnect holds up
another.
"""

from amaranth.lib.wiring import connect

from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.shell.axi import engine_of
from hw.shell.buffers import HOST
from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect
from hw.shell.stripes import StripedRead, StripedWrite
from hw.shell.width_conversion import NarrowRead, NarrowWrite
from hw.stream.ram import SHALLOW

__all__ = ["AHEAD", "Masters", "PORT_READ", "PORT_WRITE", "interconnects", "stripes"]

#: Places for beats in the queue of a port: the depth of a memory of lookup tables, which is enough
#: for a row a clock from two stripes together.
PORT_READ, PORT_WRITE = SHALLOW, SHALLOW // 2
#: Places for beats of a port that must read a row a clock by itself from a memory of 64 clocks'
#: latency.
AHEAD = 2 * SHALLOW
#: Blocks of a striped port that may be under way.
_PIECES = 16
#: Rows of a block, the unit in which rows go to the stripes in turn.
_STRIPE_ROWS = ROW


class Masters:
    """Collects ports of rows by master and direction; ``join`` connects them to the masters.

    Parameters
    ----------
    m : Module
        Gets the interconnects and converters as submodules.
    config : Fa3cConfig
    """

    def __init__(self, m, config):
        self.m, self.config = m, config
        self.clients = {}

    def add(self, master, direction, name, port, depth=None):
        """Adds a port of 512-bit rows with the master's addresses.

        master : name of the master
        direction : "read" or "write"
        name : name of the port, for its submodules
        port : read port or write port of a part of ``a3c``
        depth : places for beats in the queue of the port; None: the direction's usual depth
        """
        width = engine_of(self.config, master).data_width
        if width != ROW_WIDTH:
            narrow = {"read": NarrowRead, "write": NarrowWrite}[direction](
                ROW_WIDTH, width, self.config.request_rows
            )
            self.m.submodules[f"{name}_width"] = narrow
            connect(self.m, port, narrow.port)
            port = narrow.memory
        self.add_beats(master, direction, port, depth)

    def add_beats(self, master, direction, port, depth=None):
        """Adds a port whose beats have the width of the master; parameters as in ``add``."""
        depth = depth or {"read": PORT_READ, "write": PORT_WRITE}[direction]
        self.clients.setdefault((master, direction), []).append((port, depth))

    def add_striped(self, direction, name, port, bases):
        """Adds a port of 512-bit rows in local memory, whose blocks of 16 rows lie on the local
        masters in turn.

        ``bases`` : byte address of the begin of local memory on each local master; the other
        parameters as in ``add``.
        """
        striped = {"read": StripedRead, "write": StripedWrite}[direction](
            ROW_WIDTH, self.config.local_masters, _STRIPE_ROWS, _PIECES
        )
        self.m.submodules[f"{name}_stripes"] = striped
        connect(self.m, port, striped.port)
        for number, (base, part) in enumerate(zip(bases, striped.masters, strict=True)):
            self.m.d.comb += striped.bases[number].eq(base)
            self.add(f"local{number}", direction, f"{name}_{number}", part)

    def join(self, ends):
        """Connects all ports that were added, by an interconnect for each master and direction.

        ``ends`` : {(master, direction): port of the core}; each must have a port that was added.
        """
        for (master, direction), end in ends.items():
            clients = self.clients[master, direction]
            config = _interconnect(self.config, master, [depth for _, depth in clients])
            joint = {"read": ReadInterconnect, "write": WriteInterconnect}[direction](config)
            self.m.submodules[f"{master}_{direction}s"] = joint
            for (port, _), place in zip(clients, joint.ports, strict=True):
                connect(self.m, port, place)
            connect(self.m, joint.memory, end)


def _interconnect(config, master, depths):
    engine = engine_of(config, master)
    return InterconnectConfig(
        data_width=engine.data_width,
        ports=len(depths),
        depth=tuple(max(depth, engine.burst_beats) for depth in depths),
        burst_beats=engine.burst_beats,
    )


def interconnects(config):
    """``{(master, "read" or "write"): InterconnectConfig}`` of a Fa3cConfig."""
    infer, train = (len(config.units_for(work)) for work in ("infer", "train"))
    units = len(config.units)
    # Places in the queues of the ports that read and that write.
    local = [PORT_READ] * (units + train), [PORT_WRITE] * (1 + infer)
    depths = {HOST: ([PORT_READ] * (2 + units), [PORT_WRITE] * (1 + infer))}
    new_theta = [PORT_WRITE] * (1 + (config.transposed_rows > 0))
    if config.global_masters == 1:
        depths["global"] = [AHEAD, PORT_READ], [*new_theta, PORT_WRITE]
    else:
        depths |= {"theta": ([AHEAD], new_theta), "squares": ([AHEAD], [PORT_WRITE])}
    depths |= dict.fromkeys(config.local_names, local)
    return {
        (master, direction): _interconnect(config, master, ports)
        for master, both in depths.items()
        for direction, ports in zip(("read", "write"), both, strict=True)
    }


def stripes(config):
    """``InterconnectConfig`` of a port in stripes on the local masters, of a Fa3cConfig."""
    return InterconnectConfig(
        data_width=ROW_WIDTH,
        ports=config.local_masters,
        depth=_STRIPE_ROWS,
        burst_beats=_STRIPE_ROWS,
        bursts=_PIECES,
    )
