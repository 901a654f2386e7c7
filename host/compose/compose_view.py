"""Tables, sentences and pictures of ``rlfabric compose``; a picture is a grid of all pairs of
devices, as PEARL's Fig. 10."""

import io

from host.compose.search import MEASURED
from host.terminal.tables import console, table
from hw.extras import needed

__all__ = ["drawn_pairs", "drawn_plans", "figure_of", "grid", "show_plans"]


def show_plans(task, found, document, seven):
    """Prints a Composition of a Task as a table, with the choice first, and the sentences that
    explain it. ``document`` is that of ``plan_document``; ``seven`` has PEARL's equation 7."""
    watts = any(each.eps_per_watt for each in found.candidates)
    heads = ("RM", "learner", "kernel", "us", "updates/s", "EPS", *(("EPS/W",) if watts else ()),
             "bound by", "eq. 7 us")  # fmt: skip
    order = sorted(found.candidates, key=lambda each: (each is not found.choice, -(each.gps or 0)))
    rows = [
        [
            f"{'*' if each is found.choice else ' '} {each.rm or '-'}",
            each.learner,
            each.plan.design,
            figure_of(each.iteration_us),
            figure_of(each.gps),
            figure_of(each.eps),
            *((figure_of(each.eps_per_watt),) if watts else ()),
            each.iteration and each.iteration.bound_by,
            figure_of(seven.get((each.rm, each.learner))),
        ]
        for each in order
    ]
    config, updates = task.config, found.choice.updates
    table(
        f"{config.algo} on {config.env}, batch {task.batch}, an experience of {task.words} words: "
        f"one gradient step with {task.steps_of_update(updates):.4g} environment steps; metric "
        f"{document['metric']}",
        heads,
        rows,
    )
    for line in _plan_sentences(found, document):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _plan_sentences(found, document):
    choice, mapping = found.choice, document["mapping"]
    if choice.rm is None:
        yield f"choice: learner on {choice.learner}, kernel {choice.plan.design}"
    else:
        setting = f"setting {mapping['setting']} of PEARL"
        yield (
            f"choice: RM on {choice.rm}, learner on {choice.learner} ({setting}); Algorithm 1 has "
            f"the data on {choice.storage}, a run has them on {choice.rm}"
        )
    if choice.clocks is not None:
        parts = choice.iteration
        busy = 100 * parts.card / parts.whole
        yield f"the card takes {choice.clocks:.0f} clocks a launch, and is busy {busy:.0f} % of it"
    if (proof := document["task"].get("proof")) is not None:
        yield f"{document['task']['trainer']}: {proof}"
    for each in found.candidates:
        if each.source != MEASURED:
            yield f"{each.plan.name}: {each.source}"
    for each in found.refused:
        rm = f"RM on {each.rm} with " if each.rm else ""
        yield f"not {rm}learner on {each.learner}: {each.reason}"
    if (acts := document["actors"]) is not None:
        yield (
            f"{acts['actors']} actors: {acts['actor_us']:.4g} us an environment step, and for a "
            f"message of {acts['steps']} steps {acts['driver_us']:.4g} us here and "
            f"{acts['message_us']:.4g} us on its way ({acts['source']})"
        )
    profile = document["profile"]
    yield f"software: times on {profile['processor']}, {profile['cores']} cores"
    for device in document["machine"]["devices"]:
        yield f"{device['name']}: {device['source']}"


def drawn_plans(task, found):
    """A PNG of a Composition, as ``drawn_pairs``: of the kernels for a pair the fastest counts."""
    known = sorted((each for each in found.candidates if each.gps), key=lambda each: -each.gps)
    rms, learners = (
        tuple(dict.fromkeys(getattr(each, name) or "-" for each in found.candidates))
        for name in ("rm", "learner")
    )
    config = task.config
    return drawn_pairs(f"{config.algo} on {config.env}, batch {task.batch}", rms, learners, known,
                  found.choice)  # fmt: skip


def drawn_pairs(title, rms, learners, alternatives, choice):
    """A PNG, as ``grid`` draws it, of experiences a second and, if all watts are known, a second
    and watt. ``alternatives`` and ``choice``: Alternatives or Candidates, the first of
    equal pairs counts."""
    panels = {"experiences a second": "eps"}
    if all(each.eps_per_watt is not None for each in alternatives if each.eps is not None):
        panels["experiences a second and watt"] = "eps_per_watt"
    values = {
        name: {(each.rm, each.learner): getattr(each, field) for each in reversed(alternatives)}
        for name, field in panels.items()
    }
    return grid(title, rms, learners, values, (choice.rm, choice.learner))


def figure_of(number):
    """A number as a text, thousands with a k; None if it is None."""
    if number is None:
        return None
    return f"{number / 1000:.4g}k" if number >= 10_000 else f"{number:.4g}"


def grid(title, rms, learners, panels, choice):
    """A PNG: for each panel a grid with the RM's device to the right and the learner's upwards. A
    frame marks the choice, a dash a pair without a number.

    Parameters
    ----------
    title : str
    rms, learners : sequence of str
        Names of devices; None, in a pair, is "-".
    panels : dict
        Title of a panel -> ``{(rm, learner): number}``.
    choice : tuple
        ``(rm, learner)``

    MissingTool without matplotlib.
    """
    figures = needed("matplotlib.figure", "plot", "to draw")
    figure = figures.Figure(figsize=(4.5 * len(panels), 4), layout="constrained")
    (row,) = figure.subplots(1, len(panels), squeeze=False)
    for axes, (name, values) in zip(row, panels.items(), strict=True):
        _panel(axes, rms, learners, _named(values), next(iter(_named({choice: 0}))))
        axes.set_title(name, fontsize="medium")
    figure.suptitle(title)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=120)
    return file.getvalue()


def _named(values):
    return {(rm or "-", learner): value for (rm, learner), value in values.items()}


def _panel(axes, rms, learners, values, choice):
    shades = [[values.get((rm, learner), float("nan")) for rm in rms] for learner in learners]
    axes.imshow(shades, origin="lower", cmap="Greens", vmin=0, vmax=1.5 * max(values.values()))
    for x, rm in enumerate(rms):
        for y, learner in enumerate(learners):
            text = figure_of(values.get((rm, learner))) or "-"
            axes.text(x, y, text, ha="center", va="center", fontsize="small")
    x, y = rms.index(choice[0]), learners.index(choice[1])
    axes.plot([x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5,
              y - 0.5], color="tab:red", lw=2.5, clip_on=False)  # fmt: skip
    for axis, names, label in ((axes.xaxis, rms, "RM"), (axes.yaxis, learners, "learner")):
        axis.set_ticks(range(len(names)), names)
        axis.set_label_text(label)
