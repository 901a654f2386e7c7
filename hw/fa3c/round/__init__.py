"""The command ROUND: takes a list of tasks, checks all of it, executes it, and notes what it
changed.

Read ``round.py`` first, then the units that it joins.
"""
