"""Where the CPU's gradient steps run: an unknown device is refused at once, and what a device other
than the policy's memory has learned comes back to the policy.

It is a GPU where torch sees one: see ``tests.host.other_device``.
"""

import numpy as np
import pytest
from fake_replay import FakeReplay

from host.algorithms.autodiff import check_device
from host.runs.assembly import build
from host.runs.blas_threads import single_threaded
from host.runs.replay_runs import OffPolicyConfig
from host.runs.rollout_runs import OnPolicyConfig
from tests.host.experience import kind_of
from tests.host.other_device import OTHER, assert_as_on_the_cpu
from tests.host.short_runs import *
from tests.host.short_training import small
from tests.host.strokes import NAME as STROKES


@pytest.fixture(autouse=True)
def one_thread():
    """More wait for one another on small networks, and for other tests."""
    with single_threaded(with_torch=True):
        yield


#: none of them is anywhere
ABSENT = ["cuda:99", "gpu", "meta", "", None]


@pytest.mark.parametrize("name", ABSENT)
def test_devices_that_are_not_there(name):
    with pytest.raises(ValueError) as caught:
        check_device(name)
    words = f"device must be cpu, or another that torch has here, not {name!r} ("
    assert str(caught.value).startswith(words) and "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    check_device("cpu")


def test_it_is_said_before_a_kernel_is_made(options, tmp_path):
    """As a line, and not after minutes of Verilator."""
    with pytest.raises(ValueError, match=r"^device must be cpu, or .*, not 'gpu' \("):
        start(**{**options, "settings": SMALL | {"device": "gpu"}})
    assert not (tmp_path / "build").exists() and not (tmp_path / "run").exists()


def test_a_session_of_ones_own_is_told_too():
    with pytest.raises(ValueError, match="^device must be cpu, or .*, not 'gpu'"):
        build(small(device="gpu"), FakeReplay)


def config_of(algo, device):
    agent, run = dict(hidden=[8], batch_size=16), dict(algo=algo, device=device, env_count=2)
    if algo == "dqn on images":
        run |= dict(algo="dqn", env=STROKES)
    if algo == "ppo":
        return OnPolicyConfig.from_dict(run | dict(steps_per_launch=16, agent=agent))
    run |= dict(capacity=100, learning_starts=20, agent=agent)
    run |= {"env": "Pendulum-v1"} if algo in ("td3", "sac") else {}
    return OffPolicyConfig.from_dict(run)


def session_of(algo, device):
    config = config_of(algo, device)
    return build(config, kind_of(config.algorithm).factory)


def copies(session):
    """Each of the policy's parameters, before they are changed."""
    return {name: array.copy() for name, array in session.policy.parameters.items()}


@pytest.mark.parametrize("algo", ["dqn", "dqn on images", "td3", "sac", "ppo"])
def test_the_policy_gets_what_was_learned_elsewhere(algo):
    """The same numbers as in its own memory, after every launch and after a resumption."""
    here, there = session_of(algo, "cpu"), session_of(algo, OTHER)
    first, launches = copies(here), 2 if algo == "ppo" else 15

    def go_on(*sessions):
        for _ in range(launches):
            for session in sessions:
                session.iterate()
            for name, array in sessions[0].policy.parameters.items():
                assert_as_on_the_cpu(sessions[1].policy.parameters[name], array)

    go_on(here, there)
    for session, shared in ((here, True), (there, False)):
        for trained in session.learner.updater.networks.values():
            tensor = trained.parameters.detach().cpu().numpy()
            assert np.shares_memory(tensor, trained.network.parameters) == shared
    assert here.clock.updates > 0
    for name, array in here.policy.parameters.items():
        assert not np.array_equal(array, first[name]), "it has learned"
    again = [session_of(algo, device) for device in ("cpu", OTHER)]
    for session in again:
        session.load_state_dict(there.state_dict())
    go_on(*again)
    for session in (here, there, *again):
        session.close()
