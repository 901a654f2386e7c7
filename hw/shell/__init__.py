"""What every kernel shares: registers, memory engines, program, commands, status.

Read ``kernel.py`` first, which wires a whole kernel, with ``reset.py``, its reset tree, and
``design.py``, the object that names a kernel. Commands: ``layout.py``, ``command.py``,
``decoder.py``, ``dispatcher.py``, ``core.py``. A launch: ``control_map.py``, ``control.py``,
``program.py``, ``sequencer.py``, ``status_block.py``, ``errors.py``. Memory: ``buffers.py``,
``ports.py``, ``axi.py``, ``burst.py``, ``read_engine.py``, ``write_engine.py``.
``interconnect.py`` and ``arbiter.py`` let several ports share a master, ``stripes.py`` lets one
port use several masters, and ``width_conversion.py`` serves words that are wider than a beat.
``description.py`` is what the host reads of a kernel, and ``estimate.py`` what the shell takes.
"""
