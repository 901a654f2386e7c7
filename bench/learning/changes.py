"""Changes of a run's results that no field of its config shows: ``CHANGES``.

If a record (``records.py``) is older than such a change, its claim's page says so. Fields whose
defaults have changed need no line here: a record has all of its run's fields. A change after which
runs of ``tests/reference/freeze.json`` are others needs one.
"""

from dataclasses import dataclass, field

__all__ = ["CHANGES", "Change"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change, and the runs that it changes.

    Parameters
    ----------
    date : str
        Date of the first commit that has it, UTC, as ``2026-11-23 18:00``.
    what : str
        How runs are since then, as a clause: "priorities are of magnitudes".
    algos : tuple of str
        Algorithms whose runs it changes.
    where : dict
        It changes only runs with these values in these fields of the config or of the agent.
    """

    date: str
    what: str
    algos: tuple
    where: dict = field(default_factory=dict)

    def is_after(self, record):
        """Whether this change is newer than the begin of the run of ``record``, and changes runs
        with its algorithm and fields. A peer's run has none of rlfabric's code."""
        config = record["asked"]["config"]
        values = config | config["agent"]
        return (
            "peer" not in record["asked"]
            and record.get("begun", record.get("date", "")) < self.date
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
    Change(
        date="2026-12-01 13:13",
        what="first weights are torch's, smaller than Kaiming's",
        algos=("sac",),
    ),
)
