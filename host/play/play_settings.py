"""From a run's config to the settings of PLAY: what a card needs to collect by itself.

A run counts steps of all environments, a card counts *vector steps*, one of each environment.
"""

from math import ceil

from host.algorithms.config import Clock
from host.environments.environment_id import find_spec, reward_threshold
from host.environments.task_ids import is_task
from host.learner.card_learner import steps_of
from host.play.segments import Segments
from host.summaries import NAMESPACE, TASKS
from hw.config import check_range
from hw.errors import UsageError
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.play.config import LONGEST, MOST_ENVIRONMENTS
from hw.learner.play.episodes import LONGEST_EPISODE

__all__ = ["PlaySettings", "check_collect", "task_of"]

_ONE, _EPSILON = 1 << 31, (1 << 32) - 1


def task_of(env):
    """``(task, limit)`` for the environment's id ``env``: the task's class or its place, and the
    steps after which an episode is truncated. ``env`` is a task's own id, or gymnasium's id of an
    environment whose physics a shipped task has; else UsageError, as for a limit beyond
    ``LONGEST_EPISODE``."""
    spec = find_spec(env)
    if not is_task(spec) and spec.id in TASKS:
        spec = find_spec(f"{NAMESPACE}/{spec.id}")
    if not is_task(spec):
        raise UsageError(
            f"env must be an environment with a task with collect card (`rlfabric list tasks`), "
            f"not {env!r}"
        )
    limit = spec.max_episode_steps
    check_range(f"limit of {env}", limit, 1, LONGEST_EPISODE, " with collect card")
    return spec.kwargs["task"], limit


def check_collect(config):
    """UsageError, with the field's name, unless a card can collect for ``config``, an
    OffPolicyConfig."""
    only = {
        "learner": "card",
        "memory": "card",
        "design": "own",
        "act": "cpu",
        "actors": 0,
        "launches_in_flight": 1,
        "weights_interval": 1,
        "first_priority": "largest",
        "evaluation_on": "copies",
    }
    for name, wanted in only.items():
        if (value := getattr(config, name)) != wanted:
            raise UsageError(f"{name} must be {wanted} with collect card, not {value!r}")
    discrete = [name for name, each in ALGORITHMS.items() if each.discrete]
    if config.kernel not in discrete:
        names = " or ".join(discrete)
        raise UsageError(f"algo must be {names} with collect card, not {config.algo!r}")
    agent, where = config.agent, " with collect card"
    check_range("env_count", config.env_count, 1, min(MOST_ENVIRONMENTS, agent.batch_size), where)
    longest = min(LONGEST, config.capacity // config.env_count)
    check_range("n_step", agent.n_step, 1, longest, where)
    # Vector steps are counted in 32 bits.
    check_range("steps", config.steps, 1, config.env_count << 32, where)
    if agent.reward_clip is not None:
        raise UsageError(f"reward_clip must be None{where}, not {agent.reward_clip!r}")
    if not 1 <= round(agent.reward_scale * _ONE) < 2 * _ONE:
        raise UsageError(f"reward_scale must be in 2^-31..2{where}, not {agent.reward_scale!r}")
    if agent.epsilon_end > agent.epsilon_start:
        raise UsageError(
            f"epsilon_end must be at most epsilon_start ({agent.epsilon_start}){where}, not "
            f"{agent.epsilon_end!r}"
        )


class PlaySettings:
    """Settings of a run's launches.

    A launch ends where the run is evaluated, after the vector step that reaches a multiple of
    ``evaluation_interval_steps``; all its schedules but epsilon have their values at the multiple
    before it. So a run that is interrupted in a launch goes on as if it had not been.

    Parameters
    ----------
    config : OffPolicyConfig
        That ``check_collect`` takes; its schedules have lengths (``in_run``).
    record : Layout
        The ``step_record`` of the kernel's learner.
    """

    #: The last 2^WINDOW episodes of the card decide when a run that ends solved is evaluated.
    WINDOW = 4
    #: Vector steps of a launch, its episodes and its iterations, at most: all are in its rings.
    MOST = (1 << 16) - 1

    def __init__(self, config, record):
        self.config, self.agent, self._record = config, config.agent, record
        self.count, self._segments = config.env_count, Segments(record, self._record_of)
        #: Mean return at which a launch ends to be evaluated; None: at none.
        self.threshold = None
        if config.until_solved:
            own = config.threshold
            self.threshold = reward_threshold(config.env) if own is None else own

    @property
    def longest(self):
        """Vector steps of a launch at most."""
        config = self.config
        interval = -(-config.evaluation_interval_steps // self.count)
        learning = (self.MOST // config.updates_per_launch - 1) * config.steps_per_launch
        return min(self.MOST // self.count, interval, learning)

    def launch_steps(self, steps):
        """Vector steps of the launch that begins after ``steps``."""
        interval = self.config.evaluation_interval_steps
        end = min((steps // interval + 1) * interval, self.config.steps)
        return max(1, min(-(-(end - steps) // self.count), self.longest))

    def begun(self, steps):
        """The argument of the schedules for a launch that begins after ``steps``."""
        interval = self.config.evaluation_interval_steps
        return steps // interval * interval

    def iterations(self, vector_steps):
        """Iterations of ``vector_steps`` at most."""
        config = self.config
        return (vector_steps // config.steps_per_launch + 1) * config.updates_per_launch

    @property
    def epsilon(self):
        """``(start, decrement, end)`` of epsilon, UQ(0, 32), the decrement for a vector step."""
        agent = self.agent
        start, end = (_fraction(e) for e in (agent.epsilon_start, agent.epsilon_end))
        if agent.epsilon_steps == 0:
            start = end
        fall = agent.epsilon_start - agent.epsilon_end
        decrement = _fraction(fall * self.count / agent.epsilon_steps) if agent.epsilon_steps else 0
        return start, decrement, end

    @property
    def starts(self):
        """The first vector step after which iterations run: ``learning_starts`` experiences are
        stored then, for at most n - 1 steps of an environment are not."""
        return -(-self.config.learning_starts // self.count) + self.agent.n_step - 1

    def goal(self, fraction):
        """Sum of the returns of 2^WINDOW episodes, with ``fraction`` fraction bits, whose mean is
        ``threshold``; None without one."""
        if self.threshold is None:
            return None
        return ceil(self.threshold * 2.0 ** (self.WINDOW + fraction))

    def settings(self, steps, updates, explore, goal=None):
        """``{field: number}`` of PLAY_SETTINGS for a launch after ``steps`` and ``updates`` with
        epsilon ``explore``, UQ(0, 32)."""
        agent, period = self.agent, self.config.steps_per_launch
        _, decrement, end = self.epsilon
        done = steps // self.count
        return {
            "period": period,
            "iterations": self.config.updates_per_launch,
            "starts": self.starts,
            "n": agent.n_step,
            "discount": round(agent.gamma * _ONE),
            "scale": round(agent.reward_scale * _ONE),
            "explore": explore,
            "decrement": decrement,
            "end": min(end, explore),
            "target_interval": agent.target_interval,
            "step": done,
            "phase": done % period,
            "target_phase": updates % agent.target_interval,
            "window": 0 if goal is None else self.WINDOW,
            "goal": goal or 0,
        }

    def segments(self, steps, updates, count):
        """SEGMENT records of ``count`` iterations after ``steps`` and ``updates``."""
        return self._segments.records(updates + 1, count, self.begun(steps))

    def _record_of(self, update, launched):
        clock, blend = Clock(updates=update - 1, launched=launched), self.agent.target_tau
        step = steps_of(self.agent, clock, 1, self._record)
        step["blend"], step["keep"] = blend, 1 - blend
        return step


def _fraction(value):
    """``value`` in 0..1 as UQ(0, 32), whose largest number stands for 1."""
    return min(round(value * 2.0**32), _EPSILON)
