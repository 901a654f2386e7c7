"""host.replay.prioritized_buffer: what it refuses, with which words, and that nothing has changed
after it."""

import json
from contextlib import ExitStack

import numpy as np
import pytest
from replay.kernels import NARROW, WIDE, generate, opened

from host.cards import CapacityError, HashMismatch, open_card
from host.programs.launcher import CommandError
from host.replay.experience import record_dtype
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.tree_memory import TreeMemory
from sim.card.memory import Bank
from tests.host.replay_buffers import (
    CAPACITY,
    CARDS,
    FIELDS,
    bad_calls,
    equal,
    experiences,
    filled,
    make,
    rated,
)


def called(memory, method, arguments):
    call = getattr(memory, method)
    return call(**arguments) if isinstance(arguments, dict) else call(*arguments)


def as_arrays(method, arguments):
    """Lists as arrays, which the ring reads at once; TD errors of 32 bits if these hold them."""
    if isinstance(arguments, dict) or not isinstance(arguments[0], list):
        return arguments
    indexes, values = map(np.array, arguments)
    narrow = method == "update_priorities" and (abs(values) != 1e300).all()
    return indexes, values.astype(np.float32) if narrow else values


@pytest.mark.parametrize("of", ["tree", "model", "model, by programs", "sim"])
def test_bad_calls_are_refused_and_change_nothing(of):
    """The same words from each memory, with lists and with arrays."""
    card, _, by_programs = of.partition(", ")
    with ExitStack() as stack:

        def memory():
            if card == "tree":
                return rated(TreeMemory(FIELDS, CAPACITY))
            kernel = stack.enter_context(opened(card, WIDE))
            return filled(kernel, by_programs=bool(by_programs))

        own = memory()
        state, launches = own.state_dict(), getattr(own, "launches", 0)
        for method, arguments, message in bad_calls(CAPACITY if card == "tree" else 65535):
            for given in (arguments, as_arrays(method, arguments)):
                with pytest.raises(ValueError, match=f"^.*{message}"), np.errstate(over="ignore"):
                    called(own, method, given)
                assert getattr(own, "launches", 0) == launches, "nothing may reach the card"
        equal(own.state_dict(), state)
        equal(memory().sample(50), own.sample(50))


def test_an_update_in_a_step_is_checked_before_it_runs():
    """An index is of what was stored before; what follows is not done either."""
    with opened("model", WIDE) as kernel:
        for memory in (filled(kernel), rated(TreeMemory(FIELDS, CAPACITY))):
            state = memory.state_dict()
            for indexes, errors in (([60], [1.0]), ([0, 59, 0], [1, 2, np.inf])):
                update = np.array(indexes), np.array(errors)
                with pytest.raises(ValueError, match=r"indexes must be|td_errors must be finite"):
                    memory.step(experiences(3), update, (5, 0.4))
            with pytest.raises(ValueError, match="batch_size must be at most the fill"):
                memory.step(experiences(3), (np.arange(60), np.arange(60.0)), (64, 0.4))
            equal(memory.state_dict(), state)


@CARDS
def test_nothing_to_draw(card):
    """All priorities are zero: refused by the card, and no random number is spent."""
    with opened(card, WIDE) as kernel:
        buffer = filled(kernel)
        buffer.set_priorities(np.arange(60), np.zeros(60))
        state = buffer.state_dict()
        words = "SAMPLE.* must be valid, not empty: SAMPLE while all priorities are 0"
        with pytest.raises(CommandError, match=rf"^command 0 \({words}"):
            buffer.sample(5)
        equal(buffer.state_dict(), state)
        with pytest.raises(CommandError, match=rf"^command 1 \({words}"):
            buffer.step(experiences(2), sample=[(5, 0.4)] * 2, priorities=[0, 0])
        assert len(buffer) == 62
        buffer.update_priorities([7], [1.0])
        assert buffer.sample(5)["indexes"].tolist() == [7] * 5
        with pytest.raises(ValueError, match=r"batch_size must be at most the fill \(0\), not 1"):
            make(kernel).sample(1)


@CARDS
def test_states_of_others_are_refused(card):
    with opened(card, WIDE) as kernel, opened(card, NARROW) as narrow, opened(card, WIDE) as wide:
        buffer = filled(kernel)
        state = buffer.state_dict()
        floats = {"x": (np.float32, ())}
        size = record_dtype(FIELDS).itemsize
        bytes_ = {"x": (np.uint8, (size,))}  # as many bytes, but others
        for others, name in (
            (lambda: make(narrow, capacity=30), "config_hash"),
            (lambda: make(wide, capacity=99), "capacity"),
            (lambda: PrioritizedReplayBuffer(wide, floats, capacity=CAPACITY), "dtype"),
            (lambda: PrioritizedReplayBuffer(wide, bytes_, capacity=CAPACITY), "dtype"),
        ):
            other = None  # what nobody holds any more has no kernel either
            other = others()
            with pytest.raises(ValueError, match=f"^{name} must be that of this buffer"):
                other.load_state_dict(state)
            assert len(other) == 0
        with pytest.raises(ValueError, match="^capacity must be that of this buffer .100., not 3"):
            buffer.load_state_dict({**state, "capacity": 3})
        equal(buffer.state_dict(), state)


@pytest.mark.parametrize(
    "options, message",
    [
        (
            dict(capacity=1),
            r"capacity must be an integer in 2\.\.3000 \(the kernel's tree\), not 1",
        ),
        (dict(capacity=3001), r"capacity must be an integer in 2\.\.3000 .*, not 3001"),
        (dict(capacity=10.0), r"capacity must be an integer in 2\.\.3000 .*, not 10\.0"),
        (dict(alpha=1.1), r"alpha must be in 0\.\.1, not 1\.1"),
        (dict(alpha=float("nan")), r"alpha must be in 0\.\.1, not nan"),
        (dict(epsilon=1.0), r"epsilon must be in 0\.\.0\.999985, not 1\.0"),
        (dict(epsilon=-1e-9), r"epsilon must be in 0\.\.0\.999985, not -1e-09"),
    ],
)
def test_bad_options(options, message):
    with opened("model", WIDE) as kernel, pytest.raises(ValueError, match=f"^{message}$"):
        make(kernel, **options)


@pytest.mark.parametrize(
    "fields, message",
    [
        ({}, "fields must be one or more, not none"),
        (["obs"], r"fields must be a dict of name: \(dtype, shape\), not \['obs'\]"),
        ({3: (np.uint8, ())}, "fields must be called by texts, not 3"),
        # user D5: it was taken for a dtype and a shape, and obs became bytes of length 1
        (
            {"obs": {"a": (np.float32, (2,)), "b": (np.int32, ())}},
            r"obs must be \(dtype, shape\), not a dict: give each of its parts a field of its own",
        ),
        ({"obs": {"shape": 4}}, r"obs must be \(dtype, shape\), not a dict.*"),  # cpprb's way
        ({"x": np.float32}, r"x must be \(dtype, shape\), such as .*"),
        ({"x": (np.float32,)}, r"x must be \(dtype, shape\), such as .*"),
        ({"x": (object, ())}, "x must have a dtype of numbers or bools, not <class 'object'>"),
        ({"x": ("words", ())}, "x must have a dtype of numbers or bools, not 'words'"),
        ({"x": ("S4", ())}, "x must have a dtype of numbers or bools, not 'S4'"),
        ({"x": ("M8[s]", ())}, "x must have a dtype of numbers or bools, not .*"),
        ({"x": (np.float32, (2, -1))}, r"x must have a shape of positive integers, not \(2, -1\)"),
        ({"x": (np.float32, 2.0)}, "x must have a shape of positive integers, not 2.0"),
        ({"x": (np.float32, None)}, "x must have a shape of positive integers, not None"),
        ({"x": (np.uint8, (4095 * 16 + 1,))}, "fields must be at most 65520 bytes .*, not 65521"),
    ],
)
def test_bad_fields(fields, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        record_dtype(fields)


def test_storage_larger_than_the_bank():
    """The message has the bytes that would fit."""
    banks = (Bank("DDR[0]", 1 << 20), Bank("DDR[1]", 1 << 16))
    with opened("model", WIDE, banks=banks) as kernel:
        make(kernel, capacity=960)  # of one beat each
        with pytest.raises(
            CapacityError,
            match=(r"size must be at most 65536 bytes for storage \(bank DDR\[1\] .*, not 65600"),
        ):
            make(kernel, capacity=1025)


def test_another_kernel_is_refused(tmp_path):
    """The Verilog of one config behind the description of another."""
    path = generate(NARROW)
    values = json.loads(path.read_text())
    own = values["config_hash"]
    values["config_hash"] ^= 1
    (tmp_path / "kernel.json").write_text(json.dumps(values))
    (tmp_path / "replay.v").write_text((path.parent / "replay.v").read_text())
    with open_card("sim") as card:
        kernel = card.load(tmp_path / "kernel.json")
        with pytest.raises(
            HashMismatch,
            match=f"config_hash must be {own ^ 1:#018x} as described, not {own:#018x}: ",
        ):
            make(kernel, capacity=10)
