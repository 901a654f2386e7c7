"""A trainer's state whatever its graph of objects is: saved, changed everywhere and restored, in a
twin and in itself, it is what a deep copy was, with the same aliases."""

import copy
import enum
import functools
import random
import struct
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import FunctionType, MethodType, SimpleNamespace

import numpy as np
import torch
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from torch import nn

from host.trainers.trainer import algorithm_of
from tests.host.trainers.test_trainer_state import made, states, through_a_file

Pair = namedtuple("Pair", "first second")
Mode = enum.Enum("Mode", "WARM COLD")
Flags = enum.Flag("Flags", "A B C")
DTYPES = "?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "U3", "M8[s]", ">f4"
KINDS = "float32 float64 bfloat16 float16 float8_e5m2 int64 uint8 bool complex64".split()


class _Base:
    __slots__ = ("__hidden", "shown")


class Slots(_Base):
    __slots__ = ("own",)

    def __init__(self, parts):
        self._Base__hidden, self.shown, self.own = [*parts, None, None, None][:3]


@dataclass
class Data:
    parts: list
    count: int = 0
    more: dict = field(default_factory=dict)

    @property
    def rate(self):
        return self.count


class Block(nn.Module):
    """Attributes of its own, a buffer that no state_dict has, a frozen parameter."""

    def __init__(self, parts):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))
        self.parts, self.scale = parts, 1.0
        self.inner[0].bias.requires_grad_(False)
        self.register_buffer("seen", torch.zeros(2), persistent=False)


class Unsaved(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2), persistent=False)


CONTAINERS = {
    "list": list, "tuple": tuple, "deque": lambda x: deque(x, 9), "pair": lambda x: Pair(x, 1),
    "dict": lambda x: dict(enumerate(x)), "ordered": lambda x: OrderedDict(enumerate(x)),
    "default": lambda x: defaultdict(list, {(k, "k"): each for k, each in enumerate(x)}),
    "data": Data, "slots": Slots, "space": lambda x: SimpleNamespace(parts=x), "block": Block,
}  # fmt: skip
LEAVES = {
    "plain": lambda rng, _: plain(rng), "scalar": lambda rng, _: scalar(rng),
    "array": lambda rng, _: array(rng), "tensor": lambda rng, _: tensor(rng),
    "parameter": lambda *_: nn.Parameter(torch.ones(2)), "linear": lambda *_: nn.Linear(1, 2),
    "unsaved": lambda *_: Unsaved(), "mode": lambda *_: Mode.WARM, "flags": lambda *_: Flags.A,
    "set": lambda rng, _: {plain(rng), 3}, "frozen": lambda rng, _: frozenset({plain(rng), 3}),
    "counter": lambda *_: Counter("aab"), "method": lambda _, self: self.learn,
    "partial": lambda _, self: functools.partial(self.learn, self.q, k=self.table),
    "function": lambda _, self: lambda x, t=self.table: (t, self.q, x), "type": lambda *_: int,
    "generator": lambda *_: np.random.default_rng(1), "random": lambda *_: random.Random(1),
    "old": lambda *_: np.random.RandomState(1), "torch": lambda *_: torch.Generator(),
}  # fmt: skip


def plain(rng):
    return rng.choice([None, True, 7, 2**70, -(2**63), 0.1, -0.0, float("inf"), float("nan"), "é"])


def array(rng, dtype=None):
    shape = rng.choice([(), (0,), (2,), (2, 3)])
    found = np.array(rng.randrange(2, 90)).astype(dtype or rng.choice(DTYPES))
    return np.full(shape, found, found.dtype, order=rng.choice("CF"))


def scalar(rng):
    return np.array(rng.randrange(2, 90)).astype(rng.choice(DTYPES[:-1]))[()]


def tensor(rng):
    found = torch.full(rng.choice([(), (0,), (2,), (2, 3)]), rng.randrange(2, 9))
    found = found.to(getattr(torch, rng.choice(KINDS)))
    return found.requires_grad_(found.is_floating_point() and rng.random() < 0.5)


class Trainer:
    """What RECIPE says, besides networks, an optimizer of two groups, a schedule, and views."""

    def __init__(self, observation, action):
        rng = random.Random(0)
        self.q, self.aim = nn.Linear(observation, action), nn.Linear(observation, action)
        self.aim.requires_grad_(False)
        self.log_a, self.table = torch.zeros(1, requires_grad=True), {"n": 1}
        groups = [{"params": [*self.q.parameters()]}, {"params": [self.log_a], "lr": 0.5}]
        self.opt = torch.optim.Adam(groups, lr=0.1)
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 2)
        self.whole, self.values = np.arange(6.0), torch.arange(6.0)
        self.view, self.part, self.wide = self.whole[1:4], self.values[::2], torch.ones(1)
        self.wide = self.wide.expand(3)
        self.pool, self.nets = [], {"aim": self.aim, 2: [self.q.weight]}
        for k, each in enumerate(RECIPE):
            setattr(self, f"x{k}", self.build(each, rng, self.pool))
        self.pool = None

    def build(self, recipe, rng, pool):
        kind, content = recipe
        if kind == "alias":
            return pool[content % len(pool)] if pool else self.table
        if kind not in CONTAINERS:
            found = LEAVES[kind](rng, self)
        elif kind in ("tuple", "pair", "deque"):
            found = CONTAINERS[kind]([self.build(each, rng, [*pool]) for each in content])
        else:  # may be inside itself
            parts = []
            found = parts if kind == "list" else CONTAINERS[kind]([])
            inner = [*pool, found]
            parts += [self.build(each, rng, inner) for each in content]
            if isinstance(found, dict):
                found.update(CONTAINERS[kind](parts))
            elif kind == "slots":
                found.__init__(parts)
            elif kind != "list":
                found.parts = parts
        if isinstance(found, (list, dict, set, np.ndarray, torch.Tensor, Data, nn.Module)):
            pool.append(found)
        return found

    def learn(self, *_, **__):
        pass

    def get_action(self, obs):
        return self.q(obs).argmax(-1)

    def update_policy(self, obs, action, reward, next_obs, discount):
        pass


RECIPE = ()
HELD = "log_a", "table", "view", "part", "whole", "values", "wide"
_PLAIN = (type(None), bool, int, float, str, np.generic)


def insides(x):
    """(key, value, put) of everything directly inside; ``put`` is None where nothing can be put."""
    if isinstance(x, dict):
        return [(key, value, functools.partial(x.__setitem__, key)) for key, value in x.items()]
    if isinstance(x, (list, deque)):
        return [(k, value, functools.partial(x.__setitem__, k)) for k, value in enumerate(x)]
    if isinstance(x, tuple):
        return [(k, value, None) for k, value in enumerate(x)]
    if isinstance(x, functools.partial):
        return insides((x.func, *x.args, *x.keywords, *x.keywords.values()))
    if isinstance(x, MethodType):
        return [("__self__", x.__self__, None)]
    names = []
    if isinstance(x, Slots):
        names = ["_Base__hidden", "shown", "own"]
    elif isinstance(x, nn.Module):
        names = ["parts", "scale"] if isinstance(x, Block) else []
    elif isinstance(x, (Trainer, Data, SimpleNamespace)):
        names = vars(x)
    return [(name, getattr(x, name), functools.partial(setattr, x, name)) for name in names]


def pure(x, kept):
    """Whether a trainer may be without it later."""
    if id(x) in kept:
        return False
    if isinstance(x, (*_PLAIN, np.ndarray, torch.Tensor, set, frozenset)):
        return True
    kinds = (list, deque, tuple, dict)
    return (
        isinstance(x, kinds)
        and not isinstance(x, defaultdict)
        and all(pure(each, {*kept, id(x)}) for _, each, _ in insides(x))
    )


def fresh(rng):
    """A value that comes later."""
    makes = [plain, scalar, array, tensor, lambda _: [1, {2: [3]}], lambda _: (4, (5, "k"))]
    makes += [lambda _: Pair([6], 7), lambda _: {8, (9, 1)}, lambda _: frozenset({1})]
    makes += [lambda _: deque([1, 2], rng.choice([None, 3]))]
    makes += [lambda _: {(1, 2): 3, np.int8(4): 5, None: 6}, lambda _: OrderedDict(b=1, a=[2])]
    return rng.choice(makes)(rng)


def change(trainer, rng):
    """Changes everything that a trainer reaches, in ways that it may be changed."""
    kept = {id(getattr(trainer, name)) for name in HELD} | {
        id(each) for net in (trainer.q, trainer.aim) for each in net.parameters()
    }
    seen, ahead = {}, [trainer]
    while ahead:
        x = ahead.pop()
        if id(x) in seen or isinstance(x, _PLAIN):
            continue
        seen[id(x)] = x
        inside = insides(x)
        ahead += [each for _, each, _ in inside]
        for name, value, put in inside:
            if isinstance(value, enum.Enum) and put:
                put(rng.choice([*type(value)]) if type(value) is Mode else Flags(rng.randrange(8)))
            elif put and name not in HELD and pure(value, kept) and rng.random() < 0.5:
                put(fresh(rng))
        if isinstance(x, (list, dict, set, deque)):
            resize(x, rng, kept)
        elif isinstance(x, np.ndarray) and x.dtype.kind in "fiu":
            x += 1
        elif isinstance(x, np.ndarray) and x.size:
            x.flat[0] = np.array(rng.randrange(2, 90)).astype(x.dtype)
        elif isinstance(x, torch.Tensor):
            change_tensor(x, rng, frozen=id(x) in kept or x is trainer.wide)
        elif isinstance(x, nn.Module):
            change_module(x, rng)
        elif isinstance(x, (np.random.Generator, random.Random)):
            x.random()
        elif isinstance(x, np.random.RandomState):
            x.rand()
        elif isinstance(x, torch.Generator):
            torch.rand(1, generator=x)
    if trainer.x0 is None or isinstance(trainer.x0, (list, dict)) and pure(trainer.x0, kept):
        trainer.x1 = trainer.x0 if pure(trainer.x1, kept) else trainer.x1  # an alias that is new
    for group in trainer.opt.param_groups:
        group["eps"] = rng.random()
    for each in (*trainer.q.parameters(), trainer.log_a):
        each.grad = None if rng.random() < 0.3 else torch.full_like(each, rng.random())
    trainer.opt.step(), trainer.sched.step()


def resize(x, rng, kept):
    if isinstance(x, set):
        x.discard(3) if rng.random() < 0.5 else x.update({rng.random(), (1, rng.randrange(9))})
    elif isinstance(x, dict):
        for key in [key for key, value in x.items() if pure(value, kept)]:
            value, choice = x[key], rng.randrange(4)
            if choice < 2:
                del x[key]
            if choice == 1:
                x[key] = value  # now the last one
        if rng.random() < 0.5:
            x[rng.choice([9, "nine", (9, "n"), 9.5])] = 1 if isinstance(x, Counter) else fresh(rng)
    elif x and rng.random() < 0.5 and pure(x[-1], kept):
        x.pop()
    elif not (isinstance(x, deque) and x.maxlen and len(x) == x.maxlen):
        x.append(fresh(rng))


def change_tensor(x, rng, frozen):
    with torch.no_grad():
        if not any(step == 0 for step in x.stride()):
            x.copy_(torch.full_like(x.float() if x.itemsize < 2 else x, rng.randrange(2, 9)))
    if not frozen and x.is_floating_point():
        x.requires_grad_(rng.random() < 0.5)


def change_module(x, rng):
    for part in x.modules():
        part.train(rng.random() < 0.5)
        if isinstance(part, nn.Dropout):
            part.p = rng.random()
    with torch.no_grad():
        for each in (*x.parameters(), *x.buffers()):
            each.copy_(torch.full_like(each, rng.randrange(2, 9)))
    for each in (*x.parameters(), *x.buffers()):
        each.requires_grad_(each.is_floating_point() and rng.random() < 0.5)


def bits(x):
    """Numbers to the byte, with their type."""
    if isinstance(x, float):
        return struct.pack("d", x)
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.str, x.shape, np.asarray(x).tobytes()
    return x


def check(one, other, path="trainer", pairs=None):
    """Asserts that two graphs are alike: types, numbers, and which places are the same object."""
    pairs = {} if pairs is None else pairs
    assert type(one) is type(other), path
    if isinstance(one, (type(None), bool, int, float, str, np.generic, enum.Enum, type)):
        assert bits(one) == bits(other), path
        return
    if not isinstance(one, (tuple, frozenset, MethodType, functools.partial, FunctionType)):
        known = pairs.get(id(one), pairs.get((id(other),)))
        if known is not None:
            assert known == (id(one), id(other)), f"{path} is another object"
            return
        pairs[id(one)] = pairs[(id(other),)] = id(one), id(other)
    inside = insides(one), insides(other)
    assert len(inside[0]) == len(inside[1]), path
    if isinstance(one, nn.Module):
        check_modules(one, other, path, pairs)
    if isinstance(one, (set, frozenset)):
        assert sorted(map(repr, one)) == sorted(map(repr, other)), path
    elif isinstance(one, torch.Tensor):
        assert (one.dtype, one.shape, one.requires_grad) == (
            other.dtype, other.shape, other.requires_grad), path  # fmt: skip
        assert repr(one.tolist()) == repr(other.tolist()), path
        check(one.grad if one.is_leaf else None, other.grad if other.is_leaf else None, path, pairs)
    elif isinstance(one, np.ndarray):
        assert bits(one) == bits(other) and one.flags.writeable == other.flags.writeable, path
    elif isinstance(one, torch.optim.Optimizer):
        state = [each.state_dict() for each in (one, other)]
        check(*(each["param_groups"] for each in state), f"{path} groups")
        check(*(each["state"] for each in state), f"{path} state")
        for mine, its in zip(one.param_groups, other.param_groups, strict=True):
            check(mine["params"], its["params"], f"{path} parameters", pairs)
    elif isinstance(one, torch.optim.lr_scheduler.LRScheduler):
        check(one.state_dict(), other.state_dict(), path)
    elif isinstance(one, np.random.Generator):
        assert one.bit_generator.state == other.bit_generator.state, path
    elif isinstance(one, random.Random):
        assert one.getstate() == other.getstate(), path
    elif isinstance(one, np.random.RandomState):
        check(one.get_state(legacy=False), other.get_state(legacy=False), path)
    elif isinstance(one, torch.Generator):
        assert torch.equal(one.get_state(), other.get_state()), path
    elif isinstance(one, FunctionType):
        assert one.__qualname__ == other.__qualname__, path
    if isinstance(one, deque):
        assert one.maxlen == other.maxlen, path
    for (name, mine, _), (its_name, its, _) in zip(*inside, strict=True):
        assert type(name) is type(its_name) and repr(name) == repr(its_name), f"{path}[{name!r}]"
        check(mine, its, f"{path}[{name!r}]", pairs)


def check_modules(one, other, path, pairs):
    found = []
    for module in (one, other):
        parts = [(part.training, getattr(part, "p", None)) for part in module.modules()]
        named = dict(module.named_parameters(remove_duplicate=False))
        found.append((parts, list(named), [*named.values(), *module.buffers()]))
    assert found[0][:2] == found[1][:2], path
    for mine, its in zip(found[0][2], found[1][2], strict=True):
        check(mine, its, path, pairs)


ANY = st.recursive(
    st.tuples(st.sampled_from([*LEAVES]), st.none())
    | st.tuples(st.just("alias"), st.integers(0, 9)),
    lambda inner: st.tuples(st.sampled_from([*CONTAINERS]), st.lists(inner, max_size=3)),
    max_leaves=6,
)
EACH = [(kind, None) for kind in LEAVES]
NESTED = [(kind, [("list", [("alias", 1)]), ("array", None), ("alias", 0)]) for kind in CONTAINERS]


PHASES = Phase.explicit, Phase.generate  # examples are small, and to shrink one takes minutes


def fixed(trainer):
    """The objects that must stay the same ones: networks, the optimizer and the tensor it has."""
    return [id(x) for x in (trainer.q, trainer.aim, trainer.opt, trainer.sched, trainer.log_a)]


@settings(max_examples=30, deadline=None, derandomize=True, database=None, phases=PHASES)
@given(recipe=st.lists(ANY, min_size=2, max_size=6), seed=st.integers(0, 2**16))
@example(recipe=EACH, seed=1)
@example(recipe=NESTED, seed=2)
@example(recipe=[(kind, EACH) for kind in ("list", "dict", "tuple", "block")], seed=3)
def test_any_graph_is_restored(recipe, seed):
    global RECIPE
    RECIPE, rng = recipe, random.Random(seed)
    algorithm = algorithm_of("graphs.py:Trainer", Trainer)
    whole, twin = made(algorithm), made(algorithm, 9)
    for _ in range(3):
        change(whole[0].trainer, rng)
    wanted = copy.deepcopy(whole[0].trainer)  # which leaves gradients of parameters out
    for mine, its in zip(whole[0].trainer.q.parameters(), wanted.q.parameters(), strict=True):
        its.grad = copy.deepcopy(mine.grad)
    state = through_a_file(states(whole))
    check(whole[0].trainer, wanted)
    before, its = fixed(whole[0].trainer), fixed(twin[0].trainer)
    change(whole[0].trainer, rng)
    for agent in (twin, whole):
        agent[0].load_state_dict(state["policy"])
        agent[1].load_state_dict(state["updater"])
        check(agent[0].trainer, wanted)
        trainer = agent[0].trainer
        trainer.whole[1] = trainer.values[2] = 99
        assert trainer.view[0] == trainer.part[1] == 99
    assert (before, its) == (fixed(whole[0].trainer), fixed(twin[0].trainer))
