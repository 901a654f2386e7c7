"""The kernel ``replay``: prioritized replay (CF'22, PEARL); its page is ``docs/replay.md``.

Read ``commands.py`` and ``records.py`` (what it does, and with what), ``core.py`` (how a command
goes), then the units in the way of a batch: ``item_reader.py``, ``operation_issuer.py``, ``tree``,
``gather.py``. ``insert.py`` stores experiences, ``replay_state.py`` says where; ``priority.py`` and
``weight.py`` are the two formulas. ``hw.learner`` has this core inside.
"""
