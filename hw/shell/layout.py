"""One table a layout: hardware struct, NumPy dtype and documentation come from the same fields.

Fields are 32 or 64 bits, little-endian, 64-bit fields on 8-byte offsets, so that the NumPy record
and the hardware struct are the same bytes.
"""

from dataclasses import dataclass

import numpy as np
from amaranth import unsigned
from amaranth.lib import data

__all__ = ["Field", "Layout"]


@dataclass(frozen=True)
class Field:
    """``kind``: u32, u64 or f32; ``count`` > 1 makes an array."""

    name: str
    kind: str
    doc: str
    count: int = 1

    @property
    def size(self):
        """Bytes."""
        return {"u32": 4, "u64": 8, "f32": 4}[self.kind] * self.count


class Layout:
    """Named fields packed without gaps, padded with zeros to ``size`` bytes.

    Parameters
    ----------
    name, doc : str
        Heading and sentence of the documentation.
    fields : sequence of Field
    size : int
        Bytes of the whole; ValueError if the fields need more or a u64 is not on 8 bytes.
    """

    def __init__(self, name, doc, fields, *, size):
        self.name, self.doc, self.fields, self.size = name, doc, tuple(fields), size
        self.offsets, offset = {}, 0
        for field in self.fields:
            if field.kind == "u64" and offset % 8:
                raise ValueError(f"{name}.{field.name} must be on an 8-byte offset, not {offset}")
            self.offsets[field.name] = offset
            offset += field.size
        if offset > size:
            raise ValueError(f"{name} must fit {size} bytes, not {offset}")

    @property
    def dtype(self):
        """Structured NumPy dtype of ``size`` bytes."""
        kinds = {"u32": "<u4", "u64": "<u8", "f32": "<f4"}
        return np.dtype(
            {
                "names": [f.name for f in self.fields],
                "formats": [
                    (kinds[f.kind], f.count) if f.count > 1 else kinds[f.kind] for f in self.fields
                ],
                "offsets": [self.offsets[f.name] for f in self.fields],
                "itemsize": self.size,
            }
        )

    @property
    def shape(self):
        """Amaranth layout of ``8 * size`` bits; a f32 is its 32-bit pattern."""

        def shape(field):
            one = unsigned(64 if field.kind == "u64" else 32)
            return data.ArrayLayout(one, field.count) if field.count > 1 else one

        return data.FlexibleLayout(
            8 * self.size,
            {f.name: data.Field(shape(f), 8 * self.offsets[f.name]) for f in self.fields},
        )

    def markdown(self):
        """The table of the register document."""
        rows = "\n".join(
            f"| {self.offsets[f.name]:#04x} | `{f.name}` | {f.kind}"
            f"{f'[{f.count}]' if f.count > 1 else ''} | {f.doc} |"
            for f in self.fields
        )
        return (
            f"### {self.name}\n\n{self.doc} {self.size} bytes.\n\n"
            f"| byte | field | type | meaning |\n|---|---|---|---|\n{rows}\n"
        )
