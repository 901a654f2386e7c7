"""``prove`` of ``formal.prove`` with a folder of the test's own below build/formal."""

import itertools
import re

import pytest
from formal import prove as proving

from system.tools import BUILD_DIRECTORY


@pytest.fixture
def prove(request):
    """``prove(top, engine=..., depth=..., seconds=...)``; what it left stays until the next run."""
    numbers = itertools.count(1)
    name = re.sub(r"\W+", "-", request.node.nodeid.partition("formal/")[2]).strip("-")

    def run(top, **options):
        folder = BUILD_DIRECTORY / "formal" / name / str(next(numbers))
        proving.prove(top, folder, **options)

    return run
