"""A kernel on a board with nothing but a serial line: memory, registers and host behind a UART.

Read ``protocol.py`` (frames, requests, addresses), ``system.py`` (the whole), ``bridge.py``
(executes requests), ``frame.py`` (bytes and checksums), ``receiver.py`` and ``transmitter.py``
(bits); ``memory.py``, ``lite.py`` and ``identity.py`` are what requests reach.
"""
