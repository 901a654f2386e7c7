"""The arithmetic of a layer as blocks of V x W multipliers, a block of weights a clock.

Read ``config.py`` (how a layer is cut into blocks), ``column.py`` (a number of an output word),
``row.py`` (an input's error), then ``gradient_element.py`` (a weight's gradient grows). No kernel
has them yet: its layers are chains (``hw.learner.chain``).
"""
