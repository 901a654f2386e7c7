"""hw.errors: an error that is meant for users is told from a bug by its class."""

import ast

import pytest
from test_architecture import ARROWS, ROOT, files

from boards import DoesNotFit
from boards.bitstream import BuildFailed
from host.a3c.card_network import NotFinite
from host.cards import CapacityError, CardError
from host.checkpoint import CheckpointError
from host.programs.launcher import CommandError
from hw.errors import Failure, MissingTool, RlfabricError, UsageError
from system.cache import Unwritable
from system.lock import Held
from system.processes import BuildError


def bare(source):
    """Lines of ``source`` that raise what nobody could tell from a bug."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func)
            if name in ("ValueError", "Exception"):
                yield f"line {node.lineno}: {name}"


def test_no_source_raises_a_plain_error():
    """host 14: what is raised on purpose is of a class of ours; UsageError is a ValueError."""
    found = {
        str(path.relative_to(ROOT)): bad
        for path in files(*ARROWS)
        if (bad := list(bare(path.read_text())))
    }
    assert not found


def test_the_check_itself():
    assert list(bare("raise ValueError('x')\nraise UsageError('x')")) == ["line 1: ValueError"]


@pytest.mark.parametrize(
    "kind, builtin",
    [
        *((each, ValueError) for each in (CapacityError, CheckpointError, DoesNotFit, UsageError)),
        *((each, RuntimeError) for each in (BuildError, BuildFailed, CardError, CommandError)),
        *((each, RuntimeError) for each in (Failure, Held, MissingTool)),
        (NotFinite, FloatingPointError),
        (Unwritable, OSError),
    ],
)
def test_users_catch_what_they_caught(kind, builtin):
    assert issubclass(kind, RlfabricError) and issubclass(kind, builtin)
