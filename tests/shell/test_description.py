"""The hash that a kernel carries: all that host and kernel share, and nothing else."""

import re
import struct
from dataclasses import replace

import pytest
from amaranth import Const, Value, signed
from gae.gae_programs import NARROW as GAE
from learner.learning import SMALL
from learner.learning import kernel_config as learner_config
from replay.kernels import NARROW as REPLAY

from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.gae.records import MOMENTS
from hw.learner.records import HYPERPARAMETERS
from hw.replay.commands import Opcode
from hw.replay.records import HEADER, REPLAY_STATUS, Error
from hw.shell.command import Command, CommandTable
from hw.shell.layout import _KINDS, Field, Layout

CONFIGS = {"replay": REPLAY, "dqn": learner_config(algorithm="dqn", **SMALL), "gae": GAE}


def hash_of(name, core=(), **changes):
    """With the design's members, and those of its core, replaced."""
    design = DESIGNS[name]
    if core:
        changes["core"] = type("Changed", (design.core,), dict(core))
    return replace(design, **changes).describe(CONFIGS[name]).config_hash


def records_of(name):
    records = DESIGNS[name].records
    return records(CONFIGS[name]) if callable(records) else records


def copy(layout, fields=None, **names):
    """``layout`` with other fields, another name, size or text."""
    values = dict(name=layout.name, doc=layout.doc, size=layout.size) | names
    name, doc, size = (values[key] for key in ("name", "doc", "size"))
    return Layout(name, doc, layout.fields if fields is None else fields, size=size)


def with_command(opcode, change):
    """Commands of ``replay`` where ``change(Command)`` gives opcode, text and fields of one."""
    commands = []
    for each, command in DESIGNS["replay"].commands.items():
        number, doc, fields = each, command.doc, command.fields[4:]
        if each is opcode:
            number, doc, fields = change(command)
        moves = dict(footprints=command.footprints, values=command.values)
        commands.append(Command(number, doc, fields, count=command.fields[1], **moves))
    return {"COMMANDS": CommandTable(commands)}


class _Another:
    """A member of an enumeration with the name of another, and a number of its own."""

    def __init__(self, member, value):
        self.name, self.value = member.name, value


def renumbered(command):
    return _Another(Opcode.SEED, 99), command.doc, command.fields[4:]


def renamed(command):
    (state,) = command.fields[4:]
    return Opcode.SEED, command.doc, (replace(state, name="seed"),)


def shorter(command):
    (state,) = command.fields[4:]
    return Opcode.SEED, command.doc, (replace(state, count=3),)


def wider(command):
    return Opcode.SEED, command.doc, (*command.fields[4:], Field("more", "u32", ""))


def retyped(command):
    (state,) = command.fields[4:]
    return Opcode.SEED, command.doc, (replace(state, kind="i64"),)


def limited(command):
    """hw_core 5"""
    (state,) = command.fields[4:]
    return Opcode.SEED, command.doc, (replace(state, high=(1 << 63) - 1),)


def limited_by_config(command):
    """hw_core 5"""
    (state,) = command.fields[4:]
    return Opcode.SEED, command.doc, (replace(state, low=lambda config: config.replay.fanout),)


def reworded(command):
    fields = tuple(replace(field, doc="another text") for field in command.fields[4:])
    return Opcode.SEED, "Another text.", fields


@pytest.mark.parametrize(
    "change", [renumbered, renamed, shorter, wider, retyped, limited, limited_by_config]
)
def test_a_command_that_changes_changes_the_hash(change):
    same = with_command(Opcode.SEED, lambda c: (Opcode.SEED, c.doc, c.fields[4:]))
    assert hash_of("replay", same) == hash_of("replay")
    assert hash_of("replay", with_command(Opcode.SEED, change)) != hash_of("replay")


def test_a_command_more_or_less_changes_the_hash():
    commands = list(DESIGNS["replay"].commands.values())
    less = CommandTable(commands[:-1])
    more = CommandTable([*commands, Command(_Another(Opcode.GET, 10), "One more.")])
    hashes = {hash_of("replay", {"COMMANDS": table}) for table in (less, more)}
    assert len(hashes | {hash_of("replay")}) == 3


@pytest.mark.parametrize(
    "name, record", [("replay", HEADER), ("dqn", HYPERPARAMETERS), ("gae", MOMENTS)]
)
def test_a_record_that_changes_changes_the_hash(name, record):
    """Fields, their order and their kinds; the size of the whole."""
    first, second, *others = record.fields

    def changed(*fields, **names):
        records = {
            section: [copy(record, fields, **names) if each is record else each for each in layouts]
            for section, layouts in records_of(name).items()
        }
        return hash_of(name, records=lambda config: records)

    before = hash_of(name)
    assert changed(*record.fields) == before
    other_kind = {"u32": "i32", "f32": "u32", "u64": "i64"}[first.kind]
    hashes = [
        changed(replace(first, name="other"), second, *others),
        changed(replace(first, kind=other_kind), second, *others),
        changed(second, first, *others),
        changed(*record.fields[:-1]),
        changed(*record.fields, size=record.size + 64),
    ]
    assert len({before, *hashes}) == 6


def test_a_status_that_changes_changes_the_hash():
    total, *others = REPLAY_STATUS.fields
    fields = (replace(total, name="sum"), *others)
    assert hash_of("replay", {"STATUS": copy(REPLAY_STATUS, fields)}) != hash_of("replay")


def test_an_error_code_that_changes_changes_the_hash():
    errors, before = DESIGNS["replay"].errors, hash_of("replay")
    name, text = errors[Error.TD]
    rest = {code: entry for code, entry in errors.items() if code != Error.TD}
    assert hash_of("replay", errors={**rest, 99: (name, text)}) != before
    assert hash_of("replay", errors=rest) != before
    assert hash_of("replay", errors={**rest, Error.TD: ("other", text)}) != before


def test_buffers_change_the_hash():
    (storage,) = DESIGNS["replay"].core.BUFFERS
    for change in (dict(name="memory"), dict(access="r"), dict(large=False), dict(master="host")):
        buffers = {"BUFFERS": (replace(storage, **change),)}
        largest = change.get("name", storage.name)
        assert hash_of("replay", buffers, largest=largest) != hash_of("replay"), change


@pytest.mark.parametrize("name", CONFIGS)
def test_texts_do_not_change_the_hash(name):
    """A description that is worded better is of the same kernel."""
    design = DESIGNS[name]
    records = {
        f"Other {section}": [
            copy(each, [replace(field, doc="another") for field in each.fields], doc="Another.")
            for each in layouts
        ]
        for section, layouts in records_of(name).items()
    }
    errors = {code: (short, "another") for code, (short, _) in design.errors.items()}
    assert hash_of(
        name, records=lambda config: records, errors=errors, summary="Another."
    ) == hash_of(name)


def test_texts_of_commands_do_not_change_the_hash():
    assert hash_of("replay", with_command(Opcode.SEED, reworded)) == hash_of("replay")


KINDS = "u8, i8, u16, u32, i32, u64, i64, f32"


@pytest.mark.parametrize("kind", ["u24", "U32", "", None, 32, "float32"])
def test_another_kind_is_refused_by_name(kind):
    """A package's Field of ``u24`` left the whole design out, with ``KeyError: 'u24'``."""
    rule = f"kind of amount must be one of {KINDS}, not {kind!r}"
    with pytest.raises(UsageError, match=re.escape(rule)):
        Field("amount", kind, "")


@pytest.mark.parametrize("count", [0, -1, 2.0, True, None, "2"])
def test_another_count_is_refused(count):
    rule = f"count of amount must be a positive integer, not {count!r}"
    with pytest.raises(UsageError, match=re.escape(rule)):
        Field("amount", "u32", "", count)


@pytest.mark.parametrize("kind", sorted(_KINDS))
def test_every_kind_is_packed_and_read(kind):
    record = Layout("R", "", (Field("one", kind, ""), Field("list", kind, "", 3)), size=64)
    raw = record.pack([5, 1, 2, 3])
    assert record.unpack(raw) == {"one": 5, "list": [1, 2, 3]} and len(raw) == 64
    assert kind in KINDS.split(", ")


@pytest.mark.parametrize("kind", sorted(set(_KINDS) - {"f32"}))
def test_the_span_of_a_kind_is_what_its_bytes_hold(kind):
    one = Layout("R", "", (Field("one", kind, ""),), size=8)
    low, high = one.fields[0].span
    for number in (low, high):
        assert one.unpack(one.pack([number])) == {"one": number}
    for number in (low - 1, high + 1):
        with pytest.raises(struct.error):
            one.pack([number])


def test_a_narrow_value_in_hardware_keeps_its_sign():
    one = Layout("R", "", (Field("one", "i64", ""), Field("two", "u32", "")), size=16)
    bits = Value.cast(one.encode(one=Const(-3, signed(5)), two=Const(13, 4)))
    assert Const.cast(bits).value.to_bytes(16, "little") == one.pack([-3, 13])


def test_places_of_fields():
    wide, narrow = Field("wide", "u64", ""), Field("narrow", "u32", "")
    with pytest.raises(UsageError, match=r"^R\.wide must be on an 8-byte offset, not 4$"):
        Layout("R", "", (narrow, wide), size=64)
    with pytest.raises(UsageError, match="^R must fit 8 bytes, not 12$"):
        Layout("R", "", (wide, narrow), size=8)
