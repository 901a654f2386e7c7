"""The figure of a claim's page."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(claim, results, path):
    """Draws returns over environment steps into the PNG file ``path``, with a panel for each kind
    of ``claim`` and a line for each seed.

    ``results`` is ``{(kind's name, seed): result or None}``; a run without a curve has no line.
    """
    drawn = Figure(figsize=(max(5, 1.2 + 2.2 * len(claim.kinds)), 2.8), layout="constrained")
    FigureCanvasAgg(drawn)
    (panels,) = drawn.subplots(1, len(claim.kinds), sharex=True, sharey=True, squeeze=False)
    for panel, kind in zip(panels, claim.kinds, strict=True):
        for seed in claim.seeds_of(kind):
            curve = (results.get((kind.name, seed)) or {}).get("curve")
            panel.plot(*zip(*curve, strict=True) if curve else ([], []), lw=1.2, label=f"{seed}")
        if claim.solved_from is not None:
            panel.axhline(claim.solved_from, color="gray", ls="--", lw=1)
        panel.set(title=kind.title, xlabel="environment steps")
        panel.tick_params(axis="x", labelrotation=45)
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="return in training" if claim.training else "greedy return")
    panels[0].legend(title="seed", fontsize=7, title_fontsize=7)
    drawn.savefig(path, dpi=90, metadata={"Software": None})
