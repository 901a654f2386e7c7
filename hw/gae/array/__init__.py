"""The array of PEs and the stack that feeds it (HEPPO III-C, IV).

Read ``rounded_mac.py`` (the one operation), ``pe.py`` (the recurrence, with lookahead),
``dequantize.py`` (codes to words), ``stack.py`` (the FILO memory, in which results take the places
of codes), and ``estimator.py``, which joins rows and stack and counts what is clipped.
"""
