"""FIXAR's Table II: its platform and two others, and our kernels beside them.

Peak rates are compared as they are, and *normalized* as the paper does it: times the size of the
network over that of FIXAR's, whose 128 600 weights are one actor's.
"""

__all__ = ["fixar_platforms"]

_FIXAR_KB = 514.4
_BATCHES = (32, 64, 128, 256, 512)

#: FIXAR, Table II: clock in MHz, precision, DSP blocks, network in KB, IPS, IPS/W.
_PAPER = {
    "FA3C": (180, "binary32", 2348, 2592.0, 2550.0, 141.7),
    "PPO, FCCM'20": (285, "binary32", 3744, 229.6, 15_286.8, None),
    "FIXAR": (164, "fixed 32, 16", 2302, _FIXAR_KB, 38_779.8, 2638.0),
}


def fixar_platforms(results):
    """Yields the lines of the table, each a list of cells, the heads first.

    ``results(name)`` gives the ``Results`` of the bench ``name``.
    """
    columns = {**_PAPER, **_ours(results)}
    yield ["", *columns]
    for place, what in enumerate(("clock, MHz", "precision", "DSP blocks", "network, KB")):
        yield [what, *(cells[place] for cells in columns.values())]
    yield ["IPS, peak", *(round(cells[4]) for cells in columns.values())]
    yield ["normalized", *(round(cells[4] * cells[3] / _FIXAR_KB) for cells in columns.values())]
    yield ["IPS/W", *(cells[5] for cells in columns.values())]


def _ours(results):
    """The columns of our kernels, which have no power, as ``_PAPER`` has them."""
    fa3c, fixar, learner = (results(name) for name in ("fa3c", "fixar", "learner"))
    net, half = "17-400-300-6", "512 PEs, half"
    whole = f"{net}, 512 PEs, both, B=512, N=1048576"
    # Steps of DQN with draw and gather, as FIXAR's iterations are.
    own = "4-64-2, words 4-8-2, DP=2, fixed"
    steps = {
        batch: batch * 250e6 / learner.value(f"{own}, B={batch}", "iteration_cycles")
        for batch in _BATCHES
    }

    def array(ips, blocks):
        return (164, "fixed 16", blocks, _FIXAR_KB, ips, None)

    two = fixar.value(whole, "dsp")
    return {
        "`a3c`": (
            180, "binary32", fa3c.value("2 pairs x 64 PEs, Atari network", "dsp"), 2592.0,
            fa3c.value("2 pairs of 64 PEs, 16 agents", "ips", source="Verilog"), None,
        ),
        "`fixar` with its host": array(_peak(fixar, f"{net}, {half}", "platform_ips"), two),
        "`fixar`": array(_peak(fixar, f"{net}, {half}", "ips"), two),
        "`fixar`, 7 cores": array(
            fixar.value(f"{net}, 1792 PEs, half, B=512", "ips_cores"),
            fixar.value(f"{net}, 1792 PEs", "dsp_estimate"),
        ),
        "`dqn`, 4-64-2": (
            250, "fixed", learner.value(f"kernel {own}, N=2^20", "dsp"),
            4 * (4 * 64 + 64 * 2) / 1e3, max(steps.values()), None,
        ),
    }  # fmt: skip


def _peak(rows, case, metric):
    """The largest of all batches of FIXAR's."""
    return max(rows.value(f"{case}, B={batch}", metric) for batch in _BATCHES[1:])
