"""IEEE-754 binary32, correctly rounded: one operation a file, each with interval 1.

Read ``format.py`` (fields, rounding), ``unit.py`` (config, streams and handshake of all units),
then ``multiply.py`` and ``add.py``. ``seed.py`` is the table with which ``reciprocal.py`` and
``rsqrt.py`` start. Subnormal numbers count as zero, on the way in and on the way out.
"""
