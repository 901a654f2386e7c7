"""Units that a kernel which plays is made of; no kernel contains them yet.

Read ``explore.py`` (actions of a vector step), ``windows.py`` (n-step experiences of transitions),
``episodes.py`` (records of episodes, and whether the goal is met).
"""
