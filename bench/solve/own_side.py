"""rlfabric's side: a session as of ``rlfabric train``, without the files of a run."""

from contextlib import ExitStack, closing, contextmanager

import numpy as np

from bench.solve.sides import config_of
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.start_run import on_card
from host.settings import override, values_of

__all__ = ["Own"]


class Own:
    """The run of a RunConfig on card model, or without a card if the run needs none.

    Parameters
    ----------
    asked : dict
        A request (``bench.solve.sides.request``), whose ``config`` and ``uniform_start`` are used,
        and ``board`` if it has one.
    seed : int
    """

    def __init__(self, asked, seed):
        self._board = asked.get("board", "u200")
        self._config = override(
            config_of(asked["config"]), {"seed": seed, "evaluation_episodes": 1}
        )
        self._uniform_start = asked.get("uniform_start", False)

    def warm(self):
        """Begins the run with the fewest steps before learning, and drops it at its first
        update."""
        config = self._config
        if "learning_starts" in values_of(config):
            config = override(config, {"learning_starts": config.agent.batch_size})
        with self._session(config) as session:
            for _ in range(2 + 2 * config.agent.batch_size):
                session.iterate()
                if session.clock.updates:
                    break

    def train(self, watch):
        """Trains until ``watch`` ends it, or all steps are taken; no file is written."""
        with self._session(self._config) as session:
            watch.restart()
            on = True
            while on and session.clock.steps < self._config.steps:
                session.iterate()
                clock = session.clock
                on = watch(clock.steps, clock.updates, _acting(session.learner))

    @contextmanager
    def _session(self, config):
        with ExitStack() as stack:
            stack.enter_context(single_threaded(with_torch=config.learner == "cpu"))
            factory, *_ = stack.enter_context(on_card(config, "model", board=self._board))
            session = stack.enter_context(closing(build(config, factory)))
            if self._uniform_start:
                _start_uniformly(session.learner.policy, config)
            yield session


def _start_uniformly(policy, config):
    """Makes ``policy`` draw uniform actions before learning starts, as stable-baselines3 does."""
    choose, rng = policy.choose, np.random.default_rng(config.seed)

    def chosen(outputs, *, greedy=False, steps=0):
        if greedy or steps >= config.learning_starts:
            return choose(outputs, greedy=greedy, steps=steps)
        return rng.uniform(-1, 1, outputs.shape).astype(np.float32)

    policy.choose = chosen


@contextmanager
def _acting(learner):
    learner.fetch()
    with learner.actor() as policy:
        yield policy
