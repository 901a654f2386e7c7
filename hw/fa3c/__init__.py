"""FA3C: asynchronous advantage actor-critic with parameters in card memory (Cho et al. 2019).

Read ``config.py`` (the network, its layers and the limits), ``plan.py`` (the table of passes, from
which every unit takes its loops), then ``unit/`` (a compute unit, from its array of PEs outwards),
``memory/`` (card memory, RMSProp) and ``core.py``. ``docs/fa3c.md`` follows a screen through the
card.
"""
