"""Clocks of a pipeline that ``advance`` moves."""

import random

from clocks import Clocks
from paces import pace

__all__ = ["Paced"]


class Paced(Clocks):
    """Clocks of a unit whose stages all wait while ``advance`` is 0.

    Inputs in ``steady`` are in every clock.
    """

    def __init__(self):
        super().__init__()
        self.steady, self.later, self.moved = {}, [], []
        self.rng = random.Random(1)
        self.set_pace("steady")

    def set_pace(self, name):
        self.moves = pace(name, self.rng)

    def add(self, **inputs):
        return super().add(**self.steady | inputs)

    def move(self, **inputs):
        """Clocks with these inputs, up to the next that moves; returns the number of the move."""
        while not next(self.moves):
            self.add(advance=0, **inputs)
        self.moved.append(self.add(advance=1, **inputs))
        return len(self.moved) - 1

    def after(self, move, latency, **outputs):
        """What came with ``move`` leaves so, and stays for as long as nothing moves."""
        self.later.append((move + latency, outputs))

    def drain(self, moves):
        """Move on without inputs."""
        for _ in range(moves):
            self.move()

    def run(self, simulate, dut, directory):
        last = max((move for move, _ in self.later), default=0)
        self.drain(last + 1 - len(self.moved))
        for move, outputs in self.later:
            begin = self.moved[move - 1] + 1 if move else self.moved[0]
            for clock in range(begin, self.moved[move] + 1):
                self.expect(clock, **outputs)
        super().run(simulate, dut, directory)
