"""Ray, started once in a process of the tests, on loopback and with two CPUs."""

import pytest

from host.actors.remote import RayTransport
from host.actors.session import Actors, ray_here


@pytest.fixture(scope="session")
def ray():
    """The module, initialized as a run of its own does it."""
    import os

    cores = len(os.sched_getaffinity(0))
    with ray_here(min(4, 4 * cores)):
        import ray

        yield ray


@pytest.fixture
def remote(ray):
    """``remote(**options)``: Actors in processes of their own."""
    return lambda **options: Actors(transport=RayTransport(), **options)
