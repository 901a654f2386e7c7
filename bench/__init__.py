"""What the README claims, measured now. Each module or package here is a bench with ``rows(area)``.

A row is a dict: bench, case, metric, value, unit, reference, reference_value, source.
"""

__all__ = ["row"]


def row(bench, case, metric, value, unit, *, reference=None, reference_value=None, source):
    """``source``: how the value was obtained. ``reference``: what stands beside it, and from
    where."""
    return {
        "bench": bench,
        "case": case,
        "metric": metric,
        "value": value,
        "unit": unit,
        "reference": reference,
        "reference_value": reference_value,
        "source": source,
    }
