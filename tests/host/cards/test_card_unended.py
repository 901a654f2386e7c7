"""host.cards after a launch that did not end: nothing follows it, and load opens the card anew."""

import gc
import weakref
from itertools import product
from unittest.mock import Mock

import numpy as np
import pytest
from card.copy_kernel import breach, prepared
from marks import long_but

from host.cards import CardError, CardTimeout, open_card
from host.cards.kernel import GivenUp
from sim.card import xrt
from sim.card.memory import MemoryConfig
from tests.host.pyxrt_eras import pyxrt_of

pytestmark = pytest.mark.usefixtures("copy_twin")


#: Quick are both kinds of device and of context, and each end.
QUICK = [("timeout", "2021.2"), ("given up", "2026.1"), ("Ctrl-C", "2021.2")]
ERAS = ["2021.2", "2022.2", "2024.1", "2026.1"]


@pytest.mark.parametrize(
    "end, era", long_but(QUICK, [*product(["timeout", "given up", "Ctrl-C"], ERAS)])
)
def test_nothing_follows_a_launch_that_did_not_end(copy_path, monkeypatch, era, end):
    """XRT refuses it with other words, and what Python frees may be written still."""
    module = pyxrt_of(era, monkeypatch)
    with open_card("xrt:3") as card:
        kernel, data, arguments = prepared(card, copy_path)
        module.states = [3] * 1000
        error = {"timeout": CardTimeout, "given up": GivenUp, "Ctrl-C": KeyboardInterrupt}[end]
        with monkeypatch.context() as patch:
            if end != "timeout":
                check = Mock(side_effect=[None, None, error])
                patch.setattr(kernel.flight, "check", check)
            with pytest.raises(error):
                kernel.launch(timeout_s=0.01 if end == "timeout" else 60, **arguments)
        for _ in range(2):
            with pytest.raises(CardError, match="kernel copy must have ended .*load the kernel a"):
                kernel.launch(**arguments)
        # Its device too: XRT ends the commands of one that nothing holds.
        held = [arguments["results"], arguments["status"], kernel._run, card.device]
        held = [weakref.ref(each) for each in held]
        old = kernel
        del kernel, arguments
        module.states = []
        gc.collect()
        assert all(ref() is not None for ref in held) and len(module.devices) == 1

        # On a device or context of its own, and so is what follows.
        kernel, data, arguments = prepared(card, copy_path)
        assert len(module.devices) == 2 and card.device.index == 3
        assert card.device.real is module.devices[1] is not module.devices[0]
        kernel.launch(**arguments)
        assert (arguments["results"].read(np.uint32, 1024) == data).all()
        with pytest.raises(CardError, match="must be the one that its card loaded last"):
            old.launch(**arguments)
        card.load(copy_path)
        assert len(module.devices) == 2
    del old
    gc.collect()
    assert all(ref() is not None for ref in held)


def test_a_simulated_card_is_opened_anew(copy_path):
    memory = MemoryConfig(max_idle=2**31)
    with open_card("sim", memory=memory) as card:
        kernel, data, arguments = prepared(card, copy_path)
        stuck = {**arguments, "operands_bytes": arguments["operands_bytes"] + breach("no_done")}
        with pytest.raises(CardTimeout):
            kernel.launch(timeout_s=0.2, **stuck)
        first = card.device
        kernel, data, arguments = prepared(card, copy_path)
        assert card.device is not first and first._kernel is None
        kernel.launch(**arguments)
        assert (arguments["results"].read(np.uint32, 1024) == data).all()


def test_a_device_that_does_not_open_again(copy_path, monkeypatch):
    module = pyxrt_of("2022.2", monkeypatch)
    with open_card("xrt") as card:
        kernel, data, arguments = prepared(card, copy_path)
        module.states = [3] * 1000
        with pytest.raises(CardTimeout):
            kernel.launch(timeout_s=0.01, **arguments)
        module.states = []
        with monkeypatch.context() as patch:
            patch.setattr(xrt, "device", Mock(side_effect=RuntimeError("no such device")))
            with pytest.raises(RuntimeError, match="no such device"):
                card.load(copy_path)
        kernel, data, arguments = prepared(card, copy_path)
        kernel.launch(**arguments)
        assert (arguments["results"].read(np.uint32, 1024) == data).all()
