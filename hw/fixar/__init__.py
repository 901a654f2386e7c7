"""FIXAR: DDPG on adaptive array cores, whose precision is switched while they train.

The batch streams past tiles of weights that stand still; forward, backward and weight gradients are
one dataflow with three ways to fetch. ``docs/fixar.md`` is its page.

Read ``config.py`` (sizes, layers in tiles), ``plan.py`` (an iteration as a table of passes) and
``precision.py`` (shifts, and whose they are), ``layouts.py`` (what is told to all cores alike).

A core, from its array outwards: ``column.py``, ``array.py``, ``foot.py`` (sums in psum);
``cells.py``, ``feed.py`` (words to the array); ``schedule.py`` (where a sum belongs),
``existing.py`` (whose samples it is of), ``rounding.py``, ``finish.py`` (sums to numbers and
codes); ``lanes.py``, ``coder.py``, ``tanh_tail.py``, ``tanh_slope.py``, ``tails.py`` (what goes
lane by lane); ``output_errors.py``, ``results.py``, and ``aap.py``, which joins these.

What cores share: the folder ``walk`` leads them through a pass, ``parameters`` has weights and
optimizers, ``updates.py`` brings gradients there; ``sequencer.py`` is what follows what. A batch:
``frame.py``, ``intake_walk.py``, ``encode.py``, ``intake.py`` (records to cells), ``errors.py`` (TD
errors), ``samples.py`` around both; ``noise.py``, ``actions.py`` (answers of an ACT). ``ranges.py``
and ``learner_ranges.py`` watch the numbers of each layer.

``learner.py`` wires all this under the contract of ``hw.learner``; ``commands.py`` and ``core.py``
add FORMAT and noise; ``design.py`` and ``estimate.py`` make it a kernel, and ``pass_clocks.py``
works out how long a pass takes.
"""
