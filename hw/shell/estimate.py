"""Resources of the shell: of its units, and of all that stands around a core.

Registers are counted. Lookup tables are as yosys maps them to UltraScale+, module by module: each
unit's follow from the widths of what it adds, compares and chooses.
"""

from hw.estimate import Estimate, selector, together
from hw.shell.axi import REQUEST, engine_of
from hw.shell.buffers import HOST, HOST_BUFFERS, masters_of
from hw.shell.description import standard_arguments
from hw.shell.program import COMMAND_BYTES, OUTCOME
from hw.shell.status_block import STATUS
from hw.stream.queue import Queue
from hw.stream.ready_register import ReadyRegister

__all__ = [
    "control",
    "dispatcher",
    "downsizer",
    "parts",
    "read_engine",
    "read_interconnect",
    "sequencer",
    "splitter",
    "striped_read",
    "striped_write",
    "upsizer",
    "write_engine",
    "write_interconnect",
]

_ADDRESS, _BEATS = REQUEST["address"].width, REQUEST["beats"].width
_COMMAND = 8 * COMMAND_BYTES


def parts(config, buffers, status):
    """``{unit: Estimate}``, the resources of all that is in a kernel beside its core.

    The units are control, sequencer and engines (those of all masters together). ``config`` is the
    kernel's; ``buffers`` and ``status`` are ``BUFFERS`` and ``STATUS`` of its core.
    """
    width = engine_of(config, HOST).data_width
    engines = [
        {"r": read_engine, "w": write_engine}[kind](engine_of(config, master))
        for master, access in masters_of((*HOST_BUFFERS, *buffers)).items()
        for kind in access
    ]
    # Requests and data of the host's master come from the sequencer or the core; the reset.
    shared = Estimate(lut=width + 2 * (_ADDRESS + _BEATS) + 25)
    return {
        "control": control(standard_arguments(buffers)),
        "sequencer": sequencer(width, status.size),
        "engines": together([*engines, shared]),
    }


def control(arguments):
    """Resources of ``Control``."""
    bits = 8 * sum(argument.size for argument in arguments)
    # A bit is written under its mask, and chosen to be read.
    return Estimate(lut=7 * bits // 5 + 240, ff=bits + 91)


def sequencer(data_width, status_bytes):
    """Resources of ``Sequencer``."""
    size = 8 * (STATUS.size + status_bytes)
    words, beats = size // data_width, _COMMAND // data_width
    # Where a beat is one of four parts of the status or fewer, each of its bits takes one table.
    chosen = data_width if words <= 4 else size * 11 // 20 - 8 * STATUS.size // 2
    logic = Estimate(
        lut=430 + chosen,
        ff=362 + (words - 1).bit_length() + (beats > 1) * (_COMMAND - data_width + 1),
    )
    part = Estimate(ff=(beats - 1).bit_length())
    return together([logic, part, Queue.estimate(_COMMAND + 1, 16)])


def dispatcher(table, config, *, products):
    """Resources of a core's ``Dispatcher``, with its decoder and the register at its results.

    table : CommandTable; config : the kernel's; products : DSP blocks of what the functions of
    ``table`` multiply.
    """
    limits, zeros, users, rules = 0, 0, 0, 0
    for command in table.values():
        for _, low, high in command.checked(config):
            zeros += high == 0
            limits += 0 if high == 0 else bool(low) + (high is not None)
        users += len(command.footprints)
        rules += len(command.rules)
    places, stages = len(table.footprints), len(table.stages)
    # Of a command's fields, limits are compared, or bits are 0; places are computed and compared.
    decoder = Estimate(
        lut=100 + 8 * limits + 7 * zeros + 8 * users + 30 * rules + 20 * places + 85 * stages,
        ff=11 + len(table) + 50 * places + 40 * stages,
        dsp=products,
    )
    # Operands that are requested when the core wants them.
    others = sum(
        buffer == "operands" and name != "source" and bool(table.movers(name))
        for name, (buffer, _) in table.footprints.items()
    )
    logic = Estimate(
        lut=205 + 60 * others,
        ff=_COMMAND + OUTCOME.size + (max(1, stages) + 1).bit_length() + 6 + others,
    )
    results = ReadyRegister.estimate(engine_of(config, HOST).data_width)
    return together([decoder, logic, results])


def splitter(engine):
    """Resources of ``BurstSplitter``."""
    length = engine.burst_beats.bit_length()
    # Address and beats are loaded, or go on to the next burst.
    lut = _ADDRESS + 2 * _BEATS + 16 + 3 * length
    return Estimate(lut=lut, ff=2 * _ADDRESS + _BEATS + length + 3)


def read_engine(engine):
    """Resources of ``ReadEngine``."""
    level = engine.depth.bit_length()
    queue = Queue.estimate(engine.data_width + 1, engine.depth, engine.style)
    return together([splitter(engine), queue, Estimate(lut=4 * level, ff=level)])


def write_engine(engine):
    """Resources of ``WriteEngine``."""
    level = engine.depth.bit_length()
    queues = [
        Queue.estimate(engine.data_width, engine.depth, engine.style),
        *(Queue.estimate(width, engine.bursts) for width in (8, 1)),
    ]
    return together([splitter(engine), *queues, Estimate(lut=60 + level, ff=12 + level)])


def _owners(config):
    """Resources of ``Owners``."""
    length, place = config.burst_beats.bit_length(), (max(2, config.ports) - 1).bit_length()
    counter = Estimate(lut=3 * length, ff=length)
    return together([counter, Queue.estimate(place + length, config.bursts)])


def _shared(config, beat_width, tokens):
    """Resources of what both interconnects have: an arbiter, the beats' owners, a queue a port;
    ``tokens``: bits in which a port counts the tokens that it may still get."""
    ports = [config.port(number) for number in range(config.ports)]
    place, length = (max(2, len(ports)) - 1).bit_length(), config.burst_beats.bit_length()
    counted = sum(port.depth.bit_length() + tokens for port in ports)
    # The address of a burst is one of the ports'.
    arbiter = Estimate(
        lut=90 * len(ports) - 50 + 3 * len(ports) * tokens,
        ff=_ADDRESS + length + 2 + 2 * place + counted,
    )
    each = [
        part
        for port in ports
        for part in (splitter(port), Queue.estimate(beat_width, port.depth, port.style))
    ]
    return together([arbiter, _owners(config), *each])


def read_interconnect(config):
    """Resources of ``ReadInterconnect``."""
    logic = Estimate(lut=2 * config.ports + 3)
    return together([_shared(config, config.data_width + 1, 0), logic])


def write_interconnect(config):
    """Resources of ``WriteInterconnect``."""
    width, ports = config.data_width, config.ports
    place = (max(2, ports) - 1).bit_length()
    # A beat is one of the ports'; an earlier burst of a port's request has failed.
    beats = width if ports <= 4 else width * ports // 2
    queues = [Queue.estimate(1, config.tokens)] * ports
    queues += [Queue.estimate(place + 1, config.bursts)]
    shared = _shared(config, width, config.tokens.bit_length())
    return together([shared, *queues, Estimate(lut=beats + 8 * ports, ff=ports)])


def _pieces(config):
    """Resources of what both striped ports have: pieces of requests, and an address a master."""
    addresses = Estimate(lut=_ADDRESS * config.ports)
    return together([splitter(config.port(0)), _owners(config), addresses])


def striped_read(config):
    """Resources of ``StripedRead`` with this ``config``."""
    if config.ports == 1:
        return Estimate(lut=_ADDRESS, ff=0)
    return together([_pieces(config), Estimate(lut=config.data_width * selector(config.ports))])


def striped_write(config):
    """Resources of ``StripedWrite`` with this ``config``."""
    if config.ports == 1:
        return Estimate(lut=_ADDRESS, ff=0)
    place = (config.ports - 1).bit_length()
    return together([_pieces(config), Queue.estimate(place + 1, config.bursts), Estimate(ff=1)])


def upsizer(wide, narrow):
    """Resources of ``Upsizer``, and of ``NarrowRead``."""
    ratio = wide // narrow
    return Estimate(lut=2 * ratio + 2, ff=wide + 2 + (ratio - 1).bit_length())


def downsizer(wide, narrow):
    """Resources of ``Downsizer``, and of ``NarrowWrite``."""
    ratio = wide // narrow
    return Estimate(lut=8 + (ratio > 1) * wide, ff=wide + ratio.bit_length())
