"""What does not fit a board is refused with what would, and that does. user D12"""

import re

import pytest

import boards
from host.kernels import configure
from hw.designs import DESIGNS

#: design -> settings, each of which asks for more than some boards have.
_LARGE = {
    "replay": [{"capacity": "16777216"}, {"capacity": "1048576", "fanout": "64"}],
    "gae": [{"rows": "256"}, {"gae.depth": "60000"}, {"rows": "256", "gae.depth": "60000"}],
    "dqn": [{"multipliers": "512"}, {"lanes": "8", "multipliers": "256", "capacity": "1048576"}],
    "ddpg": [{"hidden": "512,512"}, {"lanes": "8", "multipliers": "256", "hidden": "256,256"}],
    "fixar": [{"cores": "7"}, {"cores": "7", "hidden": "400,400", "side": "16", "batch": "1024"}],
    "a3c": [{"lanes": "16"}, {"lanes": "16", "rms_units": "16", "units": "any,any,any,any"}],
}
_LARGE["td3"] = _LARGE["ddpg"]


def texts(values):
    return {name: str(value) for name, value in values.items()}


def refusal(design, board, values):
    try:
        configure(DESIGNS[design], boards.get(board), values)
    except boards.DoesNotFit as error:
        return str(error)
    return None


@pytest.mark.parametrize("board", boards.BOARDS)
@pytest.mark.parametrize("design", DESIGNS)
def test_what_is_said_to_fit_does(design, board):
    """Each change by itself; or several together; or the board's default, or nothing known."""
    title = boards.get(board).title
    for values in ({}, *_LARGE[design]):
        message = refusal(design, board, values)
        if message is None:
            continue
        first, *hints = message.split("; ")
        assert " must be at most " in first and hints, message
        for hint in hints:
            if hint == f"nothing smaller of {design} is known that fits {title}":
                assert refusal(design, board, {}) and len(hints) == 1
            elif hint == f"the default of {design} on {title} fits":
                assert refusal(design, board, {}) is None
            else:
                changes = re.split(r", (?=[a-z])", hint.removesuffix(" fits"))
                smaller = dict(change.split(" ", 1) for change in changes)
                present = {name: value for name, value in values.items() if name not in smaller}
                assert refusal(design, board, present | smaller) is None, hint


def test_no_buffer_of_another_name():
    """The buffer, its bank and what counts; no item of one byte, no capacity that is none."""
    message = refusal("gae", "ulx3s", {"rows": "8", "gae.depth": "60000"})
    assert message.startswith("slots must be at most ")
    assert re.search(
        r"\(buffer operands in bank BRAM\[0\] of 131072 bytes, \d+ bytes each\)", message
    )
    message = refusal("a3c", "ulx3s", {"agents": "256", "steps": "16"})
    assert message.startswith("bytes of rollouts must be at most ")
    assert re.search(r"\(buffer local0 in bank BRAM\[1\] of \d+ bytes\), not \d+;", message)
