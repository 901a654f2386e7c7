"""README's table of results: a row for each paper, with ours at our best, ours at the paper's own
operating point, and the paper's; and the table of all points in docs/papers.md."""

from bench.markdown import shown
from bench.points import COLUMNS, Comparison, Point

__all__ = ["comparisons", "operating_points", "papers"]

_OWN_THETA = "2 pairs of 64 PEs, 16 agents, a theta of its own each"


def papers(results):
    """Yields the lines of README's table of papers, each a list of cells, the heads first.

    ``results(name)`` gives the ``Results`` of the bench ``name``.
    """
    yield [
        "paper",
        "figure",
        "ours",
        "ours at the paper's point",
        "the paper",
        "what still differs",
        "ours is of",
    ]
    for each in comparisons(results):
        unlike = dict.fromkeys(each.reasons.values())
        yield [
            each.paper, f"`{each.kernel}`: {each.what}",
            _short(each.ours, each), _short(each.nearest, each), _short(each.theirs, each),
            "; ".join(unlike) or "nothing", each.made,
        ]  # fmt: skip


#: How README names a column's text.
_TOLD = {"arithmetic": "{}", "bits": "{} bits", "batch": "batch {}", "sharing": "{}"}


def _short(point, comparison):
    """The value, with the columns that tell our best from ours at the paper's point."""
    unlike = comparison.ours.unlike(comparison.nearest)
    if "arithmetic" in unlike:
        unlike.remove("bits")
    cells = {name: point.cell(name) for name in _TOLD if name in unlike}
    told = [_TOLD[name].format(cell) for name, cell in cells.items() if cell != "not named"]
    return f"{shown(point.value)} ({', '.join(told)})" if told else shown(point.value)


def operating_points(results):
    """Yields the lines of the table of all points: each figure of README's rows, and others of
    ours that have no counterpart in a paper."""
    yield ["paper", "figure of", "value", "arithmetic", "bits", "batch", "fanout or sharing",
           "inside", "how", "why it differs from the paper's"]  # fmt: skip
    for each in comparisons(results):
        why = "; ".join(f"{column}: {reason}" for column, reason in each.reasons.items())
        points = [each.ours, *([each.same] if each.same else []), each.theirs, *each.more]
        for point in points:
            yield [
                each.paper, f"{point.name}: {each.what}" if point is each.ours else point.name,
                point.value, *(point.cell(name) for name in COLUMNS),
                why if point is each.nearest else "",
            ]  # fmt: skip


def comparisons(results):
    """The list of Comparisons of README, one for each paper."""
    kinds = _cf22, _pearl, _heppo, _fa3c, _fixar
    return [kind(results) for kind in kinds]


def _made(*rows):
    """Commit and day of the oldest of ``rows``."""
    oldest = min(rows, key=lambda row: row["date"])
    return f"{oldest['commit']}, {oldest['date'].split()[0]}"


def _cf22(results):
    rows, case = results("learner"), "4-64-2, words 4-8-2{}, DP=2, {}, B=64"
    step = dict(metric="gradient_step_cycles", reference="CF'22's formula, DP=2")
    units = rows.row(case.format(" and 32 update units", "fixed"), **step)
    binary32 = rows.row(case.format("", "float32"), **step)
    point = dict(batch="64", sharing="2 lanes", inside=(), how="measured")
    return Comparison(
        paper="CF'22",
        made=_made(units, binary32),
        kernel="dqn",
        what="clocks of a DQN step, 4-64-2, batch 64",
        ours=Point(name="`dqn`, 32 update units", value=units["value"], arithmetic="fixed",
                   bits="18 and 27", **point),
        same=Point(name="`dqn`, 8 update units", value=binary32["value"], arithmetic="binary32",
                   bits="32", **point),
        theirs=Point(name="CF'22", value=binary32["reference_value"], arithmetic="binary32",
                     bits="32", **point | dict(how="formula")),
        reasons={"how": "formula counts no unit's latency"},
        more=(
            Point(name="`dqn`, 8 update units, a whole iteration", arithmetic="binary32", bits="32",
                  value=rows.value(case.format("", "float32"), "iteration_cycles"),
                  **point | dict(inside=("draw", "transfers"))),
        ),
    )  # fmt: skip


def _pearl(results):
    rows = results("replay")
    draw = rows.row("N=2^20, K=16, B=512", "sample_cycles")
    binary = rows.row("N=2^20, K=2, B=512", "sample_cycles")
    point = dict(arithmetic="integers", bits="24", batch="512", inside=("draw",), how="measured")
    return Comparison(
        paper="PEARL",
        made=_made(draw, binary),
        kernel="replay",
        what="clocks to draw 512 indexes of 2^20",
        ours=Point(name="`replay`", value=draw["value"], sharing="fanout 16", **point),
        same=Point(name="`replay`", value=binary["value"], sharing="fanout 2", **point),
        theirs=Point(name="PEARL, its best fanout", value=binary["reference_value"],
                     sharing="fanout 2",
                     **point | dict(arithmetic="not named", bits="not named", how="formula")),
        reasons={
            "arithmetic": "PEARL names no number format",
            "bits": "PEARL names no number format",
            "how": "equation 4 counts no latency",
        },
        more=(
            Point(name="PEARL, its example's fanout", value=draw["reference_value"],
                  sharing="fanout 16",
                  **point | dict(arithmetic="not named", bits="not named", how="formula")),
            Point(name="`replay`, a launch that brings the experiences", sharing="fanout 16",
                  value=rows.value("N=2^20, K=16, B=512, 40-byte experiences",
                                   "kernel_sample_cycles"),
                  **point | dict(inside=("draw", "launch", "transfers"))),
        ),
    )  # fmt: skip


def _heppo(results):
    rows, case = results("gae"), "64 x 1024 steps, k=2"
    narrow = rows.row(case, "elements_per_cycle")
    wide = rows.row(f"{case}, words of 35 bits", "elements_per_cycle")
    point = dict(arithmetic="fixed", batch="64 x 1024", sharing="k = 2", how="measured")
    return Comparison(
        paper="HEPPO",
        made=_made(narrow, wide),
        kernel="gae",
        what="time steps a clock, 64 PEs",
        ours=Point(name="`gae`, the array", value=narrow["value"], bits="27", inside=(), **point),
        same=Point(name="`gae`, the array", value=wide["value"], bits="35", inside=(), **point),
        theirs=Point(name="HEPPO", value=wide["reference_value"], bits="not named", inside=(),
                     **point | dict(arithmetic="not named", how="peak")),
        reasons={
            "arithmetic": "HEPPO names no word width",
            "bits": "HEPPO names no word width",
            "how": "peak counts no pipeline fill",
        },
        more=tuple(
            Point(name=f"`gae`, rollouts in and results out, port of {width} bits", bits="27",
                  value=rows.value(f"{case}, whole kernel, port of {width} bits",
                                   "kernel_elements_per_cycle"),
                  inside=("transfers",), **point)
            for width in (128, 512)
        ),
    )  # fmt: skip


def _fa3c(results):
    rows = results("fa3c")
    shared = rows.row("2 pairs of 64 PEs, 16 agents", "ips", reference="FA3C", source="Verilog")
    own = rows.row(_OWN_THETA, "ips", reference="FA3C", source="Verilog")
    populations = "ALE/Pong-v5, 2 populations of 16 agents"
    point = dict(arithmetic="binary32", bits="32", batch="5", how="measured")
    device, host = ("inference",), ("inference", "host", "launch", "transfers")
    return Comparison(
        paper="FA3C",
        made=_made(shared, own),
        kernel="a3c",
        what="inferences a second, 16 agents, 180 MHz",
        ours=Point(name="`a3c`", value=shared["value"], sharing="4 agents a theta", inside=device,
                   **point),
        same=Point(name="`a3c`", value=own["value"], sharing="a theta each", inside=device,
                   **point),
        theirs=Point(name="FA3C", value=own["reference_value"], sharing="a theta each", inside=host,
                     **point),
        reasons={"inside": "FA3C's rate has its host"},
        more=(
            Point(name="`a3c` with Pong on two cores, which are measured, and a card by formula",
                  value=rows.value(populations, "platform_ips", source="machine"),
                  sharing="4 agents a theta", inside=host, **point | dict(how="formula")),
        ),
    )  # fmt: skip


def _fixar(results):
    rows, case = results("fixar"), "17-400-300-6, 512 PEs, {}, B={}{}"
    best = rows.row(case.format("full", 512, ""), "ips")
    small, large = (
        rows.row(case.format("full", batch, ", with an ACT"), "ips_act") for batch in (64, 512)
    )
    point = dict(arithmetic="fixed", bits="27 of 32", sharing="2 cores")
    acting = dict(inside=("draw", "inference"), how="formula")
    return Comparison(
        paper="FIXAR",
        made=_made(best, small),
        kernel="fixar",
        what="samples a second, 17-400-300-6, 164 MHz",
        ours=Point(name="`fixar`, without acting", value=best["value"], batch="512",
                   inside=("draw",), how="measured", **point),
        same=Point(name="`fixar`", value=small["value"], batch="64", **point, **acting),
        theirs=Point(name="FIXAR", value=small["reference_value"], batch="64",
                     inside=("inference",), how="measured", **point | dict(bits="32")),
        reasons={
            "bits": "27 of 32 bits multiplied",
            "inside": "our iteration draws its batch",
            "how": "within two clocks of Verilog",
        },
        more=(
            Point(name="`fixar`", value=large["value"], batch="512", **point, **acting),
            Point(name="`fixar` with MuJoCo, 16 bits",
                  value=rows.value(case.format("half", 512, ""), "platform_ips", source="machine"),
                  batch="512", inside=("draw", "inference", "host", "launch", "transfers"),
                  how="formula", **point | dict(bits="16")),
            Point(name="FIXAR with MuJoCo, its peak",
                  value=rows.beside(case.format("half", 512, ""), "platform_ips", source="machine"),
                  batch="512", inside=("inference", "host", "launch", "transfers"), how="measured",
                  **point | dict(bits="32 and 16")),
        ),
    )  # fmt: skip
