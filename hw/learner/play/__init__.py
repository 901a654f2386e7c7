"""A kernel that plays: environments on the card, and commands for them.

Read ``play_contract.py``, what each command does; ``core.py`` and ``player.py``, the order of PLAY;
``environments.py``, a vector step, with ``explore.py`` (actions), ``windows.py`` (n-step
experiences) and ``episodes.py`` (records, and whether the goal is met).
``play_clocks.py`` has clocks.
"""
