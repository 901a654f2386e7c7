"""Environments as programs: a task is one Python file, traced once into words for a machine.

Read ``task.py`` (what a task is), ``tasks/cartpole.py`` (one), ``trace.py`` (symbolic numbers,
their formats and shifts), then ``task_program.py`` (registers, constants and words of a program).
"""
