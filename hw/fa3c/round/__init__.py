"""The command ROUND: a list of tasks is taken, checked as a whole and executed; its effects are
noted.

Read ``round.py`` first, then the units that it joins.
"""
