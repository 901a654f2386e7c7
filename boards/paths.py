"""Longest combinational paths of mapped modules, in levels of logic, across module boundaries.

A level is a lookup table; a carry chain of n bits is 1 + n / 32 levels, the lookup table at its
entry included. MUXF7 to MUXF9, which join lookup tables of one slice, and inverters are free. The
read of a queue in lookup tables is one level. Paths begin and end at registers, memories, DSP
blocks and the ports of the module.
"""

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from hw.errors import Failure

__all__ = ["Logic", "Path", "longest"]

#: Delays are integers: 32nds of a level, which is a carry of one bit.
LEVEL = 32

_REGISTERS = ("$_DFF", "$_SDFF", "$_ALDFF", "rlfabric_ff")
#: Cells that begin and end paths, by the beginning of their type, and their outputs.
_ENDS = {
    "$__MUL27X18": ("Y",),
    "rlfabric_ram": ("read_data", "a_read_data", "b_read_data"),
    **dict.fromkeys(_REGISTERS, ("Q",)),
}
#: Words of an asynchronous memory up to which its read is one level: MUXF7 to MUXF9 are free.
_ONE_LEVEL = 512


@dataclass(frozen=True)
class Path:
    """A longest path: its ``levels`` and the names of the signals at its two ends."""

    levels: float
    begin: str
    end: str


class Logic:
    """The timing graph of one module: arcs of its cells, ends of paths, submodules.

    Parameters
    ----------
    module : dict
        The module in yosys' JSON, mapped to ``$lut`` and CARRY4 cells. KeyError for a cell whose
        paths are not known.
    """

    def __init__(self, module):
        self.arcs = {}  #: {output net: {input net: delay}}
        self.begins, self.ends, self.parts = {}, set(), []  # begins: {net: delay}
        cells = module["cells"].values()
        self._tables = {c["connections"]["Y"][0] for c in cells if c["type"] == "$lut"}
        for cell in cells:
            self._add(cell["type"], cell["connections"], cell["parameters"])
        directions = {"input": {}, "output": {}}
        for name, port in module["ports"].items():
            directions[port["direction"]][name] = port["bits"]
        self.inputs, self.outputs = directions["input"], directions["output"]
        self.names = self._named(module["netnames"])
        del self._tables

    def _named(self, nets):
        """``{net: name}`` of nets where paths begin or end; the shortest name wins."""
        ports = {bit for sides in (self.inputs, self.outputs) for bits in sides.values()
                 for bit in bits}  # fmt: skip
        wanted, found = {*self.begins, *self.ends, *ports}, {}
        for part in self.parts:
            wanted |= {bit for bits in part[1].values() for bit in bits}
        for name in sorted(nets, key=lambda name: (name.startswith(("$", "\\$")), len(name), name)):
            for number, bit in enumerate(nets[name]["bits"]):
                if bit in wanted:
                    found.setdefault(bit, f"{name}[{number}]")
        return found

    def _arc(self, output, source, delay):
        if isinstance(output, int) and isinstance(source, int):
            arcs = self.arcs.setdefault(output, {})
            arcs[source] = max(delay, arcs.get(source, 0))

    def _add(self, kind, pins, parameters):
        outputs = next((pins for start, pins in _ENDS.items() if kind.startswith(start)), None)
        if outputs is not None:
            for pin, bits in pins.items():
                if pin in outputs:
                    self.begins.update(dict.fromkeys(_nets(bits), 0))
                else:
                    self.ends.update(_nets(bits))
        elif kind == "$lut":
            for source in pins["A"]:
                self._arc(pins["Y"][0], source, LEVEL)
        elif kind == "CARRY4":
            self._carry(pins)
        elif kind == "$mem_v2":
            self._memory(pins, parameters)
        elif kind == "$_NOT_":
            self._arc(pins["Y"][0], pins["A"][0], 0)
        elif kind.startswith("$") and kind != "$scopeinfo":
            raise KeyError(f"cell must be of a known type, not {kind!r}")
        elif not kind.startswith("$"):
            self.parts.append((kind, pins))

    def _carry(self, pins):
        for name in ("O", "CO"):
            for number, output in enumerate(pins.get(name, ())):
                for pin in ("CI", "CYINIT"):
                    for source in pins.get(pin, ()):
                        self._arc(output, source, number + 1)
                for pin in ("S", "DI"):
                    for bit, source in enumerate(pins[pin][: number + 1]):
                        entry = 0 if source in self._tables else LEVEL
                        self._arc(output, source, entry + number - bit + 1)

    def _memory(self, pins, parameters):
        """A memory that Amaranth writes out: a queue of lookup tables, or a table of constants.

        yosys retimes the register of a queue's read address across the read, if it can; the
        vendor's tools do not.
        """
        queue = int(parameters["WR_PORTS"], 2) > 0
        address, width, ports, words = (
            int(parameters[name], 2) for name in ("ABITS", "WIDTH", "RD_PORTS", "SIZE")
        )
        clocked = parameters["RD_CLK_ENABLE"][::-1]
        for name in ("WR_ADDR", "WR_DATA", "WR_EN", "RD_EN", "RD_SRST", "RD_ARST"):
            self.ends.update(_nets(pins.get(name, ())))
        for port in range(ports):
            sources = _nets(pins["RD_ADDR"][port * address : (port + 1) * address])
            read = pins["RD_DATA"][port * width : (port + 1) * width]
            if clocked[port] == "1":
                self.ends.update(sources)
                self.begins.update(dict.fromkeys(_nets(read), LEVEL if queue else 0))
                continue
            if words > _ONE_LEVEL:
                raise KeyError(f"asynchronous memory must have at most 512 words, not {words}")
            for output in read:
                for source in sources:
                    self._arc(output, source, LEVEL)


def _nets(bits):
    return [bit for bit in bits if isinstance(bit, int)]


class _Timing:
    """The delays of a module, submodules included, and its longest path.

    entry, exit : dict
        ``{(port, bit): delay}``: from an input to the furthest end inside, and from the furthest
        beginning inside to an output.
    through : dict
        ``{(input, output): delay}``.
    path : Path
        The longest path that is not inside one submodule.
    """

    def __init__(self, logic, parts):
        self.entry, self.exit, self.through = {}, {}, {}
        arcs = {output: dict(sources) for output, sources in logic.arcs.items()}
        # {net: {beginning: delay}}; a beginning is an input, or None for any inside the module.
        reached = {net: {None: delay} for net, delay in logic.begins.items()}
        ends = dict.fromkeys(logic.ends, 0)
        for (_, pins), part in zip(logic.parts, parts, strict=True):
            self._place(part, pins, arcs, reached, ends)
        for name, bits in logic.inputs.items():
            for number, net in enumerate(bits):
                reached.setdefault(net, {})[name, number] = 0
        before = _spread(arcs, reached)
        longest, end = 0, None
        for net, delay in ends.items():
            for begin, delays in reached.get(net, {}).items():
                if begin is not None:
                    self.entry[begin] = max(self.entry.get(begin, 0), delays + delay)
                if end is None or delays + delay > longest:
                    longest, end = delays + delay, net
        for name, bits in logic.outputs.items():
            for number, net in enumerate(bits):
                for begin, delay in reached.get(net, {}).items():
                    if begin is None:
                        self.exit[name, number] = delay
                    else:
                        self.through[begin, (name, number)] = delay
                    if end is None or delay > longest:
                        longest, end = delay, net
        begin = end
        while begin in before:
            begin = before[begin]
        names = (logic.names.get(net, "") for net in (begin, end))
        self.path = Path(longest / LEVEL, *names)

    @staticmethod
    def _place(part, pins, arcs, reached, ends):
        def net(pin):
            bits = pins.get(pin[0], ())
            return bits[pin[1]] if pin[1] < len(bits) else None

        for pin, delay in part.entry.items():
            if isinstance(net(pin), int):
                ends[net(pin)] = max(delay, ends.get(net(pin), 0))
        for pin, delay in part.exit.items():
            if isinstance(net(pin), int):
                own = reached.setdefault(net(pin), {})
                own[None] = max(delay, own.get(None, 0))
        for (source, output), delay in part.through.items():
            if isinstance(net(source), int) and isinstance(net(output), int):
                own = arcs.setdefault(net(output), {})
                own[net(source)] = max(delay, own.get(net(source), 0))


def _spread(arcs, reached):
    """Propagates ``reached`` along ``arcs``; returns ``{net: predecessor}`` on the longest path."""
    before = {}
    for net in TopologicalSorter(arcs).static_order():
        own, furthest = reached.setdefault(net, {}), -1
        for source, delay in arcs.get(net, {}).items():
            for begin, earlier in reached[source].items():
                if earlier + delay > own.get(begin, -1):
                    own[begin] = earlier + delay
            latest = max(reached[source].values(), default=-1)
            if latest >= 0 and latest + delay > furthest:
                furthest, before[net] = latest + delay, source
    return before


def longest(modules):
    """``{name: Path}``: every module's longest path that is not inside one submodule.

    ``modules`` is ``{name: Logic}``, submodules included. Failure for a combinational loop.
    """
    timings = {}

    def timing(name):
        if name not in timings:
            logic = modules[name]
            parts = [timing(kind) for kind, _ in logic.parts]
            try:
                timings[name] = _Timing(logic, parts)
            except CycleError:
                raise Failure(f"{name} must have no combinational loop") from None
        return timings[name]

    return {name: timing(name).path for name in modules}
