"""docs/learning: a page and a figure for each claim, from its runs' records alone, and an index."""

import re
from pathlib import Path

from bench.learning.figure import draw
from bench.learning.findings import summary
from bench.learning.job import JUDGING_SEED
from bench.learning.judge import FAILS, HOLDS, OPEN, finished
from bench.markdown import grouped, line
from host.checkpoint import write_text

__all__ = ["claimed", "write_claim", "write_index"]

#: Marks in README.md, between which it says how many claims hold.
_CLAIMED = re.compile(r"<!-- claims: begin -->(.*?)<!-- claims: end -->", re.S)
_VERDICTS = {
    HOLDS: "It holds.",
    FAILS: "**It does not hold.**",
    OPEN: "**It is not decided.**",
}

_INDEX = """\
# What is learned

Claims of training, each with its runs, on card `model`, which computes the same bytes as the
Verilog. A row of `bench/learning/claims.py` is a claim. `make learning` does the missing runs,
continues interrupted ones, and writes these pages; [testing.md](../testing.md#what-agents-learn)
has its options. Each run leaves a record in [runs](runs). `make learning JUDGE=1` judges the claims
and writes these pages from the records alone. [queue.md](queue.md) has the runs that are owed.

A run has solved its environment if its return reaches the threshold. A claim holds if every kind of
run that it names solves the task in as many seeds as it needs; other columns are for comparison.
One kind is as good as another if its gain over random actions is at least 0.8 of the other's gain,
at the lower end of a 95 % interval over the seeds (Welch). If the interval is too wide, or runs are
missing, the claim is *not decided*.
"""

_OWN = (
    "A return is the mean of {episodes} greedy episodes of the run's best policy, which was chosen "
    "by other episodes. "
)
_JUDGED = (
    "A return is the mean of {episodes} greedy episodes of the run's best policy, with seeds from "
    "{seed} on, which neither training nor evaluations use. "
)
_TRAINING = (
    "A return is the mean of the last 100 episodes that the run's actors finished, with the "
    "exploration of training. "
)
_WHOLE = "Every run has all its steps. "
_CHANCE = (
    "Random actions return {mean:.4g} in the mean (deviation {deviation:.3g}, {episodes} "
    "episodes). "
)
_NO_PROGRESS = "The progress of {of} was not kept as numbers: the picture {picture}."
_SO_FAR = (
    "A run with the words so far is not finished; the same command continues it to its {steps} "
    "steps. "
)
_UNTIL = (
    "A run ends when a greedy evaluation reaches the threshold and another one, on other episodes, "
    "confirms it. "
)


def write_claim(findings, folder, *, drawing=True):
    """Writes the page and the figure of a claim into ``folder``; the claim must have a record.

    ``findings`` is the claim's ``Findings``. The figure is drawn if a record has a curve; but if
    not ``drawing``, an existing figure stays as it is.
    """
    claim, folder = findings.claim, Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"{claim.name}.png"
    drawn = any(record["curve"] for record in findings.known)
    if drawn and (drawing or not picture.exists()):
        draw(claim, findings.records, picture)
    write_text(folder / f"{claim.name}.md", _page(findings, drawn, picture.exists()))


def write_index(every, folder):
    """Writes the index README.md into ``folder``, with a line for each of ``every``, a list of
    Findings."""
    seconds = sum(record["seconds"] or 0 for each in every for record in each.known)
    took = f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"
    text = [_INDEX, summary(every), "", *_rows(every), ""]
    text += [f"All runs together took {took} of one core.", ""]
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_text(Path(folder) / "README.md", "\n".join(text))


def claimed(readme):
    """What the file ``readme`` says between its marks about claims, as one line of text; None if it
    has no marks."""
    found = _CLAIMED.search(Path(readme).read_text(encoding="utf-8"))
    return found and " ".join(found[1].split())


def _rows(every):
    yield ("| claim | threshold | runs that solve it | needed | for comparison | made | verdict |")
    yield "| --- | ---: | --- | ---: | --- | --- | --- |"
    for each in every:
        claim, sides = each.claim, {True: [], False: []}
        for kind in claim.kinds:
            solved, count = each.judgement.solved[kind.name]
            runs = f"{solved} of {count}" if count else "no run finished yet"
            sides[kind.counts].append(f"{kind.title} {runs}")
        made = max((record["date"][:10] for record in each.known), default="")
        verdict = each.judgement.verdict
        cells = [
            f"[{claim.name}]({claim.name}.md)" if each.known else claim.name,
            "" if claim.solved_from is None else f"{claim.solved_from:g}",
            "; ".join(sides[True]),
            str(claim.needed),
            "; ".join(sides[False]),
            f"{made}, before changes" if each.before else made,
            verdict if verdict == HOLDS else f"**{verdict}**",
        ]
        yield line(cells)


def _page(findings, drawn, pictured):
    claim, records, judgement = findings.claim, findings.records, findings.judgement
    needs = f"{claim.needed} of {claim.seeds} seeds"
    titles = [kind.title for kind in claim.kinds if kind.counts]
    who = titles[0] if len(titles) == 1 else f"each of {', '.join(titles)}"
    text = [f"# {claim.name}", ""]
    text += [
        f"Claim: `{claim.algo}` on {claim.env}, {who}, {_what(claim)} in {needs}. "
        f"{_VERDICTS[judgement.verdict]}",
        "",
    ]
    text += [f"Where it comes from: {claim.source}.", "", *_table(claim, records), ""]
    for sentence in judgement.sentences:
        text += [sentence, ""]
    config = findings.known[0]["asked"]["config"]
    episodes = claim.episodes or config["evaluation_episodes"]
    judged = _OWN if claim.episodes is None else _JUDGED
    chance = _CHANCE.format(**findings.chance) if findings.chance else ""
    text += [
        (_TRAINING if claim.training else judged).format(episodes=episodes, seed=JUDGING_SEED)
        + _ends(claim, records, config)
        + chance
        + "In brackets are environment steps, and gradient steps.",
        "",
        *_made(findings),
        "",
    ]
    for kind in claim.kinds:
        command = findings.jobs[kind.name, 0].command
        shown = f": `{command} --seed N`" if command else ""
        text.append(f"- {kind.title}, {kind.what}{shown}")
    if pictured:
        alt = "Returns" if claim.training else "Greedy returns"
        text += ["", f"![{alt} of {claim.algo} on {claim.env}]({claim.name}.png)"]
        text += _without_progress(findings.known, drawn)
    return "\n".join(text) + "\n"


def _without_progress(known, drawn):
    """Lines about records without a curve."""
    count = sum(not record["curve"] for record in known)
    if not count:
        return []
    of = "these runs" if count == len(known) else f"{count} of {len(known)} runs"
    picture = "is without them" if drawn else "is the one that was drawn when they were made"
    return ["", _NO_PROGRESS.format(of=of, picture=picture)]


def _made(findings):
    """When and at which commits runs were made, and how they differ from today's."""
    known = findings.known
    dates = sorted(record["date"][:10] for record in known)
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    commits = dict.fromkeys(name for record in known for name in record["commits"] if name)
    yield f"Made {when}, at commit {', '.join(commits)}."
    for text, titles in findings.before.items():
        yield f"**Made before a change** ({', '.join(titles)}): {text}."


def _ends(claim, records, config):
    if claim.until_solved:
        return _UNTIL
    if not any(record and record.get("unfinished") for record in records.values()):
        return _WHOLE
    return _SO_FAR.format(steps=grouped(config["steps"]))


def _what(claim):
    if claim.falls:
        return f"computes finite numbers and a {claim.falls} that falls"
    return f"reaches {claim.solved_from:g}"


def _table(claim, results):
    """Rows of a Markdown table: return and steps of each seed and kind, and the means."""
    yield line(["seed", *(kind.title for kind in claim.kinds)])
    yield f"| ---: |{' ---: |' * len(claim.kinds)}"
    for seed in range(claim.seeds):
        cells = [
            _cell(claim, results.get((kind.name, seed))) if seed in claim.seeds_of(kind) else ""
            for kind in claim.kinds
        ]
        yield line([str(seed), *cells])
    columns = [
        [run["mean_return"] for run in finished(claim, kind, results)] for kind in claim.kinds
    ]
    columns = [[mean for mean in means if mean is not None] for means in columns]
    means = [f"{sum(means) / len(means):.1f}" if means else "" for means in columns]
    yield line(["mean", *means])


def _cell(claim, result):
    if result is None:
        return "not run yet"
    mean = "no episode" if result["mean_return"] is None else f"{result['mean_return']:.1f}"
    if result.get("unfinished"):
        return f"{mean} so far ({grouped(result['steps'])})"
    if claim.falls:
        first, last = result["falls"]
        mean = f"{mean}; {claim.falls} {first:.3g} to {last:.3g}"
    if not claim.solved(result):
        mean = f"**{mean}**, not solved"
    return f"{mean} ({grouped(result['steps'])}; {grouped(result['updates'])})"
