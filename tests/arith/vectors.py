"""Hands operands and expected results of a stream unit to ``stream_bench``, through a file."""

import json

from pauses import SOLID, SOLID_TOO

GAPS = [(0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5), (SOLID_TOO, SOLID)]


def word(layout, **fields):
    """The payload of ``layout`` with these fields, as an integer."""
    return layout.const({name: int(value) for name, value in fields.items()}).as_value().value


def words(layout, **fields):
    """Payloads of ``layout``, one for each row of the fields' arrays."""
    return [
        word(layout, **dict(zip(fields, row, strict=True)))
        for row in zip(*fields.values(), strict=True)
    ]


def check_stream(simulate, tmp_path, unit, operands, results, *, inputs=(), also=(), final=()):
    """Simulate ``unit``: its results, its interval and latency, and reset in flight.

    ``operands`` and ``results`` are payloads of ``i`` and ``o``; where ``also`` names outputs that
    go with ``o``, a result is a tuple. ``inputs`` are held throughout, ``final`` are outputs after
    all results have left.
    """
    file = tmp_path / "vectors.json"
    results = [result if isinstance(result, tuple) else (result,) for result in results]
    assert len(operands) == len(results) > 0
    file.write_text(
        json.dumps(
            dict(
                operands=operands,
                results=results,
                inputs=dict(inputs),
                also=list(also),
                final=dict(final),
            ),
            default=int,
        )
    )
    simulate(
        unit,
        "arith.stream_bench",
        vectors=str(file),
        gaps=GAPS,
        latency=unit.LATENCY,
        interval=unit.INTERVAL,
    )
