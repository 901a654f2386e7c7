"""The interface between a learner and the core around it. Any component with these signatures can
be the learner.

An iteration is ``begin``, the batch as ``records``, ``loaded``, ``train``, a TD error for each
experience, ``update``, and the fall of ``busy``; gradients may be complete (``trained``) before
or after ``update``. The next batch may come from the clock after ``train`` on, while this one is
still trained on: ``loaded`` and ``bad`` describe the batch that is loaded, all other outputs the
batch that is trained on. LOAD and STORE move the parameter sets as an image, in the learner's own
order. ACT is a batch of observations, then ``act``, then the ``actions``; no iteration is under way
meanwhile.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import HYPERPARAMETERS
from hw.replay.records import ITEM

__all__ = ["LearnerControl", "LearnerSignature", "count_saturations"]


class LearnerControl(wiring.Signature):
    """What the control of iterations tells a learner (Out), and waits for or reports (In).

    Parameters
    ----------
    record : Layout
        Of ``hyperparameters``: ``step_record`` of the learner's config.

    ``begin``, ``train`` and ``update`` are pulses of one clock. ``loaded``, ``bad``, ``trained``,
    ``diverged`` and ``busy`` are levels.

    Members
    -------
    begin : Out(1)
        A batch of experiences follows. The batch before it was given to ``train``, or is given up.
    loaded, bad : In(1), bad_index : In(32)
        ``loaded``: all of the batch has come. ``bad``: an experience has an infinite number, a NaN,
        an action that does not exist or a wrong importance weight; ``bad_index`` is the index in
        the replay memory of the first such experience. All are steady from ``loaded`` until the
        next ``begin``.
    hyperparameters : Out(record)
        Steady from ``train`` until ``busy`` falls after ``update``.
    train : Out(1)
        Starts forward, loss and backward of the loaded batch; the parameters do not change yet.
    trained : In(1)
        All gradients of the batch, of all sweeps, and all its sums are complete. It stays high
        until the next ``train``.
    diverged : In(1), diverged_index : In(32)
        ``diverged``: a TD error of this batch was infinite or NaN; it stays high until the next
        ``train``. ``diverged_index`` is the index in the replay memory of the first such
        experience. With ``early_priorities`` of the learner's config every TD error is finite.
    update : Out(1)
        Update all parameters, each layer as soon as its gradients are complete. ``update``
        comes after the last TD error has left, because from then on no forward pass of this sweep
        reads weights. Of a plan with several sweeps, the others follow by themselves.
    busy : In(1)
        Parameters are changing (after ``update``) or moving (in a LOAD or STORE), or are about to.
    loss, td_sum, value, weight : In(32)
        As in REPORT; valid once ``trained``, until the next ``train``.
    saturations : In([3] of 32)
        How many weights, activations and gradients, in this order, were clipped since reset. A
        counter stays at its largest number. An ACT counts nothing.
    """

    def __init__(self, record=HYPERPARAMETERS):
        pulses = dict.fromkeys(("begin", "train", "update"), Out(1))
        flags = dict.fromkeys(("loaded", "bad", "trained", "diverged", "busy"), In(1))
        numbers = ("bad_index", "diverged_index", "loss", "td_sum", "value", "weight")
        super().__init__(
            {
                **pulses,
                **flags,
                **dict.fromkeys(numbers, In(32)),
                "hyperparameters": Out(record.shape),
                "saturations": In(data.ArrayLayout(unsigned(32), 3)),
            }
        )


class LearnerSignature(wiring.Signature):
    """A learner's members, as the learner sees them: In enters the learner.

    Parameters
    ----------
    batch : int
        Largest batch.
    data_width : int
        Bits of a beat.
    parameter_sets : int
        How many sets LOAD and STORE can name.
    record : Layout
        As of ``LearnerControl``.

    Members
    -------
    control : In(LearnerControl)
        The steps of an iteration.
    batch : In(range(batch + 1)), records : In(stream of beats)
        After ``control.begin``, ``batch`` experiences come in ``records``: a HEADER, then its
        experience, and so on, without gaps between them.
    td : Out(stream of ITEM)
        The index and the TD error of each experience, in the order of the batch.
    load, store : In(1), sets : In(parameter_sets)
        A pulse of ``load`` or ``store`` begins to move the image of ``sets``, one bit for each set;
        ``control.busy`` is high until the image has moved.
    image_i, image_o : In, Out(stream of beats)
        The image that is loaded; the image that is stored.
    acting : In(1)
        High in an ACT, from ``control.begin`` to the last beat of ``actions``. Then ``records`` are
        ``batch`` observations without headers, each rounded up to granules; ``batch`` need not be a
        multiple of the lanes. ``control.bad_index`` is the position of an observation in the batch.
    act : In(1)
        A pulse, once the observations are ``control.loaded``: compute the outputs with the online
        parameters. No parameter and no counter changes.
    actions : Out(stream of beats)
        The outputs for each observation, in order, as binary32, padded with zeros to granules, one
        observation directly after the other; zeros fill the last beat.
    """

    def __init__(self, *, batch, data_width, parameter_sets, record=HYPERPARAMETERS):
        beats = stream.Signature(unsigned(data_width))
        super().__init__(
            {
                "control": In(LearnerControl(record)),
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
    """Counts clipped numbers: each clock's counts are added, two clocks later, to ``saturations``,
    which stay at their largest number.

    m : Module, which gets the registers.
    saturations : the three counters of ``LearnerControl.saturations``.
    counts : three lists of values, for weights, activations and gradients. Each value says how many
        numbers a unit clipped in this clock.
    width : bits of the sum of a list; if None, as many as the sum may need.
    """
    for k, values in enumerate(counts):
        now = sum(values, Const(0, 1))
        clipped = Signal(len(now) if width is None else width, name=f"clipped_{k}")
        total = Signal(33, name=f"total_{k}")
        m.d.sync += clipped.eq(now)
        m.d.comb += total.eq(saturations[k] + clipped)
        m.d.sync += saturations[k].eq(Mux(total[-1], (1 << 32) - 1, total))
