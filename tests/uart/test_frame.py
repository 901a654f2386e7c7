"""hw.uart.frame against its twin, and the twin against RFC 1055 and zlib."""

import json
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import later
from pauses import SOLID, SOLID_TOO

from hw.uart.frame import FrameDecoder, FrameEncoder
from hw.uart.protocol import END, ESCAPE
from sim.model.uart.frames import Decoder, encode

GAPS = pytest.mark.parametrize(
    "source_gap, sink_gap",
    [(0, 0), later(0.5, 0), later(0, 0.5), (0.4, 0.4), pytest.param(SOLID_TOO, SOLID, id="solid")],
)


def crc(frame):
    return zlib.crc32(frame).to_bytes(4, "little")


def frames():
    """None, one, every value, stuffed bytes alone and in the CRC, and random ones."""
    rng = random.Random(5)
    stuffed = bytes([END, ESCAPE, 0xDC, 0xDD, END, END, ESCAPE])
    in_crc = next(
        each
        for each in (k.to_bytes(3, "little") for k in range(1 << 24))
        if END in crc(each) and ESCAPE in crc(each)
    )
    return [
        b"",
        b"\0",
        bytes(range(256)),
        stuffed,
        in_crc,
        *(rng.randbytes(rng.randint(1, 60)) for _ in range(6)),
    ]


def test_bytes_of_a_frame():
    """RFC 1055 written out by hand; 0xcbf43926 is the check value of CRC-32."""
    assert encode(b"123456789") == b"123456789" + bytes.fromhex("2639f4cb") + b"\xc0"
    head = encode(b"\xc0a\xdb")
    assert head[:5] == b"\xdb\xdca\xdb\xdd" and head[-1:] == b"\xc0"


@given(st.lists(st.binary(max_size=40), max_size=8), st.randoms(use_true_random=False))
def test_twin_gives_back_what_it_was_given(parts, rng):
    """In pieces of any size, and behind garbage."""
    line = bytes([0x00, ESCAPE, END]) + b"".join(encode(part) for part in parts)
    decoder, got, place = Decoder(), [], 0
    while place < len(line):
        size = rng.randint(1, 30)
        got += decoder.feed(line[place : place + size])
        place += size
    assert got == parts


@given(st.binary(min_size=1, max_size=30), st.integers(0, 10**6), st.integers(1, 255))
def test_twin_drops_what_was_changed(frame, place, change):
    """One changed byte never gives a frame other than the one that was sent."""
    line = bytearray(encode(frame))
    line[place % (len(line) - 1)] ^= change
    assert set(Decoder().feed(line)) <= {frame}


@GAPS
def test_encoder(simulate, tmp_path, source_gap, sink_gap):
    words = {
        "i": [word for frame in frames() for word in (*frame, 1 << 8 | END)],
        "o": [byte for frame in frames() for byte in encode(frame)],
    }
    run(simulate, tmp_path, FrameEncoder(), words, source_gap, sink_gap)


@GAPS
def test_decoder(simulate, tmp_path, source_gap, sink_gap):
    """Whole frames, and between them noise, frames with a changed byte, an ESCAPE before END."""
    line, items = [], []
    for frame in frames():
        whole = frame + crc(frame)
        for extra, good in ((b"", 1), (b"\x01", 0), (bytes([ESCAPE]), 0)):
            line += [*encode(frame)[:-1], *extra, END]
            items += [*whole, *(extra if extra == b"\x01" else b""), 1 << 8 | good << 9]
        line += [ESCAPE, 0x41, ESCAPE, ESCAPE, END, END]
        items += [0x41, ESCAPE, 1 << 8, 1 << 8]
    words = {"i": line, "o": items}
    run(simulate, tmp_path, FrameDecoder(), words, source_gap, sink_gap, decoder=True)


def run(simulate, tmp_path, unit, words, source_gap, sink_gap, decoder=False):
    path = tmp_path / "words.json"
    path.write_text(json.dumps(words))
    gaps = dict(source_gap=source_gap, sink_gap=sink_gap)
    simulate(unit, "uart.frame_bench", words=str(path), decoder=decoder, seed=1, **gaps)
