"""The base class of learners with a replay memory, on a card or on the CPU."""

from host.algorithms.learner import Background, Learner
from host.replay.nstep import stored

__all__ = ["MemoryLearner"]


class MemoryLearner(Learner):
    """Learns from a replay memory, whose launches run while the policy acts: launches of the card,
    or what a memory on the CPU does instead.

    A subclass has ``plan``, which decides what the next launch does besides storing; ``launch``,
    which runs the launch in a thread of its own; ``learned``, which takes its results; and
    ``BUFFER``, the class of its buffer.

    Parameters
    ----------
    buffer : ReplayMemory or SentReplay
        An object of the class ``BUFFER``, the host's runtime of the kernel, or one of
        ``host.replay.cpu_memories`` with its surface.
    phases : Phases
        Counts the learner's time.
    config : OffPolicyConfig
    policy, clock
        As ``Learner``.
    """

    columns = ("td_error", "exploration", "beta", "learning_rate", "fill")

    def __init__(self, config, policy, clock, buffer, *, phases):
        super().__init__(policy, clock)
        self.config, self.buffer, self.phases = config, buffer, phases
        self.in_flight = config.launches_in_flight
        self._card, self._fill = Background("card"), 0
        if policy.exploration_at(0) is None:  # a column that would stay empty
            self.columns = tuple(name for name in self.columns if name != "exploration")

    def begin(self, experience):
        with self.phases("card"):
            # A launch draws from experiences that were stored before it. Those that come with it
            # count for learning_starts.
            before = self._fill
            records, _ = stored(experience)
            if records is not None:
                self._fill = min(before + len(records), self.config.capacity)
            plan = self.plan(before, self._fill >= self.config.learning_starts)
            return self._card.submit(self.launch, experience, plan)

    def end(self, launch):
        with self.phases("card"):
            result = launch.result()
        with self.phases("learning"):
            return self.learned(result)

    def plan(self, fill, learning):
        """Returns the plan for the next ``launch``.

        fill : number of experiences that are stored before this launch
        learning : whether these and the experiences that come with this launch are at least
            ``learning_starts``
        """
        raise NotImplementedError

    def launch(self, experience, plan):
        """Runs a launch, which stores ``experience``, Collected or None, and does as ``plan`` says.
        Returns the argument of ``learned``."""
        raise NotImplementedError

    def learned(self, result):
        """Learns from what ``launch`` returned; returns what ``end`` returns."""
        raise NotImplementedError

    def progress(self):
        return super().progress() | {
            "exploration": self.policy.exploration_at(self.clock.steps),
            "beta": self.agent.beta_at(self.clock.launched),
            "fill": len(self.buffer),
        }

    @property
    def device_cycles(self):
        return self.buffer.device_cycles

    def state_dict(self):
        """All state on which the next launch depends. It may be called only while no launch is
        under way."""
        return {"buffer": self.buffer.state_dict(), "fill": self._fill}

    def load_state_dict(self, state):
        self.buffer.load_state_dict(state["buffer"])
        self._fill = int(state["fill"])

    def close(self):
        self._card.close(self.buffer.abort)
        self.buffer.close()
