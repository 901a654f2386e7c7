"""Training to a solution with everything on card ``model``, beside the same run on the CPU learner.

``python -m bench.training FOLDER`` runs all of it and writes the table and the curves there.
"""

from bench import row
from bench.training.runs import CASES, run

__all__ = ["rows"]

_SOURCE = "card model, the card's arithmetic bit for bit; trained until solved and confirmed"


def rows(area=False):
    """Mean return and gradient steps of every case; there is no area to add."""
    return [line for case in CASES for line in _rows(case)]


def _rows(case):
    for seed in range(case.seeds):
        peer = run(case, "cpu", seed).summary
        for kind in ("float32", "fixed"):
            summary = run(case, kind, seed).summary
            name = f"{case.algo} on {case.env}, {kind}, seed {seed}"
            yield row("training", name, "mean_return", round(summary["mean_return"], 1), "return",
                      reference=f"CPU learner; solved from {case.threshold:g}",
                      reference_value=round(peer["mean_return"], 1), source=_SOURCE)  # fmt: skip
            yield row("training", name, "updates", summary["updates"], "gradient steps",
                      reference="CPU learner", reference_value=peer["updates"],
                      source=_SOURCE)  # fmt: skip
