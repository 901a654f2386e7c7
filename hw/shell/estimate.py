"""Resources of the shell: of its units, and of all that stands around a core."""

from functools import lru_cache

from hw.area import area
from hw.estimate import selector, times, together
from hw.shell.axi import engine_of
from hw.shell.buffers import HOST, HOST_BUFFERS, masters_of
from hw.shell.description import standard_arguments
from hw.shell.program import COMMAND_BYTES
from hw.shell.status_block import STATUS
from hw.stream import estimate as stream

__all__ = [
    "control",
    "dispatcher",
    "downsizer",
    "parts",
    "read_engine",
    "read_interconnect",
    "sequencer",
    "striped_read",
    "striped_write",
    "upsizer",
    "write_engine",
    "write_interconnect",
]

_COMMAND = 8 * COMMAND_BYTES


def parts(config, buffers, status):
    """``{unit: Estimate}``, the resources of a kernel without its core.

    The units are control, sequencer and engines (all masters together). ``config`` is the
    kernel's; ``buffers`` and ``status`` are ``BUFFERS`` and ``STATUS`` of its core.
    """
    width = engine_of(config, HOST).data_width
    engines = [
        {"r": read_engine, "w": write_engine}[kind](engine_of(config, master))
        for master, access in masters_of((*HOST_BUFFERS, *buffers)).items()
        for kind in access
    ]
    return {
        "control": control(standard_arguments(buffers)),
        "sequencer": sequencer(width, status.size),
        # Requests and data of the host's master come from the sequencer or the core; the reset.
        "engines": together([*engines, area("shell.kernel", width=width)]),
    }


def control(arguments):
    """Resources of ``Control``: a bit is written under its mask, and chosen to be read."""
    return area("shell.control", bits=8 * sum(argument.size for argument in arguments))


def sequencer(data_width, status_bytes):
    """Resources of ``Sequencer``."""
    size = 8 * (STATUS.size + status_bytes)
    words, beats = size // data_width, _COMMAND // data_width
    logic = area(
        "shell.sequencer",
        count=(words - 1).bit_length() + (beats - 1).bit_length(),
        waiting=(beats > 1) * (_COMMAND - data_width + 1),
    )
    # Where a beat is one of four parts of the status or fewer, each of its bits takes one table.
    few = words <= 4
    chosen = area(f"shell.sequencer.{'few' if few else 'many'}", bits=data_width if few else size)
    return together([logic, chosen, stream.queue(_COMMAND + 1, 16)])


def dispatcher(table, config, *, products):
    """Resources of a core's ``Dispatcher``, with its decoder and the register at its results.

    table : CommandTable; config : the kernel's; products : DSP blocks of the multiplications in the
    functions of ``table``.
    """
    commands, places, stages = table.values(), table.footprints, len(table.stages)
    checked = [(low, high) for each in commands for _, low, high in each.checked(config)]
    logic = area(
        "shell.dispatcher",
        commands=len(commands),
        # Of a command's fields, limits are compared, or bits are 0.
        limits=sum(bool(low) + (high is not None) for low, high in checked if high != 0),
        zeros=sum(high == 0 for _, high in checked),
        # Commands that end in zeros.
        padded=sum(each.used < COMMAND_BYTES for each in commands),
        rules=sum(len(each.rules) for each in commands),
        # Places are computed and compared.
        users=sum(len(each.footprints) for each in commands),
        places=len(places),
        stages=stages,
        state=(max(1, stages) + 1).bit_length(),
        # Operands that are requested when the core wants them.
        requested=sum(
            buffer == "operands" and name != "source" and bool(table.movers(name))
            for name, (buffer, _) in places.items()
        ),
        products=products,
    )
    results = area("stream.ready_register", width=engine_of(config, HOST).data_width)
    return together([logic, results])


def _splitter(engine):
    """Resources of ``BurstSplitter``: address and beats are loaded, or go on to the next burst."""
    return area("shell.burst_splitter", length=engine.burst_beats.bit_length())


@lru_cache(maxsize=1024)  # kernels of a search have the same
def read_engine(engine):
    """Resources of ``ReadEngine``."""
    queue = stream.queue(engine.data_width + 1, engine.depth, engine.style)
    own = area("shell.read_engine", level=engine.depth.bit_length())
    return together([_splitter(engine), queue, own])


@lru_cache(maxsize=1024)  # kernels of a search have the same
def write_engine(engine):
    """Resources of ``WriteEngine``."""
    queues = [
        stream.queue(engine.data_width, engine.depth, engine.style),
        *(stream.queue(width, engine.bursts) for width in (8, 1)),
    ]
    own = area("shell.write_engine", level=engine.depth.bit_length())
    return together([_splitter(engine), *queues, own])


def _owners(config):
    """Resources of ``Owners``."""
    length = config.burst_beats.bit_length()
    counter = area("shell.owners", length=length)
    return together([counter, stream.queue(_place(config) + length, config.bursts)])


def _place(config):
    """Bits of a port's number."""
    return (max(2, config.ports) - 1).bit_length()


def _shared(config, beat_width, tokens):
    """Resources of the common parts of both interconnects: an arbiter, the beats' owners, a queue a
    port; ``tokens``: bits of a port's counter of the tokens that it may still get."""
    ports = [config.port(number) for number in range(config.ports)]
    arbiter = area(
        "shell.interconnect",  # the address of a burst is one of the ports'
        ports=len(ports),
        tokens=len(ports) * tokens,
        length=config.burst_beats.bit_length(),
        place=_place(config),
        counts=sum(port.depth.bit_length() + tokens for port in ports),
    )
    each = [
        part
        for port in ports
        for part in (_splitter(port), stream.queue(beat_width, port.depth, port.style))
    ]
    return together([arbiter, _owners(config), *each])


@lru_cache(maxsize=1024)  # kernels of a search have the same
def read_interconnect(config):
    """Resources of ``ReadInterconnect``."""
    own = area("shell.read_interconnect", ports=config.ports)
    return together([_shared(config, config.data_width + 1, 0), own])


@lru_cache(maxsize=1024)  # kernels of a search have the same
def write_interconnect(config):
    """Resources of ``WriteInterconnect``."""
    width, ports = config.data_width, config.ports
    queues = times(ports, stream.queue(1, config.tokens))
    failed = stream.queue(_place(config) + 1, config.bursts)  # of a request, an earlier burst
    shared = _shared(config, width, config.tokens.bit_length())
    # A beat is one of the ports'.
    chosen = width * (ports if ports > 4 else 2)
    own = area("shell.write_interconnect", ports=ports, chosen=chosen)
    return together([shared, queues, failed, own])


def _stripes(config):
    """Resources of what both striped ports have: pieces of requests, and an address a master."""
    addresses = area("shell.stripes", ports=config.ports)
    if config.ports == 1:
        return addresses
    return together([addresses, _splitter(config.port(0)), _owners(config)])


def striped_read(config):
    """Resources of ``StripedRead`` with this ``config``."""
    tables = config.data_width * selector(config.ports)
    return together([_stripes(config), area("shell.striped_read", tables=tables)])


def striped_write(config):
    """Resources of ``StripedWrite`` with this ``config``."""
    striped = config.ports > 1
    failed = times(striped, stream.queue(_place(config) + 1, config.bursts))
    return together([_stripes(config), failed, area("shell.striped_write", striped=striped)])


def upsizer(wide, narrow):
    """Resources of ``Upsizer``, and of ``NarrowRead``."""
    ratio = wide // narrow
    return area("shell.upsizer", ratio=ratio, wide=wide, index=(ratio - 1).bit_length())


def downsizer(wide, narrow):
    """Resources of ``Downsizer``, and of ``NarrowWrite``."""
    ratio = wide // narrow
    chosen, moved = (ratio > 1) * wide, (ratio - 1) * wide
    return area("shell.downsizer", chosen=chosen, moved=moved, wide=wide, count=ratio.bit_length())
