"""FA3C: asynchronous advantage actor-critic with parameters in card memory (Cho et al. 2019).

Read ``config.py`` (network, layers, rules), ``plan.py`` (the table of passes from which every unit
takes its loops), then ``unit/`` (a compute unit, from its array of PEs outwards), ``memory/``
(card memory, RMSProp) and ``core.py``. ``docs/fa3c.md`` is the walk of a screen through the card.
"""
