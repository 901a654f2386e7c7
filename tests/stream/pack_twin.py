"""Twins of ``hw.stream.pack``. A granule is one or more trailing axes of any dtype."""

import numpy as np

__all__ = ["pack", "unpack"]


def pack(data, count, last, output_granules):
    """Return ``(words [m, output_granules, ...], last [m])`` of ``hw.stream.pack.Pack``.

    ``data`` [n, input_granules, ...] with ``count`` [n] granules valid in each; after an open
    end (no ``last`` on the final input) the begun word stays inside.
    """
    data, count = np.asarray(data), np.asarray(count, dtype=np.int64)
    last = np.asarray(last, dtype=bool)
    granules = data[np.arange(data.shape[1]) < count[:, None]]
    batch_of_input = np.cumsum(last) - last
    batches = int(batch_of_input[-1]) + 1 if len(last) else 0
    lengths = np.bincount(batch_of_input, count, batches).astype(np.int64)
    words = -(-lengths // output_granules)
    if batches and not last[-1]:
        words[-1] = lengths[-1] // output_granules
    first_word = np.cumsum(words) - words
    batch = np.repeat(np.arange(batches), lengths)
    inside = np.arange(len(granules)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    place = first_word[batch] * output_granules + inside
    total = int(words.sum())
    kept = place < total * output_granules
    packed = np.zeros((total * output_granules, *data.shape[2:]), data.dtype)
    packed[place[kept]] = granules[kept]
    ends = np.zeros(total, dtype=bool)
    closed = batches if not batches or last[-1] else batches - 1
    ends[(first_word + words - 1)[:closed]] = True
    return packed.reshape(total, output_granules, *data.shape[2:]), ends


def unpack(words, count, last):
    """Return ``(words [m, word_granules, ...], last [m])`` of ``hw.stream.pack.Unpack``.

    ``words`` [n, word_granules, ...] hold records of ``count`` granules; after a record with
    ``last`` the next one begins a new word. ValueError if ``words`` end too early.
    """
    words, count = np.asarray(words), np.asarray(count, dtype=np.int64)
    last = np.asarray(last, dtype=bool)
    size = words.shape[1]
    batch = np.cumsum(last) - last
    lengths = np.bincount(batch, count).astype(np.int64)
    batch_words = -(-lengths // size)
    skipped = np.cumsum(batch_words * size - lengths) - (batch_words * size - lengths)
    first = np.cumsum(count) - count + skipped[batch]
    flat = words.reshape(-1, *words.shape[2:])
    needed = int(first[-1] + count[-1]) if len(count) else 0
    if needed > len(flat):
        raise ValueError(f"words must hold {needed} granules, not {len(flat)}")

    record_words = -(-count // size)
    record = np.repeat(np.arange(len(count)), record_words)
    order = np.arange(len(record)) - np.repeat(np.cumsum(record_words) - record_words, record_words)
    inside = order[:, None] * size + np.arange(size)
    valid = inside < count[record][:, None]
    out = flat[np.where(valid, first[record][:, None] + inside, 0)]
    out[~valid] = 0
    return out, order == record_words[record] - 1
