"""``python -m bench.training FOLDER``: README.md with the table, and a figure an environment."""

import sys
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bench.training.runs import CASES, KINDS, run

_TITLES = {"float32": "card, binary32", "fixed": "card, fixed point", "cpu": "CPU learner"}

_INTRODUCTION = """\
# What the card learns

Everything on the card: `rlfabric train ALGO --learner card --until-solved --seed N`, with
`--set kernel.learner.arithmetic.kind=fixed` or `float32`, on card `model`, whose bytes are the
Verilog's. Beside it the same hyperparameters on the CPU learner, the reference implementation. A
run ends when a greedy evaluation reaches the threshold and another one, on other episodes, confirms
it: the mean return below is the second one's, and in brackets are the gradient steps until then.

Written by `python -m bench.training docs/learning`; `make test-long` holds the claim."""


def figure(case, folder):
    """Greedy returns over gradient steps, a panel a learner, a line a seed; the file's name."""
    drawn = Figure(figsize=(9, 2.6), layout="constrained")
    FigureCanvasAgg(drawn)
    panels = drawn.subplots(1, len(KINDS), sharex=True, sharey=True)
    for panel, kind in zip(panels, KINDS, strict=True):
        for seed in range(case.seeds):
            panel.plot(*zip(*run(case, kind, seed).curve, strict=True), lw=1.2, label=f"{seed}")
        panel.axhline(case.threshold, color="gray", ls="--", lw=1)
        panel.set(title=_TITLES[kind], xlabel="gradient steps")
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="greedy return")
    panels[0].legend(title="seed", fontsize=7, title_fontsize=7)
    name = f"{case.env}.png"
    drawn.savefig(folder / name, dpi=90)
    return name


def table(case):
    """Lines of a Markdown table: mean return (gradient steps) of each seed and learner."""
    heads = ["seed", *(_TITLES[kind] for kind in KINDS)]
    yield from ("| " + " | ".join(cells) + " |" for cells in (heads, ["---:"] * len(heads)))
    for seed in range(case.seeds):
        cells = [str(seed)]
        for kind in KINDS:
            summary = run(case, kind, seed).summary
            mark = "" if summary["solved"] else ", not solved"
            cells.append(f"{summary['mean_return']:.1f} ({summary['updates']}{mark})")
        yield "| " + " | ".join(cells) + " |"


def document(folder):
    """The text of README.md; draws the figures that it shows."""
    lines = [_INTRODUCTION]
    for case in CASES:
        name = figure(case, folder)
        lines += ["", f"## {case.algo} on {case.env}, solved from {case.threshold:g}", ""]
        lines += [*table(case), "", f"![Greedy returns of {case.algo} on {case.env}]({name})"]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python -m bench.training FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(document(folder))


if __name__ == "__main__":
    main()
