"""The array of PEs of one core, from its DSP blocks to sums in psum.

Read ``column.py`` (a column of PEs, two cascades of DSP blocks), ``array.py`` (columns side by
side, and the swap of tiles), ``accumulators.py`` (the sum over all tiles).
"""
