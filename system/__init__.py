"""The machine that everything runs on: disk, locks between processes, a user's key, folders that
are built once, child processes, tools of the machine. It knows neither cards nor twins.

Read ``disk.py`` and ``lock.py``, then ``cache.py``.
"""
