"""A grid of all pairs of devices, in the form of PEARL's Fig. 10."""

import io

from hw.extras import needed

__all__ = ["figure_of", "grid"]


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
