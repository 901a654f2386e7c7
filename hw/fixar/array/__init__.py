"""The array of PEs of one core, from its DSP blocks to sums in psum.

Read ``column.py`` (PEs above each other, two cascades of DSP blocks), ``array.py`` (columns side by
side, tiles that are swapped), ``accumulators.py`` (sums of all tiles of a word).
"""
