"""host.values by the replay memories: what a field's type does not hold is refused with
field, place and value, and nothing has changed; tensors; indexes."""

import copy
import math
import re
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction

import numpy as np
import pytest
import torch
from replay.kernels import WIDE, opened

from host.replay.experience import record_dtype
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from hw.errors import UsageError
from rlfabric import AdvantageEstimator
from tests.host.replay_buffers import equal

DTYPES = "?", "u1", "i1", "i2", "u4", "i4", "i8", "u8", "f2", "f4", "f8", "c8", ">f4"
FIELDS = {f"{dtype}": (dtype, (2,)) for dtype in DTYPES} | {"x": (np.float32, ())}
WORDS = {"u": (np.uint32, ()), "y": (np.float32, (2,))}
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module", params=["tree", "ring", "card"])
def make(request):
    """Makes a memory of one kind for fields; a later one takes the kernel over."""
    with ExitStack() as stack:
        if request.param == "card":
            kernel = stack.enter_context(opened("model", WIDE))
            own = dict(capacity=32, takeover=True)
            yield lambda fields, **options: PrioritizedReplayBuffer(kernel, fields, **own | options)
        else:
            kind = {"tree": TreeMemory, "ring": RingMemory}[request.param]
            yield lambda fields, **options: kind(fields, **{"capacity": 32} | options)


@pytest.fixture
def memory(make):
    memory = make(FIELDS)
    memory.add(**experiences(4))
    return memory


def experiences(count):
    return {name: np.ones((count, *shape), dtype) for name, (dtype, shape) in FIELDS.items()}


#: Numbers at the limits of some type, of all kinds that a caller may have.
EXACT = [sign * (2**k + more) for sign in (1, -1) for k in (0, 7, 8, 11, 15, 16, 24, 31, 53, 63, 64)
         for more in (-1, 0, 1)]  # fmt: skip
FLOATS = [0.5, 0.1, -0.9, 65504.0, 70000.0, 3.4e38, -3.5e38, 1e300, 1e-300, -0.0, NAN, INF, -INF]
GIVEN = "?", "u1", "i1", "u2", "i8", "u8", "f2", "f4", "f8", ">f4"


def numbers():
    """Each number of ``EXACT`` and ``FLOATS``, in each type that it has a value in."""
    found = {}
    with np.errstate(all="ignore"):
        for value in [*EXACT, *FLOATS]:
            for dtype in GIVEN:
                kind = np.dtype(dtype)
                whole = isinstance(value, int)
                if kind.kind in "biu" and not (whole and fits(value, kind)):
                    continue
                if kind.kind == "f" and float(value) != value and whole:
                    continue
                number = np.array(value, "f8" if kind.kind == "f" else kind).astype(kind)
                found[dtype, number.tobytes()] = number
    return list(found.values())


def fits(value, kind):
    low, high = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
    return low <= value <= high


def verdict(number, kind):
    """None if ``kind`` holds a number, else the rule: by Python's own arithmetic."""
    value = number.item()
    if kind.kind in "biu":
        rule = "True or False" if kind.kind == "b" else (
            f"an integer in {np.iinfo(kind).min}..{np.iinfo(kind).max}")  # fmt: skip
        plain = math.isfinite(value) and Fraction(value).denominator == 1
        return None if plain and fits(int(value), kind) else rule
    if number.dtype.kind in "biu":  # exact or refused
        digits = {2: 11, 4: 24, 8: 53}[np.empty(0, kind).real.itemsize]
        odd = abs(int(value)) >> (max(0, abs(int(value)).bit_length() - digits))
        exact = odd << max(0, abs(int(value)).bit_length() - digits) == abs(int(value))
        fine = exact and abs(int(value)) <= np.finfo(kind).max
        return None if fine else f"a number that {kind} holds"
    if not math.isfinite(value):
        return "finite"
    half = Fraction(float(np.finfo(kind).max)) * (1 + Fraction(1, 2 ** (np.finfo(kind).nmant + 2)))
    return None if abs(Fraction(value)) < half else f"a number that {kind} holds"


CALLS = {
    "array": lambda x: x, "list": lambda x: [[*row] for row in x], "tuple": lambda x: (*x,),
    "strides": lambda x: np.repeat(x, 2, 1)[:, ::2], "fortran": np.asfortranarray,
}  # fmt: skip


@pytest.mark.parametrize("name", [*FIELDS][:-1])
def test_what_a_type_holds(make, name):
    """Many and alone, in each container: stored as Python rounds it, or refused with field, rule,
    value and place, with an update before it and a draw after it in the same step, which are not
    done then."""
    memory, kind, count = make({name: FIELDS[name], "x": FIELDS["x"]}), np.dtype(name), 0
    memory.add(**{name: np.ones((4, 2)), "x": np.ones(4)})
    for k, number in enumerate(numbers()):
        rule, many = verdict(number, kind), bool(k % 2)
        values = np.ones((3 if many else 1, 2), number.dtype)
        values[-1, 1] = number
        given = CALLS[[*CALLS][k % len(CALLS)]](values) if many else values[0]
        call = {name: given, "x": np.ones(3) if many else 1.0}
        if rule is None:
            memory.add(**call)
            stored, last = memory.get_all_transitions()[name], last_place(memory)
            with np.errstate(under="ignore"):
                assert stored[last, 1:].tobytes() == number.astype(kind).tobytes(), number
            count += 1
            continue
        before = memory.state_dict() if k % 5 == 0 else None
        at = "at [2, 1]" if many else "at position 1"
        with pytest.raises(UsageError) as error:
            memory.step(call, ([0], [3.0]), (2, 0.5))
        assert str(error.value) == f"{name} must be {rule}, not {values[-1, 1]} {at}"
        if before is not None:
            equal(memory.state_dict(), before)
    assert count > 10


def last_place(memory):
    return (memory.state_dict()["position"] - 1) % memory.capacity


@pytest.mark.parametrize(
    "values, words",
    [
        (np.full((2, 2), 1 + 2j), "not (1+2j) of complex128 at [0, 0]"),
        (np.ones((2, 2), complex), "not (1+0j) of complex128 at [0, 0]"),
        ([[1, 2], [3, None]], "not None of object at [1, 1]"),
        ([[1, 2], ["a", 4]], "not '1' of <U21 at [0, 0]"),
        (np.array([[1, 2], [3, 4]], object), "not 1 of object at [0, 0]"),
        ([[1, 2], [3, 2**70]], f"not {2**70} of object at [1, 1]"),
        (np.zeros((2, 2), "M8[s]"), "not datetime.datetime(1970, 1, 1, 0, 0) of datetime64[s] at"),
    ],
)
@pytest.mark.parametrize("name", ["u1", "f4"])
def test_what_is_no_number(memory, name, values, words):
    before = memory.state_dict()
    with pytest.raises(UsageError, match=rf"^{name} must be .* {re.escape(words)}"):
        memory.add(**experiences(2) | {name: values})
    with pytest.raises(UsageError, match=rf"^{name} must be an array of numbers, not list: "):
        memory.add(**experiences(2) | {name: [[1, 2], [3]]})
    equal(memory.state_dict(), before)


def test_masked_numbers_are_not_numbers(memory):
    """What is below a mask means nothing; an array in which nothing is masked is one."""
    before = memory.state_dict()
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 0], [0, 1]])
    for name, given in (("u1", masked), ("x", np.ma.masked), ("f4", masked.astype("f4"))):
        with pytest.raises(UsageError, match=f"^{name} must be without masked numbers, not Masked"):
            memory.add(**experiences(2) | {name: given})
    equal(memory.state_dict(), before)
    memory.add(**experiences(2) | {"u1": np.ma.array(masked.data)})


def test_records_are_read_for_nan(make):
    """Records and fields of 32 bits are read in one pass, in which an integer may look like a NaN
    and padding may be anything; strides are another way."""
    memory, dtype = make(WORDS), record_dtype(WORDS)
    records = np.frombuffer(b"\xff" * dtype.itemsize * 6, dtype).copy()
    records["y"] = 1
    memory.step(records)
    memory.step(records[::2])
    memory.add(u=np.full(3, 2**32 - 1), y=np.ones((3, 2)))
    assert len(memory) == 12 and (memory.get_all_transitions()["u"] == 2**32 - 1).all()
    for value in (NAN, INF, -INF):
        records["y"][4, 1] = value
        for given, place in ((records, 4), (records[::2], 2)):
            with pytest.raises(UsageError, match=rf"^y .* finite, not {value} at \[{place}, 1\]$"):
                memory.step(given)
    assert len(memory) == 12


MIXED = {"o": ("f4", (2,)), "a": ("i8", ()), "r": ("f4", ()), "d": ("?", ())}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("count", [1, 3, 2000])
def test_floats_among_integers(make, dtype, count):
    """Read in one pass with the integers; -1 has the bits of a NaN."""
    fields = {name: (kind.replace("f4", dtype), shape) for name, (kind, shape) in MIXED.items()}
    memory = make(fields)
    given = {name: np.ones((count, *shape), kind) for name, (kind, shape) in fields.items()}
    for sign in (1, -1):
        given["a"][:] = sign
        memory.add(**given)
        assert memory.get_all_transitions()["a"][-1] == sign
    for kind, sign in ((dtype, 1), ("f8", -1)):
        given["a"][:] = sign
        for name in "or":
            wrong = np.ones(given[name].shape, kind)
            wrong.flat[-1] = NAN
            with pytest.raises(UsageError, match=f"^{name} must be finite, not nan at "):
                memory.add(**given | {name: wrong})


@pytest.mark.parametrize("how", ["ignore", "warn", "raise", "call", "print"])
def test_a_caller_s_floating_point_errors(memory, how, capfd):
    """``np.seterr`` decides nothing here, and stays as it is."""
    good = {"f4": [[1e-300, 0.1]], "f2": [[1e-9, 1]], "c8": [[1e-300j, 1]], "i4": [[2.0, 3]]}
    bad = {"f4": [[1e300, 0]], "f2": [[1e9, 0]], "u1": [[NAN, 0]], "i4": [[1e300, 0]]}
    no_call = np.errstate(all=how, call=lambda *_: pytest.fail("called"))
    with no_call, warnings.catch_warnings():
        warnings.simplefilter("error")
        state = np.geterr()
        memory.add(**experiences(1) | {name: np.array(x) for name, x in good.items()})
        memory.update_priorities([0], np.array([1e-300]))
        for name, values in bad.items():
            with pytest.raises(UsageError, match=f"^{name} must be .*, not .* at "):
                memory.add(**experiences(1) | {name: np.array(values)})
        with pytest.raises(UsageError, match=r"^td_errors must be .* not 1e\+300 at position 0"):
            memory.update_priorities([0], np.array([1e300]))
        assert np.geterr() == state
    assert capfd.readouterr() == ("", "")


def test_threads_cast_at_once():
    """Large arrays, during whose cast another thread goes on."""
    memories = [RingMemory({"x": (np.float32, (16000,))}, 60) for _ in range(2)]
    values, together = np.full((60, 16000), 0.1), threading.Barrier(2)

    def fill(memory):
        for _ in range(8):
            together.wait(5)
            memory.add(x=values)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fill, memories))
    assert all(memory.is_full() for memory in memories)


def test_a_list_in_itself_is_no_array(memory):
    within = []
    within.append(within)
    for name in ("x", "f4"):
        with pytest.raises(UsageError, match=f"^{name} must be "):
            memory.add(**experiences(1) | {name: within})


PRIORITIES = [
    ([1, "a"], "not '1' of <U21 at position 0"),
    ([1, None], "not None of object at position 1"),
    ([1j, 1], "not 1j of complex128 at position 0"),
    ([1, NAN], "not nan at position 1"),
]


@pytest.mark.parametrize("values, words", PRIORITIES)
@pytest.mark.parametrize("name", ["td_errors", "priorities"])
def test_lists_of_numbers(memory, name, values, words):
    before = memory.state_dict()
    put = {"td_errors": memory.update_priorities, "priorities": memory.set_priorities}[name]
    add = memory.add
    for call in (lambda: put([0, 1], values), lambda: add(**experiences(2), **{name: values})):
        with pytest.raises(UsageError, match=rf"^{name} must be .*{re.escape(words)}$"):
            call()
    equal(memory.state_dict(), before)


class _Far(torch.Tensor):
    """A stand-in for a tensor of another device, which NumPy cannot read."""

    def numpy(self, *, force=False):
        if not force:
            raise TypeError("can't convert a tensor of another device to numpy")
        return super().numpy(force=True)

    def __array__(self, *_, **__):
        raise TypeError("can't convert a tensor of another device to numpy")


TENSORS = {
    "bfloat16": lambda x: x.bfloat16(), "float16": lambda x: x.half(),
    "float8": lambda x: x.to(torch.float8_e4m3fn), "float64": lambda x: x.double(),
    "gradient": lambda x: x.clone().requires_grad_(), "far": lambda x: x.as_subclass(_Far),
    "list": lambda x: [each.clone().requires_grad_() for each in x],
    "tuple": lambda x: tuple(each.as_subclass(_Far) for each in x),
    "lists in a tuple": lambda x: tuple([*y] if y.ndim else y for y in x.as_subclass(_Far)),
}  # fmt: skip


@pytest.mark.parametrize("kind", TENSORS)
def test_tensors_are_arrays(make, kind):
    """Of any float type and device, with a gradient: as the arrays of the same numbers."""
    fields = {"x": (np.float32, (2,)), "z": (np.float64, ()), "a": (np.int64, ())}
    plain = {"x": torch.arange(12.0).reshape(6, 2), "z": torch.arange(6.0) / 4}
    of, states = TENSORS[kind], []
    for change in (lambda x: x.numpy(), of):
        memory = make(fields)
        one = {name: change(values) for name, values in plain.items()}
        memory.add(**one, a=torch.arange(6), td_errors=change(torch.arange(6.0) / 4))
        memory.update_priorities(torch.tensor([1, 2]), change(torch.tensor([2.0, 0.5])))
        memory.set_priorities(torch.tensor([3]).as_subclass(_Far), change(torch.tensor([1.5])))
        states.append(memory.state_dict())
    equal(*states)


def test_a_tensor_of_float64_keeps_its_digits(make):
    memory = make({"z": (np.float64, ())})
    memory.add(z=torch.full((2,), 0.1, dtype=torch.float64, requires_grad=True))
    assert memory.get_all_transitions()["z"].tolist() == [0.1, 0.1]
    with pytest.raises(UsageError, match="^z must be an array of numbers, not Tensor: "):
        memory.add(z=torch.zeros(2, device="meta"))


def test_indexes_are_int64(make):
    memory = make({"x": (np.float32, ())})
    memory.add(x=np.arange(8))
    for batch in (memory.sample(4), *memory.step(sample=[(3, 0.5), (2, 0.0)])):
        assert batch["indexes"].dtype == np.int64 and torch.as_tensor(batch["indexes"]).ndim
        assert (batch["indexes"] * 0 - 1 == -1).all()
        memory.update_priorities(torch.as_tensor(batch["indexes"]), batch["x"])


@pytest.mark.parametrize("name", ["self", "weights", "indexes", "priorities", "td_errors"])
def test_names_that_a_field_may_not_have(make, name):
    with pytest.raises(UsageError, match=f"^fields must not be called {name}, "):
        make({"x": (np.float32, ()), name: (np.float32, ())})


@pytest.mark.parametrize("name", ["experiences", "priorities"])
def test_states_are_not_cast_either(memory, name):
    state = memory.state_dict()
    wrong = state[name].astype(np.int64)
    wrong[-1:] = -1
    with pytest.raises(UsageError, match=f"^{name} must be an integer in 0.*, not -1 at "):
        memory.load_state_dict({**state, name: wrong})
    equal(memory.state_dict(), state)


def test_what_was_handed_over_stays_as_it_was(make):
    """States, batches, priorities and transitions, also those of one field that is the whole
    record; and what was handed in: the caller goes on to write into it."""
    memory, given = make({"x": (np.uint8, (32,))}), np.full((20, 32), 7, np.uint8)
    memory.add(x=given)
    state, others = memory.state_dict(), (memory.get_all_transitions(), memory.sample(4))
    found = [state, *others, {"priorities": memory.priorities()}]
    before = copy.deepcopy(found)
    given[:] = 9
    memory.add(x=given)
    memory.update_priorities(np.arange(32), np.arange(32.0))
    memory.sample(8)
    for mine, its in zip(found, before, strict=True):
        equal(mine, its)
    memory.load_state_dict(state)
    memory.add(x=given), memory.sample(8), memory.set_priorities([0], [2.5])
    equal(state, before[0])


ODD = [
    *(("maximum", value) for value in (-1, 1 << 24, "a", [1], None, NAN)),
    *(("random", value) for value in ([], None, [1, 2, 3], [-1, 0, 0, 0], [0.5] * 4, 7)),
    *(("position", value) for value in (None, 1.5, 2, "x", -1, 32, [4])),
    *(("experiences", value) for value in (None, 5, np.zeros(4), np.zeros((4, 7)), [])),
    *(("priorities", value) for value in (None, 5, [[1] * 4], [1] * 5, [1 << 24] * 4)),
    *(("capacity", value) for value in (None, np.zeros(3), "x")),
]


@pytest.mark.parametrize("name, value", ODD)
def test_odd_states_are_refused(memory, name, value):
    """Each entry by its name, in one line, before anything has changed."""
    state = memory.state_dict()
    with pytest.raises(UsageError, match=f"^[^\n]*\\b{name} [^\n]*must [^\n]*$"):
        memory.load_state_dict(state | {name: value})
    equal(memory.state_dict(), state)


def test_states_that_lack_an_entry_or_are_none(memory):
    state = memory.state_dict()
    for name in state:
        with pytest.raises(UsageError, match=f"^{name} must be "):
            memory.load_state_dict({key: each for key, each in state.items() if key != name})
    for none in (None, [], 3, "a"):
        with pytest.raises(UsageError, match="^state must be what state_dict gives, not "):
            memory.load_state_dict(none)
    equal(memory.state_dict(), state)


@pytest.mark.parametrize("value", [None, "text", {}, [None], object(), b"1"])
def test_what_is_no_array_is_shown(memory, value):
    with pytest.raises(UsageError, match=f"^f4 must be .*, not {re.escape(repr(value))[:9]}"):
        memory.add(**experiences(2) | {"f4": value})


@pytest.mark.parametrize("kind", ["bfloat16", "gradient", "far", "list"])
def test_an_estimator_takes_tensors(kind):
    rewards, no = torch.tensor([[1.0, 0.5], [0.25, 2.0]]), torch.zeros(2, 2, dtype=torch.bool)
    far = TENSORS["far"]
    with AdvantageEstimator(2, 2) as estimator:
        wanted = estimator.estimate(*(x.numpy() for x in (rewards, -rewards, no, no, rewards)))
        change = TENSORS[kind]
        found = estimator.estimate(
            change(rewards), change(-rewards), far(no), far(no), change(rewards)
        )
        np.testing.assert_array_equal(found.advantages, wanted.advantages)
        each = [(rewards[:, 0].numpy(), rewards[:, 1].numpy(), 0.5)]
        alike = [(change(rewards[:, 0]), change(rewards[:, 1]), 0.5)]
        one, two = (estimator.estimate_trajectories(x).advantages[0] for x in (each, alike))
        np.testing.assert_array_equal(one, two)
        with pytest.raises(
            UsageError, match=r"^values must be .*float32 holds, not 1e\+300 at \[1"
        ):
            estimator.estimate(rewards, [[0, 0], [1e300, 0]], no, no, rewards)
        with pytest.raises(UsageError, match=r"^rewards must be .* of complex128 at \[0, 0\]"):
            estimator.estimate(np.ones((2, 2), complex), rewards, no, no, rewards)
