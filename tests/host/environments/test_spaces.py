"""host.environments.spaces: vectors are gymnasium's; what is no observation of a space is
refused."""

import json
from dataclasses import asdict

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    OneOf,
    Sequence,
    Text,
    Tuple,
    flatten,
)
from gymnasium.vector import SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from host.environments.spaces import Flattened, describe, is_flattened, is_image, read_space
from host.environments.spec import Spec


def a_space(rng, depth=2):
    """Any space that can be flattened."""
    kind = rng.integers(6 if depth else 4)
    if kind == 0:
        dtype = rng.choice(["float32", "float64", "float16", "int64", "uint8"])
        low, high = {"uint8": (0, 255), "int64": (-(1 << 60), 1 << 60)}.get(dtype, (-100, 100))
        return Box(low, high, tuple(rng.integers(1, 4, rng.integers(4)).tolist()), dtype)
    if kind == 1:
        return Discrete(int(rng.integers(1, 6)), start=int(rng.integers(-3, 4)))
    if kind == 2:
        counts = rng.integers(1, 5, rng.integers(1, 4, rng.integers(1, 3)))
        return MultiDiscrete(counts, start=rng.integers(-3, 4, counts.shape))
    if kind == 3:
        return MultiBinary(rng.integers(1, 4, rng.integers(1, 3)).tolist())
    parts = [a_space(rng, depth - 1) for _ in range(rng.integers(1, 4))]
    if kind == 4:
        return Tuple(parts)
    keys = ["b", 3, "a"] if rng.integers(2) else ["z", "y", "x"]
    return Dict(list(zip(keys, parts, strict=False)))  # a list of pairs keeps its order


def spec(space, **changes):
    """The Spec of a policy whose observations of ``space`` were flattened, as a file has it."""
    found = describe(space)
    values = dict(shape=[found.size], dtype="float32", discrete=True, action_count=2)
    values["space"] = asdict(found)
    return Spec.from_dict(json.loads(json.dumps(values | changes)))


def together(space, elements):
    """``elements`` as a vector environment gives them."""
    return concatenate(space, elements, create_empty_array(space, len(elements)))


@pytest.mark.parametrize("seed", range(60))
def test_vectors_are_gymnasiums(seed):
    """One observation, several, and none; numbers are rounded as in training."""
    space = a_space(np.random.default_rng(seed))
    space.seed(seed)
    elements, own = [space.sample() for _ in range(4)], spec(space)
    expected = np.stack([flatten(space, each) for each in elements]).astype(np.float32)
    for element, vector in zip(elements, expected, strict=True):
        found, one = own.rows(element)
        assert one and found.dtype == np.float32
        np.testing.assert_array_equal(found, vector[None])
    found, one = own.rows(together(space, elements))
    assert not one and found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)
    none, one = own.rows(create_empty_array(space, 0))
    assert not one and none.shape == (0, own.size)


def test_every_kind_was_flattened():
    """Each six times at least, also inside of others, with starts that are not 0."""
    seen = []
    for seed in range(60):
        found = [a_space(np.random.default_rng(seed))]
        while found:
            each = found.pop()
            seen.append((type(each).__name__, bool(np.any(getattr(each, "start", 0)))))
            if isinstance(each, (Dict, Tuple)):
                found += each.values() if isinstance(each, Dict) else each.spaces
    names = [name for name, _ in seen]
    assert min(map(names.count, {"Box", "MultiBinary", "Dict", "Tuple"})) >= 6
    assert min(map(seen.count, [("Discrete", True), ("MultiDiscrete", True)])) >= 6


GRID = Dict(at=Discrete(3, start=1), wind=Box(-1, 1, (2,)), more=Tuple([Discrete(2)] * 2))


def grid(at=1, wind=(0, 0), more=(0, 0)):
    return dict(at=at, wind=wind, more=more)


REFUSED = {
    "no dict": (GRID, 5, "must be a dict, not int"),
    "no key": (GRID, {"at": 1, "more": (0, 0)}, r"must have the keys .*, not \['at', 'more'\]"),
    "another key": (GRID, grid() | {"x": 1}, "must have the keys"),
    "a long tuple": (GRID, grid(more=(0, 0, 0)), r"\['more'\] must be a tuple of 2, not tuple"),
    "no tuple": (GRID, grid(more=0), r"\['more'\] must be a tuple of 2, not int"),
    "too high": (GRID, grid(at=4), r"\['at'\] must be in 1..3, not 4"),
    "too low": (GRID, grid(at=0), r"\['at'\] must be in 1..3, not 0"),
    "deep": (GRID, grid(more=(0, 2)), r"\['more'\]\[1\] must be in 0..1, not 2"),
    "a fraction": (GRID, grid(at=1.5), r"\['at'\] must be integers, not float64"),
    "a text": (GRID, grid(at="1"), "must be an array of numbers, not str"),
    "NaN": (GRID, grid(wind=(0, np.nan)), r"\['wind'\] must be finite"),
    "too large": (GRID, grid(wind=(0, 1e300)), r"must be numbers of float32, not 1e\+300"),
    "shape": (GRID, grid(wind=(0, 0, 0)), r"must have the shape \[2\], or \[n, 2\], not \[3\]"),
    "uneven": (GRID, grid(wind=[[0, 1], [0]]), "must be an array of numbers, not list"),
    "one and two": (GRID, grid(wind=np.zeros((2, 2))), "one observation or equally many in all"),
    "one and a list of one": (GRID, grid(wind=[[0, 0]]), r"not \[None, 1, None\]"),
    "two and three": (
        Dict(a=Discrete(2), b=Discrete(2)),
        dict(a=np.zeros(2, int), b=np.zeros(3, int)),
        r"equally many in all parts, not \[2, 3\]",
    ),
    "beyond": (Discrete(4), 4, "must be in 0..3, not 4"),
    "before": (Discrete(4), -1, "must be in 0..3, not -1"),
    "of many": (Discrete(4), np.array([0, 3, 9]), "must be in 0..3, not 9"),
    "as many as it has": (Discrete(3), np.array([0, 3, 1]), "must be in 0..2, not 3"),
    "second": (MultiDiscrete([9, 2]), [8, 8], "must be in 0..1, not 8"),
    "no byte": (Dict(a=Box(0, 255, (1,), np.uint8)), dict(a=[300]), "of uint8, not 300"),
    "half a byte": (Dict(a=Box(0, 255, (1,), np.uint8)), dict(a=[0.5]), "of uint8, not 0.5"),
    "a plane": (Box(-1, 1, (2, 2)), np.zeros((2, 3)), r"shape \[2, 2\], or \[n, 2, 2\], not"),
}


def test_keys_may_have_any_order():
    given = grid(at=2, wind=(0.5, -1), more=(1, 0))
    expected = flatten(GRID, given).tolist()
    for each in (given, dict(reversed(given.items()))):
        assert spec(GRID).rows(each)[0].tolist() == [expected]


@pytest.mark.parametrize("space, observation, words", REFUSED.values(), ids=REFUSED)
def test_what_an_environment_cannot_give(space, observation, words):
    with pytest.raises(ValueError, match=f"^observation.*{words}"):
        spec(space).rows(observation)


def test_bytes_as_they_are():
    """Of an image, what is no byte is refused, whatever type of numbers has it."""
    own = Spec(shape=(2, 2), dtype="uint8", discrete=True, action_count=2)
    image = np.array([[0, 255], [7, 1]])
    for same in (image, image.astype(np.uint8), image.astype(np.float32), image.tolist()):
        found, one = own.rows(same)
        assert one and found.dtype == np.uint8 and found[0].tolist() == image.tolist()
    for wrong in (image / 255, image - 1, image + 1):
        with pytest.raises(ValueError, match="^observation must be numbers of uint8, not "):
            own.rows(wrong)


def test_vectors_are_taken_too():
    """Where shape and type are not those of the environment's own observations."""
    eye = np.eye(4)
    states = spec(Discrete(4, start=5))
    for vectors, count in ((eye[2], 1), (eye[2:3], 1), (eye, 4), (eye.astype(int), 4)):
        found, one = states.rows(vectors)
        assert one == (vectors.ndim == 1) and found.shape == (count, 4)
        np.testing.assert_array_equal(found, np.atleast_2d(vectors))
    assert states.rows([5, 6, 7, 8])[0].tolist() == eye.tolist(), "four states, not a vector"
    parts = spec(Dict(a=Discrete(2), b=Box(-9, 9, (2,))))
    assert parts.rows([0, 1, 7, 8])[0].tolist() == [[0, 1, 7, 8]]
    plane = spec(Box(-9, 9, (2, 3)))
    assert plane.rows(range(6))[0].tolist() == plane.rows([range(6)])[0].tolist() == [[*range(6)]]
    row = spec(Box(-9, 9, (1, 3)))
    assert row.rows([[1, 2, 3]])[1] and not row.rows([[[1, 2, 3]]])[1]


@pytest.mark.parametrize(
    "space, words",
    [
        (Text(5), "^observations must be of a Box, .*, not of Text$"),
        (Graph(Box(-1, 1, (2,)), None), "not of Graph$"),
        (Sequence(Discrete(2)), "not of Sequence$"),
        (OneOf([Discrete(2), Box(-1, 1, (3,))]), "not of OneOf$"),
        (Dict(a=Discrete(2), b=Tuple([Text(3)])), r"^observations\['b'\]\[0\] must be of .* Text$"),
        (Dict(), r"^parts of a Dict must be one or more, not \(\)$"),
        (Dict([((1, 2), Discrete(2))]), r"^keys of a Dict must be texts .* not \(\(1, 2\),\)$"),
    ],
    ids=str,
)
def test_spaces_that_are_no_numbers(space, words):
    with pytest.raises(ValueError, match=words):
        describe(space)


LEAF = {"kind": "Box", "shape": [3], "dtype": "float32"}
ONE = {"kind": "Discrete", "shape": [], "dtype": "int64", "counts": [3], "starts": [0]}
HOSTILE = {
    "a text": "Box",
    "no kind": {},
    "another kind": LEAF | {"kind": "Graph"},
    "a list for a kind": LEAF | {"kind": ["Box"]},
    "another field": LEAF | {"colour": 1},
    "no shape": {"kind": "Box", "dtype": "float32"},
    "a negative side": LEAF | {"shape": [-3, -1]},
    "a huge side": LEAF | {"shape": [1 << 70]},
    "a fraction": LEAF | {"shape": [3.0]},
    "a flag": LEAF | {"shape": [3, True]},
    "objects": LEAF | {"dtype": "O"},
    "records": LEAF | {"dtype": "f4,f4"},
    "texts": LEAF | {"dtype": "S3"},
    "no dtype": LEAF | {"dtype": None},
    "no choice": ONE | {"counts": [0]},
    "few starts": ONE | {"starts": []},
    "more choices": ONE | {"counts": [3, 3], "starts": [0, 0]},
    "a start that is huge": ONE | {"starts": [1 << 80]},
    "a start that is a text": ONE | {"starts": ["0"]},
    "no parts": {"kind": "Tuple", "parts": []},
    "parts that are none": {"kind": "Tuple", "parts": 3},
    "parts that are texts": {"kind": "Tuple", "parts": ["Box"]},
    "a text for parts": {"kind": "Dict", "parts": "ab", "keys": ["a", "b"]},
    "a text for keys": {"kind": "Dict", "parts": [LEAF, ONE], "keys": "ab"},
    "no keys": {"kind": "Dict", "parts": [LEAF]},
    "few keys": {"kind": "Dict", "parts": [LEAF, ONE], "keys": ["a"]},
    "equal keys": {"kind": "Dict", "parts": [LEAF, ONE], "keys": ["a", "a"]},
    "lists for keys": {"kind": "Dict", "parts": [LEAF], "keys": [["a"]]},
    "keys of a tuple": {"kind": "Tuple", "parts": [LEAF], "keys": ["a"]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_descriptions_that_describe_nothing(name):
    """Of a stranger's file; these exceptions are the ones that ``load_policy`` words."""
    with pytest.raises((TypeError, ValueError)):
        read_space(HOSTILE[name])


@pytest.mark.parametrize(
    "changes",
    [
        dict(shape=[4]),
        dict(shape=[3, 1]),
        dict(shape=[0]),
        dict(shape="3"),
        dict(shape=[1 << 40], space=LEAF | {"shape": [1 << 20, 1 << 21]}),
        dict(dtype="float64"),
        dict(dtype="O"),
        dict(discrete=1),
        dict(action_count=0),
        dict(action_count=2.0),
        dict(exponent=5000),
        dict(start="0"),
        dict(low=["a"], high=[1.0]),
        dict(low=[0.0], high=[1.0, 2.0]),
        dict(low=[0.0], high=[1.0]),
        dict(action_dtype="O"),
        dict(space=[]),
        dict(space=ONE | {"counts": [4]}),
    ],
    ids=str,
)
def test_specs_that_no_policy_has(changes):
    assert spec(Discrete(3)).shape == (3,)
    with pytest.raises((TypeError, ValueError)):
        spec(Discrete(3), **changes)


def test_what_is_flattened():
    """All but vectors, and for algorithms with networks for images all but arrays."""
    vector, plane, number = (Box(-1, 1, shape) for shape in ((3,), (2, 3), ()))
    image, planes = Box(0, 255, (4, 4, 3), np.uint8), Box(0, 1, (4, 4), np.bool_)
    arrays, others = [plane, number, image, planes], [Discrete(3), MultiBinary(3), Tuple([vector])]
    for images in (False, True):
        assert not is_flattened(vector, images)
        assert all(is_flattened(each, images) != images for each in arrays)
        assert all(is_flattened(each, images) for each in others)
    ram = Box(0, 255, (4,), np.uint8)
    assert is_image(image) and is_image(planes)
    assert not any(map(is_image, (vector, plane, number, ram, Discrete(3), Tuple([image]))))


class Named(gymnasium.Env):
    observation_space, action_space = Dict(a=Discrete(2)), Discrete(2)


def test_the_space_is_found_within_other_wrappers():
    def make():
        return gymnasium.wrappers.TimeLimit(Flattened(Named()), 5)

    assert Spec.of(SyncVectorEnv([make])).space == describe(Named.observation_space)


def test_vector_environments_of_ones_own_must_have_arrays():
    with pytest.raises(ValueError, match=r"^envs must have arrays as observations \(a Box\), not"):
        Spec.of(SyncVectorEnv([Named]))
