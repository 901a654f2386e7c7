"""Literal cases: commands at their limits, which are taken, and beyond them, which are refused.

Every number in a case is worked out by hand from what ``registers.md`` says. None comes from a
command table: one that is wrong there is wrong in hardware and twin alike. ``checks`` says what a
table refuses; the cases of a kernel must name all of it.
"""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
from programs import BLANK, Builder, Launch, status_of

__all__ = ["Bench", "Case", "checks", "counted", "exercised", "footprint", "highest"]
__all__ += ["lowest", "padding", "rule", "same_state", "unused", "with_twin"]

OPERANDS, RESULTS, COUNT, FIELD, BUFFER = 2, 3, 5, 6, 7
_PLACES = {"count": 4, "source": 8, "destination": 12}
#: Kind of a field -> its smallest and its largest number.
_KINDS = {
    "u32": (0, 2**32 - 1),
    "u64": (0, 2**64 - 1),
    "i32": (-(2**31), 2**31 - 1),
    "i64": (-(2**63), 2**63 - 1),
}


@dataclass(frozen=True)
class Case:
    """One reason for which a command is refused.

    Parameters
    ----------
    command, check : str
        Its name, and what refuses it, as ``checks`` says it.
    refused : (int, int)
        Error and detail beyond the limit.
    at, beyond : sequences of dict
        How a command differs from the one of ``Bench.good``: fields, sizes of the launch's buffers,
        in ``raw`` bytes by their place. ``outcome`` of one at its limit: error and detail of
        another reason, where it cannot be taken.
    before : sequence of (str, dict), or None
        Commands of the launch before it; None: those of ``Bench.before``.
    """

    command: str
    check: str
    refused: tuple
    at: tuple
    beyond: tuple
    before: tuple | None = None

    def __str__(self):
        return f"{self.command} {self.check}"


def lowest(command, name, refused, low, kind="u32", **at):
    """The field's smallest number is ``low``; ``at``: what else differs where it has it."""
    beyond = {low - 1, _KINDS[kind][0]}
    return Case(
        command, f"{name} low", refused, ({name: low, **at},), tuple({name: n} for n in beyond)
    )


def highest(command, name, refused, high, kind="u32", beyond=(), **at):
    """The field's largest number is ``high``; beyond are the next, the largest of all, and one that
    is ``high`` again where its first bit is cut."""
    most = _KINDS[kind][1]
    beyond = {high + 1, high | (most + 1 >> 1), most, *beyond}
    return Case(
        command, f"{name} high", refused, ({name: high, **at},), tuple({name: n} for n in beyond)
    )


def counted(command, **at):
    """A count of 1 to 65535; ``at``: what else differs where it is 65535."""
    return [
        lowest(command, "count", (COUNT, 0), 1),
        highest(command, "count", (COUNT, 0), 65535, **at),
    ]


def unused(command, *names):
    """Fields of the header that must be 0."""
    return [highest(command, name, (FIELD, _PLACES[name]), 0) for name in names]


def padding(command, used):
    """Every byte behind the fields, which are ``used`` bytes, must be 0."""
    beyond = [{"raw": {place: 1}} for place in range(used, 64)] + [{"raw": {63: 128}}]
    return Case(command, "padding", (FIELD, used), ({},), tuple(beyond))


def rule(command, position, refused, at, beyond, before=None):
    """``at`` keep rule ``position`` of the table, ``beyond`` break it and none before it."""
    return Case(command, f"rule {position}", refused, tuple(at), tuple(beyond), before)


def footprint(command, place, need, beat, *, buffer=None, first=0, before=None, **fields):
    """With ``fields`` the command needs ``need`` bytes, whole beats, at ``place``, a multiple of 64
    from ``first`` on. Of 0 bytes the place must be right all the same. ``buffer``: one of the
    design's; None: results for ``destination``, operands for others."""
    buffer = buffer or ("results" if place == "destination" else "operands")
    code = {"operands": OPERANDS, "results": RESULTS}.get(buffer, BUFFER)
    size, refused, moved = f"{buffer}_bytes", (code, 0), first + 64

    def differs(begin, room):
        return {**fields, place: begin, size: room}

    short = (
        differs(first, first + need - 1),
        differs(first, first + need - beat),
        differs(moved, moved + need - 1),
        differs(2**32 - 64, moved + need),
    )
    room = Case(
        command,
        f"{place} room",
        refused,
        (differs(first, first + need), differs(moved, moved + need)),
        tuple(each for each in short if each[size] >= 0),
        before,
    )
    ample = moved + need + 64
    offset = Case(
        command,
        f"{place} offset",
        refused,
        (differs(moved, ample),),
        tuple(differs(first + wrong, ample) for wrong in (1, 2, 4, 8, 16, 32)),
        before,
    )
    return [room, offset]


def checks(table, config):
    """``{(command, check)}``: every single thing for which a CommandTable refuses a command."""
    found = set()
    for command in table.values():
        names = []
        for field, low, high in command.checked(config):
            least, most = _KINDS[field.kind]
            names += [f"{field.name} low"] * (low is not None and low > least)
            names += [f"{field.name} high"] * (high is not None and high < most)
        names += ["padding"] * (command.used < command.size)
        names += [f"rule {position}" for position in range(len(command.rules))]
        for place in command.footprints:
            names += [f"{place.name} room"] + [f"{place.name} offset"] * (place.offset is not None)
        found |= {(command.name, name) for name in names}
    return found


def exercised(cases):
    """``{(command, check)}`` that ``cases`` have at its limit and beyond it."""
    at = {(case.command, case.check) for case in cases if case.at}
    return at & {(case.command, case.check) for case in cases if case.beyond}


class Bench:
    """Commands on a kernel that stays open.

    Parameters
    ----------
    rig : programs.Rig
    commands : dict of opcode to Layout
    good : dict of str to dict
        Fields of a command that is taken after ``before``.
    before : dict of str to sequence of (str, dict)
        Commands that a launch before it executes.
    sizes : dict of str to int
        Of buffers in a launch that says nothing else. They may claim more than there is, where no
        command that is taken reaches it.
    operands : numpy.ndarray of uint8
    timed : names of commands whose results have clocks, which no twin knows
    """

    #: Of the same kernel on card ``model``, or None. It gets every Case too; same bytes are left.
    twin = None

    def __init__(self, rig, commands, good, before, sizes=None, operands=None, timed=()):
        self.timed = timed
        self.rig, self.commands, self.good, self.before = rig, commands, good, before
        self.opcodes = {opcode.name: opcode for opcode in commands}
        self.sizes = sizes or {}
        self.operands = np.zeros(64, np.uint8) if operands is None else operands
        whole = rig.buffers["operands"]  # lists of a case are zeros; the card began with noise
        whole.view[:] = 0
        whole.to_device()

    def program(self, commands):
        """Rows of 64 bytes; ``commands``: names, and what differs from ``good``."""
        builder = Builder(self.commands)
        for name, differs in commands:
            fields = {**self.good[name], **differs}
            raw = fields.pop("raw", {})
            builder.raw(self.opcodes[name], **fields)
            for place, byte in raw.items():
                builder.last[place] = byte
        return builder.launch().program

    def launch(self, rows):
        """Of these commands, with all of operands and results."""
        room = (self.rig.buffers[name].size for name in ("operands", "results"))
        return Launch(rows, self.operands, *room)

    def run(self, commands, **arguments):
        """What a launch left, and its ``(error, detail, commands executed)``; ``commands``: as of
        ``program``, or its rows."""
        rows = commands if isinstance(commands, np.ndarray) else self.program(commands)
        outputs = self.rig.run(self.launch(rows), **{**self.sizes, **arguments})
        shell, _ = status_of(outputs["status"], self.rig.status)
        outcome = tuple(int(shell[n]) for n in ("error", "error_detail", "executed"))
        assert shell["error_command"] == (outcome[2] if outcome[0] else 0)
        return outputs, outcome

    def prepare(self, case):
        """What the launch before ``case`` left."""
        commands = self.before[case.command] if case.before is None else case.before
        outputs, outcome = self.run(commands)
        assert outcome == (0, 0, len(commands)), "the launch before the case must succeed"
        if self.twin:
            self.twin.prepare(case)
        return outputs

    def attempt(self, command, differs):
        sizes = {n: v for n, v in differs.items() if n.endswith(("_bytes", "_pages"))}
        fields = {n: v for n, v in differs.items() if n not in (*sizes, "outcome")}
        outputs, outcome = self.run([(command, fields)], **sizes)
        if self.twin:
            expected, _ = self.twin.attempt(command, differs)
            for name, data in expected.items():
                if name != "results" or command not in self.timed:
                    different = np.flatnonzero(outputs[name] != data)
                    assert not len(different), f"{differs}: {name} from byte {different[0]:#x} on"
        return outputs, outcome

    def check(self, case):
        """Beyond its limit the command is refused and changes nothing; at its limit it is taken."""
        before = self.prepare(case)
        for differs in case.beyond:
            outputs, outcome = self.attempt(case.command, differs)
            assert outcome == (*case.refused, 0), differs
            same_state(outputs, before, differs)
        for differs in case.at:
            self.prepare(case)
            outcome = self.attempt(case.command, differs)[1]
            wanted = differs.get("outcome", (0, 0))
            assert outcome == (*wanted, int(wanted == (0, 0))), (differs, outcome)


@contextmanager
def with_twin(card, opened_bench):
    """The Bench that ``opened_bench(card)``, a context manager, gives; that of card ``sim`` has one
    of card ``model`` as its twin."""
    with ExitStack() as stack:
        bench = stack.enter_context(opened_bench(card))
        if card == "sim":
            bench.twin = stack.enter_context(opened_bench("model"))
        yield bench


def same_state(outputs, before, label=""):
    """A launch wrote nothing but the shell's part of the status, and changed nothing."""
    for name, data in outputs.items():
        if name == "status":
            equal = np.array_equal(data[64:], before[name][64:])
        elif name == "results":
            equal = (data == BLANK).all()
        else:
            equal = np.array_equal(data, before[name])
        assert equal, f"{label}: {name}"
