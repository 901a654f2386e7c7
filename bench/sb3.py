"""Time of a step of ``rlfabric.sb3``'s DQN with prioritized replay, compared with
stable-baselines3's own DQN, which draws uniformly, with the same network, batch and updates."""

from bench import left_out, row
from bench.loop import in_turn
from host.runs.blas_threads import single_threaded

__all__ = ["rows"]

_ENV, _PEER, _BAR = "CartPole-v1", "stable-baselines3", 1.3
#: case -> arguments of both, the steps of a slice
_CASES = {
    "1 environment, an update of 32 for 4 steps": (dict(batch_size=32, train_freq=4), 1000),
    "1 environment, an update of 64 a step": (dict(batch_size=64, train_freq=1), 400),
}


def rows(area=False):
    """The list of rows step_us, processor time of an environment step with its share of updates,
    and times, its ratio to the peer's, with the bar. ``area`` adds nothing. Without
    stable-baselines3 no row is measured."""
    result = []
    for case, (arguments, steps) in _CASES.items():
        try:
            kinds = _kinds()
        except ImportError as error:
            left_out(_PEER, error, "sb3")
            return []
        with single_threaded(with_torch=True):
            found = in_turn({name: _run(kind, arguments) for name, kind in kinds.items()}, steps)
        ours, theirs = (1e6 / found[name] for name in ("rlfabric", _PEER))
        name = f"DQN on {_ENV}, card model, {case}"
        result += [
            row("sb3", name, "step_us", round(ours), "us", reference=_PEER,
                reference_value=round(theirs),
                source="process time in this run, all threads, one core, taken in turn"),
            row("sb3", name, "times", round(ours / theirs, 2), "x", reference="bar, at most",
                reference_value=_BAR, source=f"step_us over that of {_PEER}"),
        ]  # fmt: skip
    return result


def _kinds():
    from stable_baselines3 import DQN

    from rlfabric.sb3 import PrioritizedDQN

    return {"rlfabric": PrioritizedDQN, _PEER: DQN}


def _run(kind, arguments):
    """A function that takes at least the given number of steps, and returns the steps taken;
    learning begins after 100."""
    model = kind(
        "MlpPolicy",
        _ENV,
        learning_starts=100,
        buffer_size=100_000,
        policy_kwargs=dict(net_arch=[64, 64]),
        device="cpu",
        seed=0,
        **arguments,
    )

    def run(steps):
        before = model.num_timesteps
        model.learn(steps, reset_num_timesteps=not before)
        return model.num_timesteps - before

    return run
