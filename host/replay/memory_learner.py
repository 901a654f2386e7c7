"""The base class of learners with a replay memory, on a card or on the CPU."""

from collections.abc import Mapping
from concurrent.futures import Future

from host.algorithms.config import Clock
from host.algorithms.learner import Background, Inline, Learner
from host.algorithms.policy import Policy
from host.phases import Phases
from host.replay.nstep import Collected, stored

__all__ = ["MemoryLearner"]


class MemoryLearner(Learner):
    """Learns from a replay memory, whose launches run while the policy acts: launches of the card,
    or what a memory on the CPU does instead. What this process computes itself runs before.

    A subclass has ``plan``, which decides what the next launch does besides storing; ``launch``,
    which runs the launch, on a card in a thread of its own; ``learned``, which takes its results;
    and ``BUFFER``, the class of its buffer.

    Parameters
    ----------
    policy, clock
        As ``Learner``.
    buffer : ReplayMemory or SentReplay
        An object of the class ``BUFFER``, the host's runtime of the kernel, or one of
        ``host.replay.cpu_memories`` with its surface.
    learning_starts : int
        Launches learn if so many experiences, their own included, are in the memory.
    updates_per_launch, launches_in_flight : int
        Gradient steps of a launch; largest number of launches under way.
    phases : Phases, optional
        Counts the learner's time.
    """

    columns = ("td_error", "exploration", "beta", "learning_rate", "fill", "clipped_priorities")

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        buffer: object,
        *,
        learning_starts: int,
        updates_per_launch: int = 1,
        launches_in_flight: int = 1,
        phases: Phases | None = None,
    ) -> None:
        super().__init__(policy, clock)
        self.buffer, self.phases = buffer, phases or Phases()
        self.learning_starts, self.updates_per_launch = learning_starts, updates_per_launch
        self.in_flight = launches_in_flight
        # Beside Python code nothing would run: a thread costs a third of a loop's processor time.
        self._card = Inline() if buffer.in_process else Background("card")
        self._fill = 0
        empty = {
            "exploration": policy.exploration_at(0),
            "clipped_priorities": buffer.clipped_priorities,
        }
        self.columns = tuple(x for x in self.columns if empty.get(x, 0) is not None)

    def begin(self, experience: Collected | None) -> Future[object]:
        with self.phases("card"):
            # A launch draws from experiences that were stored before it. Those that come with it
            # count for learning_starts.
            before = self._fill
            records, _ = stored(experience)
            if records is not None:
                self._fill = min(before + len(records), self.buffer.capacity)
            plan = self.plan(before, self._fill >= self.learning_starts)
            return self._card.submit(self.launch, experience, plan)

    def end(self, launch: Future[object]) -> dict[str, float | None]:
        with self.phases("card"):
            result = launch.result()
        with self.phases("learning"):
            return self.learned(result)

    def plan(self, fill: int, learning: bool) -> object:
        """Returns the plan for the next ``launch``.

        fill : number of experiences that are stored before this launch
        learning : whether these and the experiences that come with this launch are at least
            ``learning_starts``
        """
        raise NotImplementedError

    def launch(self, experience: Collected | None, plan: object) -> object:
        """Runs a launch, which stores ``experience``, Collected or None, and does as ``plan`` says.
        Returns the argument of ``learned``."""
        raise NotImplementedError

    def learned(self, result: object) -> dict[str, float | None]:
        """Learns from what ``launch`` returned; returns what ``end`` returns."""
        raise NotImplementedError

    def progress(self) -> dict[str, float | None]:
        return super().progress() | {
            "exploration": self.policy.exploration_at(self.clock.steps),
            "beta": self.agent.beta_at(self.clock.launched),
            "fill": len(self.buffer),
            "clipped_priorities": self.buffer.clipped_priorities,
        }

    @property
    def device_cycles(self) -> int | None:
        return self.buffer.device_cycles

    def state_dict(self) -> dict[str, object]:
        """All state on which the next launch depends. It may be called only while no launch is
        under way."""
        return {"buffer": self.buffer.state_dict(), "fill": self._fill}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.buffer.load_state_dict(state["buffer"])
        self._fill = int(state["fill"])

    def close(self) -> None:
        self._card.close(self.buffer.abort)
        self.buffer.close()
