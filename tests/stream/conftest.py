"""Runs words through a unit; what the units of this folder share."""

import json

import pytest


@pytest.fixture
def run(simulate, tmp_path):
    """``run(dut, (inputs, expected))``: the words go through a file, too many for a variable.

    ``clocks``: of each output when nothing pauses, or None. ``gaps``: pauses of sources and of the
    sink, one pair after the other.
    """

    def run(dut, words, *, clocks=None, gaps=((0, 0),)):
        path = tmp_path / "words.json"
        path.write_text(json.dumps(dict(zip(("inputs", "expected"), words, strict=True))))
        simulate(dut, "stream.unit_bench", words=str(path), clocks=clocks, seed=1, gaps=gaps)

    return run
