"""Ray, on loopback, started once for each of these files."""

import pytest

from host.actors.placement import Actors, ray_here
from host.actors.ray_transport import RayTransport


@pytest.fixture(scope="module")  # a package without an __init__.py would last to the end
def ray():
    """The module, initialized as a run of its own does it. Runs of other tests may start it too,
    before and after."""
    with ray_here(4):
        import ray

        yield ray


@pytest.fixture
def remote(ray):
    """``remote(**options)``: Actors in processes of their own."""
    return lambda **options: Actors(transport=RayTransport(), **options)
