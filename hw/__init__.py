"""The hardware: Amaranth components that become the Verilog of every kernel. It knows no board.

Libraries first, each needing only those before it: ``stream``, ``arith``, ``nn``. ``shell`` is what
every kernel shares: registers, memory engines, commands. ``replay``, ``learner``, ``fixar``,
``gae`` and ``fa3c`` are the kernels (``designs.py`` lists them, ``extension.py`` finds those of
installed packages); ``uart`` surrounds a kernel on a board with a serial line alone.

Read ``config.py``, ``estimate.py``, ``stream/queue.py``, ``shell/command.py``, ``shell/core.py``,
then a kernel.
"""
