"""A user's own class whose code learns, ``FILE.py:CLASS``. Read ``contract``, then ``trainer``;
the other modules save all of its state, and restore it.
"""
