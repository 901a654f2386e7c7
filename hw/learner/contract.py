"""What a learner is to the core around it: whatever has these signatures can take its place.

An iteration is ``begin``, the batch as ``records``, ``loaded``, ``train``, a TD error for each
experience, ``update``, and the fall of ``busy``; gradients may be complete (``trained``) before
or after ``update``. The next batch may come from the clock after ``train`` on, beside all that
follows: what is said of a batch that is loaded is not what is said of one that is trained on.
LOAD and STORE move the parameter sets as an image of the learner's own order, and ACT is a batch of
observations, ``act`` and what it does with them, while no iteration is under way.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import HYPERPARAMETERS
from hw.replay.records import ITEM

__all__ = ["LearnerControl", "LearnerSignature", "count_saturations"]


class LearnerControl(wiring.Signature):
    """What an iteration tells a learner, what it waits for, and what it reports of it.

    Members
    -------
    begin : Out(1)
        A batch of experiences follows; the last one was given to ``train``, or is given up.
    loaded, bad : In(1), bad_index : In(32)
        All of the batch is in; an experience has an infinite number, a NaN, or an action that does
        not exist, and ``bad_index`` is the index in the replay memory of the first that has. They
        are steady from ``loaded`` until the next ``begin``.
    hyperparameters : Out(HYPERPARAMETERS)
        Steady from ``train`` until ``busy`` falls after ``update``.
    train : Out(1)
        Forward, loss and backward of the batch that is loaded; the parameters stay.
    trained : In(1)
        All gradients are complete; it falls with ``train``.
    diverged : In(1), diverged_index : In(32)
        A TD error was infinite or NaN; the index of the first such experience.
    update : Out(1)
        Update all parameters, each layer's as soon as its gradients are complete; not before the
        last TD error has left, when no layer's weights are read forward any more.
    busy : In(1)
        Parameters are changing or moving, or are about to.
    loss, td_sum, value, weight : In(32)
        As in REPORT, once trained, until the next ``train``.
    saturations : In([3] of 32)
        Weights, activations, gradients clipped since reset; they stay at the largest number.
    """

    def __init__(self):
        pulses = dict.fromkeys(("begin", "train", "update"), Out(1))
        flags = dict.fromkeys(("loaded", "bad", "trained", "diverged", "busy"), In(1))
        numbers = ("bad_index", "diverged_index", "loss", "td_sum", "value", "weight")
        super().__init__(
            {
                **pulses,
                **flags,
                **dict.fromkeys(numbers, In(32)),
                "hyperparameters": Out(HYPERPARAMETERS.shape),
                "saturations": In(data.ArrayLayout(unsigned(32), 3)),
            }
        )


class LearnerSignature(wiring.Signature):
    """A learner's members.

    Parameters
    ----------
    batch : int
        Largest batch.
    data_width : int
        Bits of a beat.
    parameter_sets : int
        Sets that LOAD and STORE can name.

    Members
    -------
    control : In(LearnerControl)
    batch : In(range(batch + 1)), records : In(stream of beats)
        ``batch`` experiences, HEADER and experience each, dense, follow ``control.begin``.
    td : Out(stream of ITEM)
        One an experience, in the batch's order.
    load, store : In(1), sets : In(parameter_sets)
        Begin to move the image of ``sets``; ``control.busy`` until it has moved.
    image_i, image_o : In, Out(stream of beats)
    acting : In(1)
        From ``control.begin`` to the last of ``actions``: what comes are ``batch`` observations,
        which need not be a multiple of anything, each rounded up to granules. ``control.bad_index``
        is then the position of one.
    act : In(1)
        Once they are ``loaded``: do what the online parameters say. Nothing of it stays.
    actions : Out(stream of beats)
        The outputs for each observation, in order, binary32, rounded up to granules, dense; zeros
        behind them.
    """

    def __init__(self, *, batch, data_width, parameter_sets):
        beats = stream.Signature(unsigned(data_width))
        super().__init__(
            {
                "control": In(LearnerControl()),
                "batch": In(range(batch + 1)),
                "records": In(beats),
                "td": Out(stream.Signature(ITEM.shape)),
                "load": In(1),
                "store": In(1),
                "sets": In(parameter_sets),
                "image_i": In(beats),
                "image_o": Out(beats),
                "acting": In(1),
                "act": In(1),
                "actions": Out(beats),
            }
        )


def count_saturations(m, saturations, counts, *, width=None):
    """Adds what was clipped in each clock to ``LearnerControl.saturations``, two clocks later.

    counts : of weights, activations and gradients, a list of values each.
    width : bits of their sum; None: as many as that may need.
    """
    for k, values in enumerate(counts):
        now = sum(values, Const(0, 1))
        clipped = Signal(len(now) if width is None else width, name=f"clipped_{k}")
        total = Signal(33, name=f"total_{k}")
        m.d.sync += clipped.eq(now)
        m.d.comb += total.eq(saturations[k] + clipped)
        m.d.sync += saturations[k].eq(Mux(total[-1], (1 << 32) - 1, total))
