"""Environments as programs: a task is one Python file, traced once into words for a machine.

Read ``task.py`` (what a task is), ``tasks/cartpole.py`` (one), ``trace.py`` (symbolic numbers,
their formats and shifts), then ``task_program.py`` (registers, constants and words of a program).
The machine: ``machine_ports.py`` (its commands, words and items), ``machine_image.py`` (a program
and its lists, as they are loaded), ``machine.py`` (the schedule, a clock after the other),
``machine_control.py`` (the next instruction), ``arithmetic_unit.py``.
"""
