"""Parameters in card memory, and RMSProp, which updates them there (FA3C 4.2.3).

Read ``rms_unit.py`` (the formula, one parameter a clock).
"""
