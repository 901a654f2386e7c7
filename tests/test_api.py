"""The public API: types, documents whose examples run, and what a program does with it."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
from every_entry import MODULES, examples

import rlfabric
from host.kernels import describe
from host.runs.preset import preset
from host.runs.start_run import run
from hw.errors import RlfabricError
from rlfabric import training

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (rlfabric, training)
    for name in module.__all__
}
#: Of functions and classes: from the packages that are rlfabric's.
OURS = ("rlfabric", "host", "hw", "sim", "boards", "system")


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """An empty one, where all examples run one after the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("program"))
        yield


# -- documents and types


@pytest.mark.parametrize("name", MODULES)
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


def test_an_estimate_counts_as_the_boards_part_does():
    """Tables of four inputs, and multipliers of 18 x 18."""
    small, large = (rlfabric.estimate("replay", board, capacity=256) for board in ("ulx3s", "u50"))
    assert small.resources == dict(zip(small.resources, small.ecp5, strict=True))
    assert large.resources == large.of("xcup").resources != large.of("ecp5").resources


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
    describe("replay", "u50", tmp_path, capacity=512)
    with pytest.raises(ValueError, match="config must be that of the kernel in .* capacity=1024"):
        rlfabric.load_kernel("replay", "u50", card="xrt", capacity=1024)
    with pytest.raises(rlfabric.MissingTool, match="pyxrt must be importable"):
        rlfabric.load_kernel("replay", "u50", card="xrt", capacity=512)
    for width in (8, 32):  # whatever the kernel was built with, where the program does not say it
        describe("gae", "u50", tmp_path, rows=4, result_width=width)
        with pytest.raises(rlfabric.MissingTool, match="pyxrt must be importable"):
            rlfabric.load_kernel("gae", "u50", card="xrt", rows=4)


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


def test_only_verilog_that_is_needed_is_written(monkeypatch, tmp_path):
    monkeypatch.setattr("rlfabric.kernels.BUILD_DIRECTORY", tmp_path)
    rlfabric.load_kernel("replay", "u50", capacity=96).card.close()
    made = (tmp_path / "kernels/u50/replay").glob("*/[!.]*")
    assert [path.name for path in made] == ["kernel.json"]


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


def test_help_is_quick():
    """Nothing that compiles, trains or draws is imported for it, nor any package's extension."""
    words = [sys.executable, "-X", "importtime", "-m", "rlfabric", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0 and "host.cli.kernel_commands" in imported
    assert not imported & {"numba", "torch", "matplotlib", "rlfabric.run"}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_page_has_every_name(name):
    """docs/package.md, which README calls the list of all names."""
    page = (Path(__file__).parents[1] / "docs" / "package.md").read_text()
    module, _, own = name.rpartition(".")
    part = page[page.index(f"| `{module}.` | |") :]
    codes = re.findall("`([^`]*)`", part.split("\n\n")[0])  # not the prose between two of them
    assert any(re.search(rf"\b{own}\b", code) for code in codes), f"{name} is not listed"
