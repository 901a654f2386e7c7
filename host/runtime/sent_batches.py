"""Batches of experiences as TRAIN takes them, and the TD errors that it gives for them."""

import numpy as np

from host.runtime.experience import finite, in_runs
from host.runtime.learner_checks import check_experiences
from host.runtime.program import aligned
from hw.errors import UsageError
from hw.replay.records import HEADER, ITEM

__all__ = ["received_errors", "sent_batches"]


def sent_batches(learner, records, weights, count, batch_size):
    """HEADER and experience of ``count`` batches, each batch from a beat on: uint8 [count, bytes].

    records [count * batch_size]; weights, importance weights of them, or None for ones. The index
    in a header is the experience's position. ValueError for another number of either, a weight
    that is negative, zero throughout a batch or no number, and an experience that the kernel
    refuses.
    """
    total = count * batch_size
    if len(records) != total:
        raise UsageError(
            f"experiences must be {total} ({count} batches of {batch_size}), not {len(records)}"
        )
    weights = finite("weights", np.ones(total) if weights is None else weights)
    if weights.shape != (total,):
        raise UsageError(f"weights must have shape ({total},), not {weights.shape}")
    if np.signbit(weights).any():  # of -0, too
        bad = int(np.argmax(np.signbit(weights)))
        raise UsageError(f"weights must not be negative, as {weights[bad]} at position {bad} is")
    # What is smaller than any normal number is 0 to the card.
    empty = (weights.reshape(count, batch_size) < np.finfo(np.float32).tiny).all(axis=1)
    if empty.any():
        raise UsageError(f"weights must not all be 0 in a batch, as in batch {np.argmax(empty)}")
    check_experiences(learner, records)
    whole = np.zeros(total, [("header", HEADER.dtype), ("experience", records.dtype)])
    whole["header"]["index"], whole["header"]["weight"] = np.arange(total), weights
    whole["experience"] = records
    return in_runs(whole, count)


def received_errors(results, count, batch_size):
    """The TD errors of ``count`` lists, each from a beat on: float32 [count, batch_size]."""
    lists = results.reshape(count, aligned(batch_size * ITEM.size))[:, : batch_size * ITEM.size]
    return np.ascontiguousarray(lists).view(ITEM.dtype)["value"].view(np.float32).copy()
