"""Every limit, footprint and rule of the small design: the last that is right, the first that is
not. Written by hand from what the commands' documents say, not from their tables."""

import numpy as np
import pytest
from design.adder_programs import AdderProgram, Rig, kernel_config, status_of
from design.lines import register
from programs import BLANK
from replay.kernels import opened

#: Beats of 16 bytes everywhere; vectors of at most 1000 numbers.
CONFIG = kernel_config(128, 128)
NONE, RESULTS, COUNT, FIELD, BUFFER, BIAS = 0, 3, 5, 6, 7, 16

#: what -> (numbers, fields, bytes behind the fields, sizes, error, detail). Nine numbers are 36
#: bytes, which are three beats, 48 bytes.
CASES = {
    "one number": (1, {}, {}, {}, NONE, 0),
    "no number": (1, {"count": 0}, {}, {}, COUNT, 0),
    "the most numbers": (1000, {}, {}, {}, NONE, 0),
    "more": (1000, {"count": 1001}, {}, {"x_bytes": 4096, "y_bytes": 4096}, COUNT, 0),
    "cut to 16 bits": (1, {"count": 1 + (1 << 16)}, {}, {}, COUNT, 0),
    "source": (9, {"source": 1}, {}, {}, FIELD, 8),
    "the first byte behind": (9, {}, {24: 1}, {}, FIELD, 24),
    "the last byte behind": (9, {}, {63: 128}, {}, FIELD, 24),
    "all of x": (9, {}, {}, {"x_bytes": 48}, NONE, 0),
    "a beat of x is cut": (9, {}, {}, {"x_bytes": 47}, BUFFER, 0),
    "the end of x": (9, {"x": 64}, {}, {"x_bytes": 112}, NONE, 0),
    "behind x": (9, {"x": 64}, {}, {"x_bytes": 111}, BUFFER, 0),
    "x beside a multiple of 64": (9, {"x": 16}, {}, {"x_bytes": 4096}, BUFFER, 0),
    "far behind x": (9, {"x": (1 << 32) - 64}, {}, {}, BUFFER, 0),
    "all of y": (9, {}, {}, {"y_bytes": 48}, NONE, 0),
    "a beat of y is cut": (9, {}, {}, {"y_bytes": 47}, BUFFER, 0),
    "y beside a multiple of 64": (9, {"y": 32}, {}, {"y_bytes": 4096}, BUFFER, 0),
    "all of the results": (9, {}, {}, {"results_bytes": 48}, NONE, 0),
    "a beat of the results is cut": (9, {}, {}, {"results_bytes": 47}, RESULTS, 0),
    "behind the results": (9, {"destination": 64}, {}, {"results_bytes": 111}, RESULTS, 0),
    "results beside a multiple": (9, {"destination": 4}, {}, {"results_bytes": 64}, RESULTS, 0),
    "no room at all": (1, {}, {}, {"x_bytes": 0}, BUFFER, 0),
}


def run(rig, program, sizes=None):
    """``(executed, error, detail)``, the design's status, and what lies in results."""
    launch = program.launch()
    launch.sizes.update(sizes or {})
    launch.results_bytes = launch.sizes.pop("results_bytes", launch.results_bytes)
    out = rig.run(launch)
    shell, own = status_of(out["status"])
    outcome = tuple(int(shell[name]) for name in ("executed", "error", "error_detail"))
    return outcome, own, out["results"]


@pytest.fixture(scope="module", params=["model", "sim"])
def kernel(request):
    with pytest.MonkeyPatch.context() as patch:
        register(patch.setitem)
        with opened(request.param, CONFIG) as kernel:
            yield kernel


@pytest.mark.parametrize("card", ["model", "sim"])
def test_no_sum_before_a_bias(card):
    """The first after the kernel was loaded; from then on there is one."""
    bias, add = AdderProgram(CONFIG), AdderProgram(CONFIG)
    bias.bias(0)
    add.add([1], [2])
    with opened(card, CONFIG) as kernel:
        rig = Rig(kernel)
        outcome, own, results = run(rig, add)
        assert outcome == (0, BIAS, 0) and own["given"] == 0
        assert (results == BLANK).all()
        assert run(rig, bias)[0] == (1, NONE, 0)
        assert run(rig, add)[0] == (1, NONE, 0)


@pytest.mark.parametrize("case", CASES)
def test_add(kernel, case):
    numbers, fields, behind, sizes, error, detail = CASES[case]
    program = AdderProgram(CONFIG)
    program.bias(1)
    program.add(np.arange(numbers), np.arange(numbers), **fields)
    for place, byte in behind.items():
        program.last[place] = byte
    outcome, own, results = run(Rig(kernel), program, sizes)
    assert outcome == (1 if error else 2, error, detail)
    assert own["given"] == 1
    assert (results == BLANK).all() == bool(error), "a refused command writes nothing"


@pytest.mark.parametrize(
    "fields, behind, detail",
    [({"count": 1}, {}, 4), ({"source": 64}, {}, 8), ({"destination": 64}, {}, 12)]
    + [({}, {20: 1}, 20), ({}, {63: 1}, 20)],
)
def test_bias(kernel, fields, behind, detail):
    program = AdderProgram(CONFIG)
    program.bias(0xFFFF_FFFF)
    program.bias(8, **fields)
    for place, byte in behind.items():
        program.last[place] = byte
    outcome, own, _ = run(Rig(kernel), program)
    assert outcome == (1, FIELD, detail) and own["bias"] == 0xFFFF_FFFF
