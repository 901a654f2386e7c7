"""docs/learning: a page and a figure a claim, from its runs' results alone, and an index.

What a page says in one line is kept beside it, in ``results.json``: so the index has every claim,
and the pages of claims that were not run on this machine stay as they are.
"""

import json
import re
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bench.learning.job import JUDGING_SEED
from bench.learning.shares import compared
from host.checkpoint import atomic_write

__all__ = ["found", "write_claim", "write_index"]

RESULTS = "results.json"

_INDEX = """\
# What is learned

Claims of training, each with its runs, on card `model`, whose bytes are the Verilog's. `make
learning` trains what is missing, goes on with what was cut, writes these pages and fails if a claim
does not hold; `make learning ONLY="ddpg CartPole-v1"` is about the claims that one of the words
names, by name, algorithm or environment. A row of `bench/learning/claims.py` is a claim.

A run has solved its environment from the threshold on; a claim holds if each kind that it is about
has as many such runs as it needs. Beside them stand runs that it is not about.
"""

_OWN = (
    "A return is the mean of {episodes} greedy episodes of the run's best policy, which did not "
    "choose it. "
)
_JUDGED = (
    "A return is the mean of {episodes} greedy episodes of the run's best policy, with seeds from "
    "{seed} on, which no training and no evaluation has. "
)
_TRAINING = (
    "A return is the mean of the last 100 episodes that the run's actors finished, with the "
    "exploration of training. "
)
_WHOLE = "Every run has all its steps. "
_SO_FAR = (
    "A run of which it says so far is not finished; the command goes on with it, to its {steps} "
    "steps. "
)
_UNTIL = (
    "A run ends when a greedy evaluation reaches the threshold and another one, on other episodes, "
    "confirms it. "
)


def found(claim, results):
    """What ``results.json`` says of a Claim; ``results``: ``{(kind's name, seed): result}``, None
    of a run that is not finished."""
    kinds = {}
    for kind in claim.kinds:
        runs = _runs(claim, kind, results)
        kinds[kind.name] = {
            "title": kind.title,
            "counts": kind.counts,
            "solved": sum(map(claim.solved, runs)),
            "runs": len(runs),
        }
    return {
        "algo": claim.algo,
        "env": claim.env,
        "threshold": claim.solved_from,
        "seeds": claim.seeds,
        "needed": claim.needed,
        "holds": _agreement(claim, results)[0]
        and compared(claim, results)[0]
        and all(each["solved"] >= claim.needed for each in kinds.values() if each["counts"]),
        "kinds": kinds,
        "seconds": round(sum(result["seconds"] for result in results.values() if result)),
    }


def _runs(claim, kind, results):
    """Results of the runs of a kind that are finished."""
    runs = (results[kind.name, seed] for seed in claim.seeds_of(kind))
    return [result for result in runs if result and not result.get("unfinished")]


def _means(claim, kind, results):
    """Their mean returns; None where no episode has ended."""
    found = [result["mean_return"] for result in _runs(claim, kind, results)]
    return [mean for mean in found if mean is not None]


def _agreement(claim, results):
    """Whether the kinds that shall agree do, and the sentence that says so."""
    if claim.agree is None:
        return True, ""
    kinds = [kind for kind in claim.kinds if kind.name in claim.agree]
    means = [np.array(_means(claim, kind, results)) for kind in kinds]
    if min(map(len, means)) < 2:
        return False, "They cannot be compared before each has two runs."
    difference = means[0].mean() - means[1].mean()
    error = np.sqrt(sum(each.var(ddof=1) / len(each) for each in means))
    agrees = abs(difference) <= 2 * error
    first, second = (kind.title for kind in kinds)
    return bool(agrees), (
        f"{first} less {second}: {difference:.2f}, {'within' if agrees else '**more than**'} two "
        f"standard errors of {error:.2f}."
    )


def write_claim(claim, jobs, results, folder):
    """Page, figure and line of a Claim, of which all runs that count are finished, or known so far;
    what ``found`` says."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    line = found(claim, results)
    _figure(claim, results, folder / f"{claim.name}.png")
    _write(folder / f"{claim.name}.md", _page(claim, jobs, results, line))
    lines = _lines(folder) | {claim.name: line}
    _write(folder / RESULTS, json.dumps(lines, indent=1) + "\n")
    return line


def write_index(claims, folder):
    """README.md, a line for each of the claims that has one; those of no claim are dropped."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines = _lines(folder)
    lines = {claim.name: lines[claim.name] for claim in claims if claim.name in lines}
    _write(folder / RESULTS, json.dumps(lines, indent=1) + "\n")
    hours = sum(line["seconds"] for line in lines.values()) / 3600
    took = f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"
    text = [_INDEX, *_rows(lines), "", f"All runs together took {took} of one core."]
    _write(folder / "README.md", "\n".join(text) + "\n")


def _lines(folder):
    path = folder / RESULTS
    return json.loads(path.read_text()) if path.exists() else {}


def _write(path, text):
    atomic_write(path, lambda file: file.write(text.encode()))


def _rows(lines):
    yield "| claim | solved from | runs that solve it, of so many | needed | beside | holds |"
    yield "| --- | ---: | --- | ---: | --- | --- |"
    for name, line in lines.items():
        sides = {True: [], False: []}
        for kind in line["kinds"].values():
            runs = f"{kind['solved']} of {kind['runs']}" if kind["runs"] else "no run finished yet"
            sides[kind["counts"]].append(f"{kind['title']} {runs}")
        cells = [
            f"[{name}]({name}.md)",
            "" if line["threshold"] is None else f"{line['threshold']:g}",
            "; ".join(sides[True]),
            str(line["needed"]),
            "; ".join(sides[False]),
            "yes" if line["holds"] else "**no**",
        ]
        yield f"| {' | '.join(cells)} |"


def _page(claim, jobs, results, line):
    needs = f"{claim.needed} of {claim.seeds} seeds"
    holds = "It holds." if line["holds"] else "**It does not hold.**"
    titles = [kind.title for kind in claim.kinds if kind.counts]
    who = titles[0] if len(titles) == 1 else f"each of {', '.join(titles)}"
    text = [f"# {claim.name}", ""]
    text += [
        f"Claim: `{claim.algo}` on {claim.env}, {who}, {_what(claim)} in {needs}. {holds}",
        "",
    ]
    text += [f"Where it comes from: {claim.source}.", "", *_table(claim, results), ""]
    episodes = claim.episodes or jobs[claim.kinds[0].name, 0].config.evaluation_episodes
    if claim.agree:
        text += [_agreement(claim, results)[1], ""]
    for sentence in compared(claim, results)[1]:
        text += [sentence, ""]
    judged = _OWN if claim.episodes is None else _JUDGED
    text += [
        (_TRAINING if claim.training else judged).format(episodes=episodes, seed=JUDGING_SEED)
        + _ends(claim, jobs, results)
        + "In brackets are environment steps, and gradient steps.",
        "",
    ]
    for kind in claim.kinds:
        command = jobs[kind.name, 0].command
        shown = f": `{command} --seed N`" if command else ""
        text.append(f"- {kind.title}, {kind.what}{shown}")
    alt = "Returns" if claim.training else "Greedy returns"
    text += ["", f"![{alt} of {claim.algo} on {claim.env}]({claim.name}.png)"]
    return "\n".join(text) + "\n"


def _ends(claim, jobs, results):
    if claim.until_solved:
        return _UNTIL
    if not any(result and result.get("unfinished") for result in results.values()):
        return _WHOLE
    return _SO_FAR.format(steps=_grouped(next(iter(jobs.values())).config.steps))


def _what(claim):
    if claim.falls:
        return f"computes finite numbers and a {claim.falls} that falls"
    return f"reaches {claim.solved_from:g}"


def _table(claim, results):
    """Rows of a Markdown table: return and steps of each seed and kind, and the means."""
    yield f"| seed | {' | '.join(kind.title for kind in claim.kinds)} |"
    yield f"| ---: |{' ---: |' * len(claim.kinds)}"
    for seed in range(claim.seeds):
        cells = [
            _cell(claim, results[kind.name, seed]) if seed in claim.seeds_of(kind) else ""
            for kind in claim.kinds
        ]
        yield f"| {seed} | {' | '.join(cells)} |"
    columns = [_means(claim, kind, results) for kind in claim.kinds]
    means = [f"{sum(means) / len(means):.1f}" if means else "" for means in columns]
    yield f"| mean | {' | '.join(means)} |"


def _cell(claim, result):
    if result is None:
        return "not run yet"
    mean = "no episode" if result["mean_return"] is None else f"{result['mean_return']:.1f}"
    if result.get("unfinished"):
        return f"{mean} so far ({_grouped(result['steps'])})"
    if claim.falls:
        first, last = result["falls"]
        mean = f"{mean}; {claim.falls} {first:.3g} to {last:.3g}"
    if not claim.solved(result):
        mean = f"**{mean}**, not solved"
    return f"{mean} ({_grouped(result['steps'])}; {_grouped(result['updates'])})"


def _grouped(count):
    """120000 as 120 000."""
    return re.sub(r"(?<=\d)(?=(\d{3})+$)", " ", str(count))


def _figure(claim, results, path):
    """Returns over environment steps, a panel a kind, a line a seed."""
    drawn = Figure(figsize=(max(5, 1.2 + 2.2 * len(claim.kinds)), 2.8), layout="constrained")
    FigureCanvasAgg(drawn)
    (panels,) = drawn.subplots(1, len(claim.kinds), sharex=True, sharey=True, squeeze=False)
    for panel, kind in zip(panels, claim.kinds, strict=True):
        for seed in claim.seeds_of(kind):
            curve = (results[kind.name, seed] or {}).get("curve")
            panel.plot(*zip(*curve, strict=True) if curve else ([], []), lw=1.2, label=f"{seed}")
        if claim.solved_from is not None:
            panel.axhline(claim.solved_from, color="gray", ls="--", lw=1)
        panel.set(title=kind.title, xlabel="environment steps")
        panel.tick_params(axis="x", labelrotation=45)
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="return in training" if claim.training else "greedy return")
    panels[0].legend(title="seed", fontsize=7, title_fontsize=7)
    drawn.savefig(path, dpi=90, metadata={"Software": None})
