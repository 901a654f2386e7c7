"""A ROUND: its list of tasks is taken, checked as a whole, executed, and what it changed is noted.

Read ``round.py`` first.
"""
