"""Values that change in a straight line with the environment steps taken."""

from dataclasses import dataclass

__all__ = ["Linear"]


@dataclass(frozen=True, kw_only=True)
class Linear:
    """``start + (end - start) min(1, step / steps)``; ``end`` at once where steps is 0."""

    start: float
    end: float
    steps: int

    def __call__(self, step):
        if step >= self.steps:
            return self.end
        return self.start + (self.end - self.start) * step / self.steps
