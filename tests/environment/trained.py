"""Trained policies that tests play in tasks and in gymnasium's environments, kept in
``tests/reference/policies``: ``python -m tests.environment.trained`` trains them anew, in minutes.
"""

import shutil
import sys
import tempfile
from pathlib import Path

__all__ = ["POLICIES", "path_of"]

_FOLDER = Path(__file__).parents[1] / "reference/policies"
#: more than solved, so that 100 other episodes are solved too
_CART = dict(algo="dqn", fields=dict(hidden=(32, 32), threshold=490.0))
#: name -> the training: three of CartPole's in the task, two in gymnasium's environment
POLICIES = {
    "cartpole_0": dict(_CART, env="rlfabric/CartPole-v1", seed=0),
    "cartpole_1": dict(_CART, env="rlfabric/CartPole-v1", seed=1),
    "cartpole_2": dict(_CART, env="rlfabric/CartPole-v1", seed=2),
    "cartpole_3": dict(_CART, env="CartPole-v1", seed=3),
    "cartpole_4": dict(_CART, env="CartPole-v1", seed=4),
    "mountain_car": dict(
        algo="dqn",
        env="rlfabric/MountainCar-v0",
        seed=0,
        fields=dict(
            hidden=(32, 32),
            updates_per_launch=4,
            learning_rate=2e-3,
            target_interval=200,
            epsilon_share=0.2,
            evaluation_interval_steps=3200,
        ),
    ),
    "pendulum": dict(algo="td3", env="rlfabric/Pendulum-v1", seed=0, fields=dict(hidden=(32, 32))),
}


def path_of(name):
    """The file of the policy ``name`` of POLICIES, as of ``host.agents.policy_file``."""
    return _FOLDER / f"{name}.npz"


def _train(name):
    """Trains the policy until it solves its environment, and keeps it."""
    from host.runs.preset import default_learner, preset
    from host.runs.start_run import run
    from host.settings import override

    asked = POLICIES[name]
    learner = default_learner(asked["algo"], asked["env"])
    base = preset(asked["algo"], learner, None, asked["env"])
    fields = {**asked["fields"], "seed": asked["seed"], "until_solved": True}
    with tempfile.TemporaryDirectory() as folder:
        result = run(override(base, fields), card="model", out=Path(folder) / "run")
        print(name, result.summary["mean_return"], result.summary["steps"], "steps")
        if not result.summary["solved"]:
            sys.exit(f"{name} must solve {asked['env']}")
        shutil.copy(Path(folder) / "run/best.npz", path_of(name))


if __name__ == "__main__":
    for name in sys.argv[1:] or POLICIES:
        _train(name)
