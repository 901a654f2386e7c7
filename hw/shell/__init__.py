"""What every kernel shares: registers, memory engines, program, commands, status.

Read ``kernel.py``, the whole, with ``design.py``, the object that names a kernel. Commands:
``layout.py``, ``command.py``, ``decoder.py``, ``dispatcher.py``, ``core.py``. A launch:
``control_map.py``, ``control.py``, ``program.py``, ``sequencer.py``. Memory: ``buffers.py``,
``ports.py``, ``axi.py``, ``burst.py``, ``read_engine.py``, ``write_engine.py``; ``interconnect.py``
and ``arbiter.py`` let ports share a master, ``stripes.py`` a port use several; ``width.py`` takes
words wider than a beat. ``description.py`` is what the host reads of it.
"""
