"""The arithmetic of a layer as blocks of V x W multipliers, a block of weights a clock.

Read ``config.py`` (how a layer is cut into blocks), ``fit.py`` (how wide), ``sweep.py`` (which
block when). Then ``forward.py`` with its columns, ``backward.py`` with its rows, ``gradients.py``
with its elements; ``activation_buffer.py`` and ``delta_words.py`` keep the words of neighbouring
layers. ``layer_clocks.py`` has all their latencies, and ``ports.py`` how they reach the parameters.
"""
