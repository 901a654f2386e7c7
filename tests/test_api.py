"""The public API: types, documents whose examples run, and what a program does with it."""

import doctest
import importlib
import inspect
import sys
import typing

import numpy as np
import pytest

import rlfabric
from host.train.preset import preset
from host.train.run import run
from hw.errors import RlfabricError
from rlfabric import training
from sim.tools import BUILD_DIRECTORY

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (rlfabric, training)
    for name in module.__all__
}
#: Of functions and classes: from the packages that are rlfabric's.
OURS = ("rlfabric", "host", "hw", "sim", "boards")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """An empty one, where all examples run one after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("program"))
        yield


# -- documents and types


def examples(module):
    """The doctests of ``module``'s own names."""
    scope = {"np": np, "rlfabric": rlfabric, **vars(module)}
    found = doctest.DocTestFinder().find(module, globs=scope)
    return sorted(
        (each for each in found if each.examples), key=lambda each: "train" not in each.name
    )


@pytest.mark.parametrize("name", ["run", "policy", "kernels", "replay", "advantages", "training"])
def test_examples(name):
    runner = doctest.DocTestRunner()
    tests = examples(importlib.import_module(f"rlfabric.{name}"))
    assert tests
    for test in tests:
        said = []
        runner.run(test, out=said.append)
        assert not said, "".join(said)


def test_every_function_has_an_example_and_every_name_a_document():
    for name, value in PUBLIC.items():
        assert inspect.getdoc(value), name
        own = inspect.isfunction(value) or "PARAMETERS" in (value.__doc__ or "").upper()
        if own and value.__module__.startswith("rlfabric."):
            document = (value.__doc__ or "") + (sys.modules[value.__module__].__doc__ or "")
            assert ">>>" in document, f"{name} must have an example"


def signatures(value):
    """``(name, function)`` of ``value``: itself, or the public methods of a class of ours."""
    if inspect.isfunction(value):
        yield value.__name__, value
    elif inspect.isclass(value) and not issubclass(value, Exception):
        for each in value.__mro__:
            if not each.__module__.startswith(OURS):
                continue
            for name, method in vars(each).items():
                method = getattr(method, "fget", getattr(method, "__func__", method))
                if inspect.isfunction(method) and (name == "__init__" or name[0] != "_"):
                    yield f"{each.__name__}.{name}", method


def untyped(function):
    """Names of what ``function`` takes or gives without a type, or of type Any."""
    hints = inspect.get_annotations(function)
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [name for name in [*names, "return"] if name not in hints or has_any(hints[name])]


def has_any(hint):
    """Whether ``hint`` is Any or has it inside, but for NumPy's own, which have it for shapes."""
    origin = typing.get_origin(hint)
    if origin is np.ndarray:
        return has_any(typing.get_args(typing.get_args(hint)[1])[0])
    if getattr(origin, "__module__", "").startswith("numpy"):
        return False
    return hint is typing.Any or any(map(has_any, typing.get_args(hint)))


@pytest.mark.parametrize("name", PUBLIC)
def test_no_signature_lacks_a_type(name):
    found = {inner: untyped(function) for inner, function in signatures(PUBLIC[name])}
    assert not {inner: names for inner, names in found.items() if names}


def test_the_check_itself():
    def wrong(self, a, b: typing.Any, c: list[typing.Any], d: int): ...

    assert untyped(wrong) == ["a", "b", "c", "return"]


# -- kernels


def test_a_kernel_is_made_once_and_for_its_board():
    one = rlfabric.load_kernel("replay", "u50", capacity=512)
    two = rlfabric.load_kernel("replay", "u50", card=one.card, capacity=512)
    assert one.description.config_hash == two.description.config_hash
    assert one.replaced and two.card is one.card, "a card has one kernel at a time"
    one.card.close()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: rlfabric.load_kernel("nothing"), "design must be one of replay, "),
        (lambda: rlfabric.load_kernel("gae", "u1"), "board must be one of u200, "),
        (lambda: rlfabric.load_kernel("gae", rows_=4), "rows_ must be the name of a field"),
        (lambda: rlfabric.load_kernel("gae", card="x"), "card must be model, sim, xrt"),
        (lambda: rlfabric.estimate("dqn", "ulx3s", multipliers=1024), "must be at most"),
        (lambda: rlfabric.PrioritizedReplayBuffer({}, 10), "fields must be one or more"),
        (lambda: rlfabric.PrioritizedReplayBuffer({"a": (float, ())}, 1), "capacity must be"),
        (lambda: rlfabric.load_policy("nothing"), "policy must be a file"),
        (lambda: rlfabric.train("dqn", config={"nothing": 1}), "nothing must be"),
        (lambda: rlfabric.train("dqn", card="y"), "card must be model, sim, xrt"),
        (lambda: run(preset("dqn", "card"), card="none", out="x"), "card must be model, sim, xrt"),
        (lambda: rlfabric.train("nothing"), "ALGO must be one of dqn"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(call, words):
    with pytest.raises(RlfabricError, match=words):
        call()


def test_a_card_without_its_kernel_is_refused(monkeypatch, tmp_path):
    """Of a card that is built for: the kernel that was, with the config that it has."""
    monkeypatch.setattr("rlfabric.kernels.BUILD_DIRECTORY", tmp_path)
    with pytest.raises(FileNotFoundError, match="must be built first"):
        rlfabric.load_kernel("replay", "u50", card="xrt")
    rlfabric.generate("replay", "u50", tmp_path, capacity=512)
    with pytest.raises(ValueError, match="config must be that of the kernel in .* capacity=1024"):
        rlfabric.load_kernel("replay", "u50", card="xrt", capacity=1024)
    with pytest.raises(rlfabric.MissingTool, match="pyxrt must be importable"):
        rlfabric.load_kernel("replay", "u50", card="xrt", capacity=512)


def test_a_card_that_was_opened_by_name_is_closed(monkeypatch):
    """With what was opened for it; or where its kernel cannot be loaded."""
    closed = []
    own = rlfabric.Card.close
    monkeypatch.setattr(rlfabric.Card, "close", lambda card: closed.append(card) or own(card))
    memory = rlfabric.PrioritizedReplayBuffer({"obs": (np.float32, (3,))}, 64)
    memory.close(), memory.close()
    rlfabric.AdvantageEstimator(2, 4).close()
    assert len(closed) == 2
    monkeypatch.setattr(rlfabric.Card, "load", lambda card, path: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        rlfabric.load_kernel("replay", capacity=64)
    assert len(closed) == 3


def test_an_estimator_fits_the_largest_rollout():
    """Every step may end an episode that goes on, and environments beyond the kernel's rows come
    after the others."""
    count, steps = 65, 3
    ends = np.ones((steps, count), bool)
    with rlfabric.AdvantageEstimator(count, steps) as estimator:
        assert estimator.config.gae.rows == 64 and estimator.config.gae.code_width == 32
        found = estimator.estimate(ends * 0.5, ends * 0.0, ~ends, ends, ends * 2.0, gamma=0.5)
    assert (found.advantages == 1.5).all() and found.advantages.shape == (steps, count)


def test_only_verilog_that_is_needed_is_written():
    kernel = rlfabric.load_kernel("replay", "u50", capacity=96)
    kernel.card.close()
    made = (BUILD_DIRECTORY / "kernels/u50/replay").glob(f"{kernel.description.config_hash:016x}-*")
    assert [path.name for folder in made for path in folder.glob("[!.]*")] == ["kernel.json"]


def test_a_buffer_on_a_kernel_of_ones_own_leaves_it_open():
    kernel = rlfabric.load_kernel("replay", capacity=64)
    fields = {"obs": (np.float32, (3,))}
    with rlfabric.PrioritizedReplayBuffer(fields, 64, kernel) as one:
        one.add(obs=np.zeros((4, 3)))
    assert kernel.card.device is not None
    with rlfabric.PrioritizedReplayBuffer(fields, 32, kernel.card) as two:
        assert len(two) == 0
        two.add(obs=np.ones(3))
        assert two.sample(1)["obs"].tolist() == [[1, 1, 1]]
    assert kernel.card.device is not None, "it is its owner's to close"
    kernel.card.close()


# -- training


def train(steps=400, **options):
    config = {"evaluation_episodes": 1, "hidden": (16,), "learning_starts": 100}
    config |= {"evaluation_interval_steps": 160}
    return rlfabric.train(
        "dqn", "CartPole-v1", steps=steps, progress=False, config=config, **options
    )


def test_a_callback_sees_each_launch_and_may_stop_the_run(capsys):
    seen = []
    run = train(out="seen", callback=seen.append)
    assert [each.launches for each in seen] == list(range(1, len(seen) + 1))
    assert seen[-1].steps == run.steps == 416 and seen[-1].updates > 0
    assert seen[-1].updates == run.summary["updates"]
    assert seen[-1].episodes > 0 and seen[-1].mean_return > 0
    assert seen[0].best_return is None and seen[-1].best_return > 0
    stopped = train(out="stopped", callback=lambda progress: progress.steps < 200)
    assert stopped.steps == 224 and not stopped.interrupted and stopped.mean_return is not None
    again = train(out="stopped", resume=True)
    assert again.steps == 416 and again.folder == stopped.folder
    assert capsys.readouterr().out == "", "no progress bar"


def test_an_error_of_a_callback_leaves_a_checkpoint():
    def fails(progress):
        if progress.steps >= 200:
            raise KeyError("of the callback")

    with pytest.raises(KeyError, match="of the callback") as caught:
        train(out="failed", callback=fails)
    assert any("--resume goes on from step" in note for note in caught.value.__notes__)


def test_a_run_says_what_it_was():
    run = train(out="said", seed=3, kernel={"lanes": 2})
    assert run.summary["kernel"]["config"]["learner"]["lanes"] == 2
    assert (run.summary["seed"], run.solved, run.interrupted) == (3, False, False)
    assert run.progress[-1]["steps"] == 416
    assert run.policy.algorithm == "dqn" and run.policy.env == "CartPole-v1"
    found = rlfabric.evaluate(run.policy, episodes=3, seed=5)
    assert found.returns.shape == (3,) and found.mean == found.returns.mean()
    assert found.deviation == found.returns.std()
    assert (rlfabric.evaluate(run.policy, episodes=3, seed=5).returns == found.returns).all()
    with pytest.raises(ValueError, match="env must be one that the policy was trained for"):
        rlfabric.evaluate(run.policy, "Acrobot-v1")
    with pytest.raises(ValueError, match="episodes must be at least 1"):
        rlfabric.evaluate(run.policy, episodes=0)


# -- policies


class Acting:
    """Acts by what it was told, and keeps what it has seen."""

    def __init__(self, actions, **spec):
        self.spec = training.Spec(**spec)
        self.actions, self.seen = np.asarray(actions), []

    def act(self, obs, *, greedy=False):
        self.seen.append((obs.shape, greedy))
        return np.repeat(self.actions[None], len(obs), axis=0)


def policy(acting):
    return rlfabric.Policy(acting, "dqn", "none", None)


def test_shapes_are_those_of_stable_baselines3():
    acting = Acting(1, shape=(4,), dtype="float32", discrete=True, action_count=2, start=5)
    one, state = policy(acting).predict(np.zeros(4))
    assert one.shape == () and one == 6 and state is None
    many, _ = policy(acting).predict([[0.0] * 4] * 3, deterministic=False)
    assert many.tolist() == [6, 6, 6]
    assert acting.seen == [((1, 4), True), ((3, 4), False)]
    none, _ = policy(acting).predict(np.zeros((0, 4)))
    assert none.shape == (0,)


def test_actions_reach_from_low_to_high():
    box = dict(shape=(2, 3), dtype="float32", discrete=False, action_count=2)
    bounds = dict(low=(-2.0, 0.0), high=(2.0, 10.0))
    acting = Acting(np.float32([-1, 0.5]), **box, **bounds)
    one, _ = policy(acting).predict(np.zeros((2, 3)), None, None, True)
    assert one.tolist() == [-2, 7.5]
    assert policy(acting).predict(np.zeros((5, 2, 3)))[0].shape == (5, 2)
    with pytest.raises(ValueError, match="policy must be of this release"):
        policy(Acting(np.float32([-1, 0.5]), **box)).predict(np.zeros((2, 3)))


@pytest.mark.parametrize("wrong", [0.0, np.zeros(3), np.zeros((2, 2, 4)), np.full(4, np.nan)])
def test_other_observations_are_refused(wrong):
    acting = Acting(1, shape=(4,), dtype="float32", discrete=True, action_count=2)
    with pytest.raises(ValueError, match="observation must"):
        policy(acting).predict(wrong)


def test_an_environment_takes_what_is_predicted():
    """As the environments of a run get them."""
    config = {"evaluation_episodes": 1, "hidden": (16,), "learning_starts": 256}
    run = rlfabric.train("ddpg", steps=260, progress=False, out="box", config=config)
    envs = training.make_envs("Pendulum-v1", 1, algorithm="ddpg")
    obs, _ = envs.reset(seed=0)
    action, _ = run.policy.predict(obs[0])
    assert envs.single_action_space.contains(action)
    assert training.Spec.of(envs).high == (2.0,)
    envs.close()
