"""hw.shell.layout: what a field and a record may be is checked where they are written."""

import re

import pytest

from hw.errors import UsageError
from hw.shell.layout import _KINDS, Field, Layout

KINDS = "u32, i32, u64, i64, f32"


@pytest.mark.parametrize("kind", ["u8", "U32", "", None, 32, "float32"])
def test_another_kind_is_refused_by_name(kind):
    """A package's Field of ``u8`` left the whole design out, with ``KeyError: 'u8'``."""
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


def test_places_of_fields():
    wide, narrow = Field("wide", "u64", ""), Field("narrow", "u32", "")
    with pytest.raises(UsageError, match=r"^R\.wide must be on an 8-byte offset, not 4$"):
        Layout("R", "", (narrow, wide), size=64)
    with pytest.raises(UsageError, match="^R must fit 8 bytes, not 12$"):
        Layout("R", "", (wide, narrow), size=8)
