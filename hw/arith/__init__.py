"""Arithmetic on streams and in pipelines: fixed point, logarithm, power, tanh, random numbers.

A unit states its formula, error bound and latency. Read ``fixed.py`` (formats and rounding),
``multiply.py``, ``interpolate.py`` (one table, linear between its values), then the functions made
of them: ``log2.py``, ``exp2.py``, ``power.py``, ``tanh.py``. ``sfc64.py`` and ``noise.py`` draw
uniform and Gaussian numbers. ``to_fixed.py``, ``to_float.py`` and
``quantize.py`` convert; ``operations.py`` says what a tensor unit asks of its numbers,
``binary32.py`` and ``fixed_point.py`` what each kind answers, ``adder_tree.py`` has sums with their
order, and ``arithmetic.py`` has all kinds.
"""
