"""Tables of docs/results/learner.md, printed from the rows of the bench: steps, and whole kernels.

``rows`` is the bench's ``Results``; a table is as in ``bench.tables``.
"""

from hw.replay.config import ReplayConfig

__all__ = ["learner_area", "learner_steps"]


def learner_steps(rows):
    yield ["network", "words", "DP", "arithmetic", "B", "multipliers", "gradient step", "at most",
           "CF'22, these", "CF'22, its PEs", "use", "iteration", "TRAIN"]  # fmt: skip
    # CF'22's own network comes first, whenever it was measured.
    for row in sorted(rows.rows, key=lambda row: not row["case"].startswith("4-64-2, ")):
        if row["metric"] != "multipliers":
            continue
        case, step = row["case"], "gradient_step_cycles"
        net, words, lanes, kind, batch = case.rsplit(", ", 4)
        yield [
            net, words.removeprefix("words "), lanes.removeprefix("DP="), kind,
            batch.removeprefix("B="), row["value"],
            rows.value(case, step),
            _known(rows, case, step, reference="at most")["reference_value"],
            rows.beside(case, step, reference="CF'22's formula, these"),
            rows.beside(case, step, reference="CF'22's formula, DP="),
            rows.value(case, "mac_utilization"),
            rows.value(case, "iteration_cycles"),
            rows.value(case, "train_cycles"),
        ]  # fmt: skip


def _known(rows, case, metric, **which):
    """``rows.row`` of these arguments; without numbers if there is none."""
    try:
        return rows.row(case, metric, **which)
    except KeyError:
        return {"value": None, "reference_value": None}


def learner_area(rows):
    yield ["network", "words", "arithmetic", "K",
           *(head for name in ("DSP", "LUT", "FF", "SRAM, MB")
             for head in (name, "own count", "beside it")),
           "BRAM36", "URAM"]  # fmt: skip
    for row in rows.rows:
        case = row["case"]
        if row["metric"] != "dsp_estimate":
            continue
        net, words, _, kind, _, *fanout = case.removeprefix("kernel ").split(", ")
        fanout = fanout[0].removeprefix("K=") if fanout else str(ReplayConfig().fanout)
        cells = []
        for name in ("dsp", "lut", "ff", "sram_mb"):
            own = _known(rows, case, f"{name}_estimate")
            cells += [_known(rows, case, name)["value"], own["value"], own["reference_value"]]
        blocks = [_known(rows, case, name)["value"] for name in ("bram36", "uram")]
        yield [net, words.removeprefix("words "), kind, fanout, *cells, *blocks]
