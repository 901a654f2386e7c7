"""The kernel ``replay``: prioritized replay (CF'22, PEARL); its page is ``docs/replay.md``.

Read ``commands.py`` and ``records.py`` (its commands and their data), ``core.py`` (how a command is
executed), then the units that a batch passes: ``item_reader.py``, ``operation_issuer.py``,
``tree``, ``gather.py``. ``insert.py`` stores experiences, ``replay_state.py`` says where;
``priority.py`` and ``weight.py`` are the two formulas, and ``estimate.py`` says what all of it
takes. The kernels of ``hw.learner`` contain this core as ``job_core.py``, whose batches and items
are streams (``job_dispatcher.py``).
"""
