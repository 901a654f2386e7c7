"""FIXAR: DDPG on adaptive array cores, whose precision is switched while they train.

The batch streams past tiles of weights that stand still. Forward pass, backward pass and weight
gradients are one dataflow with three ways to fetch operands. ``docs/fixar.md`` is its page.

Read ``config.py`` (sizes, layers in tiles), ``plan.py`` (an iteration as a table of passes) and
``precision.py`` (shifts, and what has them), ``layouts.py`` (the signals that all cores receive).

A core is the folders ``array`` (PEs and their sums), ``numbers`` (sums to numbers and codes) and
``aap`` (its memories, and the whole core). The cores share ``walk``, which leads them through a
pass, ``parameters`` (weights and optimizers) and ``batch`` (records to cells). ``actions.py`` gives
the answers of an ACT, ``learner_ranges.py`` the range of each layer.

``learner.py`` wires all this under the contract of ``hw.learner``; ``commands.py`` and ``core.py``
add FORMAT and noise; ``design.py`` and ``estimate.py`` make it a kernel, and ``pass_clocks.py``
works out how long a pass takes.
"""
