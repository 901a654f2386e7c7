"""An assignment of primitives to devices as a table and as a picture."""

import io

from host.commands.listing import console, table
from hw.extras import needed

__all__ = ["drawn", "show"]


def show(algo, found):
    """Prints an Assignment for the algorithm called ``algo`` as a table, with the choice first, and
    the sentences that explain it."""
    heads = ("RM", "learner", "storage", "T us", "EPS", "EPS/W", "bound by", "traffic us")
    order = sorted(found.alternatives, key=lambda each: each is not found.choice)
    rows = [
        [
            f"{'*' if each is found.choice else ' '} {each.rm}",
            each.learner,
            each.storage,
            f"{each.iteration_us:.4g}",
            _figure(each.eps),
            _figure(each.eps_per_watt),
            each.bound_by,
            f"{each.traffic_us:.4g}",
        ]
        for each in order
    ]
    sizes = found.sizes
    table(
        f"{algo}: equation 7 of PEARL for batches of {sizes.batch}, {sizes.inserts:g} insertions, "
        f"experiences of {sizes.words} words; transfers {found.transfers}; metric {found.metric}",
        heads,
        rows,
    )
    for line in _sentences(found):
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _figure(number):
    """Thousands with a k; nothing if it is unknown."""
    if number is None:
        return None
    return f"{number / 1000:.4g}k" if number >= 10_000 else f"{number:.4g}"


def _sentences(found):
    choice = found.choice
    devices = (
        f"RM and learner on {choice.rm}"
        if choice.rm == choice.learner
        else f"RM on {choice.rm}, learner on {choice.learner}"
    )
    yield f"choice: {devices}, storage on {choice.storage}"
    why = " (a pair is refused)" if found.refused else ""
    yield f"portability Phi(D), equation 8: {_figure(found.portability)} EPS{why}"
    for each in found.refused:
        yield f"not RM on {each.rm} with learner on {each.learner}: {each.reason}"
    for device in found.machine.devices:
        yield f"{device.name}: {device.source}"


def drawn(algo, found):
    """A PNG in the form of PEARL's Fig. 10: a grid of all pairs of devices, RM to the right and
    learner upwards, for experiences a second and, if all watts are known, for these a watt. A frame
    marks the choice, a dash a pair that is refused."""
    figures = needed("matplotlib.figure", "plot", "to draw")
    panels = [("experiences a second", "eps")]
    if all(each.watts is not None for each in found.alternatives):
        panels.append(("experiences a second and watt", "eps_per_watt"))
    figure = figures.Figure(figsize=(4.5 * len(panels), 4), layout="constrained")
    (row,) = figure.subplots(1, len(panels), squeeze=False)
    for axes, (title, name) in zip(row, panels, strict=True):
        _grid(axes, found, name)
        axes.set_title(title, fontsize="medium")
    figure.suptitle(f"{algo}, batch {found.sizes.batch}, metric {found.metric}")
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=120)
    return file.getvalue()


def _grid(axes, found, name):
    names = found.machine.names
    values = {(each.rm, each.learner): getattr(each, name) for each in found.alternatives}
    shades = [[values.get((rm, learner), float("nan")) for rm in names] for learner in names]
    axes.imshow(shades, origin="lower", cmap="Greens", vmin=0, vmax=1.5 * max(values.values()))
    for x, rm in enumerate(names):
        for y, learner in enumerate(names):
            text = _figure(values.get((rm, learner))) or "-"
            axes.text(x, y, text, ha="center", va="center", fontsize="small")
    x, y = names.index(found.choice.rm), names.index(found.choice.learner)
    axes.plot([x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5], [y - 0.5, y - 0.5, y + 0.5, y + 0.5,
              y - 0.5], color="tab:red", lw=2.5, clip_on=False)  # fmt: skip
    for axis, label in ((axes.xaxis, "RM"), (axes.yaxis, "learner")):
        axis.set_ticks(range(len(names)), names)
        axis.set_label_text(label)
