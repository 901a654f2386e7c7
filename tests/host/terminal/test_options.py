"""host.terminal.options and unknown: values that stand behind options."""

import pytest

from host.settings import fields_of
from host.terminal.options import _value


def test_a_value_may_have_an_equals_sign():
    assert fields_of(["env=a=b", "seed="], capacity=None, fanout=4) == {
        "fanout": 4,
        "env": "a=b",
        "seed": "",
    }
    for text in ("=3", "seed", ""):
        with pytest.raises(ValueError, match=f"^--set must be FIELD=VALUE, not '{text}'$"):
            fields_of([text])


def test_what_an_unknown_option_was_given():
    """Another option behind it is no value of it."""
    assert _value("--gamma", ["--gamma", "0.9"]) == "0.9"
    assert _value("--gamma", ["--gamma=0.9", "--seed", "3"]) == "0.9"
    assert (
        _value("--gamma", ["--gamma", "--seed", "3"]) == _value("--gamma", ["--gamma"]) == "VALUE"
    )
