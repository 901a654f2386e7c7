"""Changes of what a run computes that no field of its config shows: ``CHANGES``.

A record (``records.py``) of a run from before one of them is named as such on its claim's page.
Fields whose defaults have changed need no line here: a record has all of its run's fields.
"""

from dataclasses import dataclass, field

__all__ = ["CHANGES", "Change"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """
    Parameters
    ----------
    date : str
        Of the first commit that has it, UTC, as ``2026-11-23 18:00``.
    what : str
        What is otherwise since, as a clause: "priorities are of magnitudes".
    algos : tuple of str
        Of these algorithms.
    where : dict
        Of those runs that have these values in these fields of the config or of the agent.
    """

    date: str
    what: str
    algos: tuple
    where: dict = field(default_factory=dict)

    def is_after(self, record):
        """Whether the run of a record was made before it, and is one of those that it changes."""
        config = record["asked"]["config"]
        values = config | config["agent"]
        return (
            record["date"] < self.date
            and config["algo"] in self.algos
            and all(values.get(name) == value for name, value in self.where.items())
        )


CHANGES = (
    Change(
        date="2026-11-23 17:45",
        what="an experience's priority is of the larger magnitude of both critics' errors",
        algos=("td3", "sac"),
    ),
    Change(date="2026-11-23 17:45", what="targets move with the actor", algos=("td3",)),
    Change(
        date="2026-11-23 17:55",
        what="schedules go by the step at which a launch begins, not by that at which it ends",
        algos=("a3c", "ddpg", "dqn", "ppo", "sac", "td3"),
    ),
    Change(
        date="2026-11-23 18:16",
        what="ranges are captured in all steps before the switch, not in the last tenth",
        algos=("ddpg",),
        where={"precision": "qat"},
    ),
)
