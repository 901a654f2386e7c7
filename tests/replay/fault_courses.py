"""Courses of launches on small replay kernels, and what they are made of."""

import functools

import numpy as np
from faults import Course
from replay.kernels import NARROW, opened
from replay.programs import Program, Rig

__all__ = ["GRANULES", "PROGRAM_BEATS", "SLOW", "Small", "course", "launch_of", "records"]

#: Of ``NARROW``, whose beats have 16 bytes: a command has four, an item half of one.
PROGRAM_BEATS = 4
GRANULES = 3
#: A beat of memory in 50 clocks: every item has been dealt with when the next beat comes.
SLOW = dict(bandwidth=0.02)


class Small(Rig):
    SIZES = {"program": 4096, "operands": 4096, "results": 8192, "status": 4096}


def course(*launches, config=NARROW, **memory):
    return Course(
        functools.partial(opened, config=config), lambda kernel: Small(kernel, 8192), launches,
        **memory,
    )  # fmt: skip


def launch_of(name, *arguments, **fields):
    """One command, a method of ``Program``."""
    one = Program(GRANULES)
    getattr(one, name)(*arguments, **fields)
    return one.launch()


def records(count, granules=GRANULES, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, 16 * granules), np.uint8)
