"""Ray, on loopback, started once for each of these files."""

import pytest

from host.actors.placement import ActorOptions, Actors, open_actors


@pytest.fixture(scope="module")  # a package without an __init__.py would last to the end
def transport():
    """A RayTransport with space for four actors, as a run of its own has it."""
    with open_actors(4, ActorOptions(start=120.0)) as actors:
        yield actors.transport


@pytest.fixture
def remote(transport):
    """``remote(**options)``: Actors in processes of their own."""
    return lambda **options: Actors(transport=transport, **options)
