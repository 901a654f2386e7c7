"""CF'22's own rule of exploration: the learner's units that the paper chooses for its networks.

The learner has DP pipelines alike, each with PI = B / DP samples of a batch of B. Each product of a
layer's matrix has a tensor unit of its own: unit i has r_i * f multipliers, where r_i is its
multiply-accumulates over those of the smallest unit, so that all units need the same time T_max. A
gradient step takes (PI + n - 1) * T_max clocks, and then the weight update. A unit may have a part
of a multiplier, as 3.2 are in Table 2's DDPG: numbers of DSP blocks are not rounded.

The paper also ends its search where lookup tables or SRAM end, but has no equation for them.
Source: CF'22, 3.2.3, 4.2 and Table 2. ``boards.explore`` searches the configs of our own designs.
"""

from fractions import Fraction
from typing import NamedTuple

from boards import DoesNotFit
from hw.errors import UsageError

__all__ = ["PUBLISHED", "Published", "clocks", "dsp", "explore", "operations", "widest"]

#: n = 3 * (L - 1) stages, where L = 3 counts the layers of neurons.
_STAGES = 6

#: DSP blocks of a binary32 multiply-add: 3 of a multiplier, 2 of an adder. Table 2's numbers of DSP
#: blocks follow exactly from these.
_DSP = 5

#: DP, and multipliers of the widest tensor unit, of both learners in Table 2.
_DP, _WIDEST = 2, 32


class Published(NamedTuple):
    """What CF'22 says of an algorithm; regions are those of its Alveo U200.

    network : observations, hidden neurons and actions.
    learner_regions : numbers of the regions that the learner may use.
    regions : numbers of those that ``percent`` refers to: the learner's and the replay manager's.
    resources, percent : ``{resource: count}`` of Table 2, and ``{resource: percent}`` of
        ``regions``. SRAM is left out, because the table gives it in MB.
    """

    network: tuple
    learner_regions: tuple
    regions: tuple
    resources: dict
    percent: dict


#: Algorithm -> what CF'22 says of it.
PUBLISHED = {
    "dqn": Published(
        network=(4, 64, 2),
        learner_regions=(0,),
        regions=(0, 1),
        resources={"dsp": 1600, "lut": 346_000, "ff": 459_000},
        percent={"dsp": 45, "lut": 67, "ff": 43},
    ),
    "ddpg": Published(
        network=(8, 64, 2),
        learner_regions=(0, 2),
        regions=(0, 1, 2),
        resources={"dsp": 2560, "lut": 708_000, "ff": 1_035_000},
        percent={"dsp": 43, "lut": 81, "ff": 58},
    ),
}


def operations(algorithm, observation, hidden, action):
    """``(units, sizes)`` of a network with ``hidden`` neurons in its only hidden layer: the
    multiply-accumulates of one sample in each tensor unit, and the numbers of each weight matrix.
    """
    first, last = observation * hidden, hidden * action
    if algorithm == "dqn":
        forward, target = (first, last), (first, last)
        return (*forward, *target, last, first, last), (first, last)
    actor, critic = (first, last), ((observation + action) * hidden, hidden)
    # The critic: forward, target actor and target critic, backward, weight gradients.
    learned = (*critic, *actor, *critic, hidden, *critic)
    # The actor: forward, then through the critic and back to the action, backward, gradients.
    climbed = (*actor, *critic, hidden, action * hidden, last, *actor)
    return (*learned, *climbed), (*critic, *actor)


def widest(units, factor):
    """Multipliers of the widest tensor unit, max(r) * f, where f is ``factor``."""
    return Fraction(max(units), min(units)) * factor


def dsp(units, dp, factor):
    """DSP blocks of the learner's tensor units: 5 * DP * f * sum(r)."""
    return _DSP * dp * factor * Fraction(sum(units), min(units))


def clocks(units, sizes, batch, dp, factor):
    """Clocks of a gradient step: ``(PI + n - 1) * T_max + sum_j DP * size(W_j) / (r_WU * f)``.

    T_max is the multiply-accumulates of the smallest unit over f. The weight update has for each
    matrix as many multipliers as a tensor unit of that size has, since that is how many memory
    banks hold the matrix: r_WU is the sum of the sizes over the smallest unit.
    """
    slowest = Fraction(min(units)) / factor
    update = dp * sum(sizes) / (Fraction(sum(sizes), min(units)) * factor)
    return (Fraction(batch, dp) + _STAGES - 1) * slowest + update


def explore(algorithm, *, board, observation, hidden, action, batch=64, cap=32, regions=None):
    """What CF'22 chooses for ``algorithm`` on ``board``, as a dict of JSON values.

    Parameters
    ----------
    algorithm : str
        A key of ``PUBLISHED``.
    board : Board
        ``boards.u200.U200`` is the paper's.
    observation, hidden, action : int, tuple of one int, int
        Sizes of the network: inputs, neurons of the hidden layer, actions.
    batch : int
    cap : int or None
        The widest unit has at most so many multipliers; None: no limit. With 32, the choice for
        the paper's networks is the paper's.
    regions : tuple of int
        Numbers of the regions whose DSP blocks the learner may use; None: the paper's.

    Keys
    ----
    rule, network, algorithm, batch, cap
        ``cf22``, the sizes as in ``4-64-2``, and what was asked.
    dp, widest, dsp, clocks
        The choice: of the points that fit, the one with the fewest clocks, and among equal ones
        that with the fewest DSP blocks.
    limit : int
        DSP blocks of ``regions``.
    grid : list
        All points, ``{dp, widest, dsp, clocks, fits}``: DP is a power of two that divides the
        batch; ``widest`` is one up to ``cap`` and to the unit's multiply-accumulates.
    table2 : dict
        Resource -> ``{paper, formula, share, paper_share}``: the count in Table 2, and that of the
        equations for the paper's network and units (None: there is no equation); percent of the
        paper's regions, from their counts on ``board`` (None: unknown there), and in Table 2.

    UsageError if a value breaks a rule; DoesNotFit, which is one, if no point fits.
    """
    if algorithm not in PUBLISHED:
        raise UsageError(f"algorithm must be one of {', '.join(PUBLISHED)}, not {algorithm!r}")
    if len(hidden) != 1:
        raise UsageError(f"hidden must be one layer, not {hidden!r}")
    sizes = {"observation": observation, "hidden": hidden[0], "action": action}
    for name, value in {**sizes, "batch": batch, "cap": 1 if cap is None else cap}.items():
        if not isinstance(value, int) or value < 1:
            raise UsageError(f"{name} must be a positive integer, not {value!r}")
    units, matrices = operations(algorithm, *sizes.values())
    regions = PUBLISHED[algorithm].learner_regions if regions is None else regions
    limit = _available(board, regions, "dsp")
    if limit is None:
        raise UsageError(
            f"regions must be some of {board.title} with a known number of dsp, not {regions!r}"
        )
    grid = list(_points(units, matrices, batch, cap, limit))
    fitting = [point for point in grid if point["fits"]]
    if not fitting:
        least = min(point["dsp"] for point in grid)
        raise DoesNotFit(
            f"dsp must be at most {limit} in regions {','.join(map(str, regions))} of "
            f"{board.title}, not {least}, the least of CF'22's rule"
        )
    choice = min(fitting, key=lambda point: (point["clocks"], point["dsp"]))
    return {
        "rule": "cf22",
        "network": "-".join(map(str, sizes.values())),
        "algorithm": algorithm,
        "batch": batch,
        "cap": cap,
        **{name: value for name, value in choice.items() if name != "fits"},
        "limit": limit,
        "grid": grid,
        "table2": _table_2(algorithm, board),
    }


def _points(units, sizes, batch, cap, limit):
    """The points of the grid; ``limit`` is the DSP blocks that a point may use."""
    for dp in (each for each in _powers(batch) if batch % each == 0):
        for power in _powers(max(units) if cap is None else min(cap, max(units))):
            factor = power / widest(units, 1)
            point = {
                "dp": dp,
                "widest": power,
                "dsp": _number(dsp(units, dp, factor)),
                "clocks": _number(clocks(units, sizes, batch, dp, factor)),
            }
            yield {**point, "fits": point["dsp"] <= limit}


def _table_2(algorithm, board):
    """Table 2's resources beside what follows from equations and board."""
    paper = PUBLISHED[algorithm]
    units, _ = operations(algorithm, *paper.network)
    formula = {"dsp": _number(dsp(units, _DP, _WIDEST / widest(units, 1)))}
    table = {}
    for name, count in paper.resources.items():
        available = _available(board, paper.regions, name)
        table[name] = {
            "paper": count,
            "formula": formula.get(name),
            "share": round(100 * count / available, 1) if available else None,
            "paper_share": paper.percent[name],
        }
    return table


def _available(board, regions, name):
    """How much of a resource ``regions`` have; None if that is unknown or a region is absent."""
    if not regions or not set(regions) <= set(range(len(board.regions))):
        return None
    counts = [getattr(board.regions[k], name) for k in set(regions)]
    return None if None in counts else sum(counts)


def _powers(limit):
    """The powers of two up to ``limit``."""
    return [1 << k for k in range(limit.bit_length())]


def _number(fraction):
    """The fraction as a number of JSON."""
    return int(fraction) if fraction.denominator == 1 else float(fraction)
