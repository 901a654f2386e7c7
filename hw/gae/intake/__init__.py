"""From beats of memory to slots of codes, a beat a clock.

Read ``intake.py``, which joins the others: ``beat_counter.py`` (what a beat holds),
``slot_rules.py`` (which kinds may follow which), ``slot_assembler.py`` (codes to whole slots) and
``first_error.py`` (which of several errors is reported).
"""
