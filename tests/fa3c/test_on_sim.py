"""``host.a3c.card_network`` on card ``sim``: rounds prepared while others run, the clocks of a
round, memory that stops answering during a round, and Ctrl-C. The launch ends with a reason, and
the card can be used again."""

import itertools
import signal
import threading

import numpy as np
import pytest
from fa3c.rounds import parameters_of, screens_of
from fa3c.test_kernel import WIDE
from replay.kernels import generate, opened

from host.a3c.card_network import ActorCritic, Infer, Sync, Train
from host.cards import CardError, CardTimeout, open_card
from sim.card.memory import CHANNELS, Fault, MemoryConfig

pytestmark = pytest.mark.long  # a kernel of its own is compiled

MASTERS = ("host", "global", "local0", "local1")
MAX_IDLE = 20_000  # more than a pass takes


def ready(kernel):
    """A network with a snapshot and a step of two agents."""
    network = ActorCritic(kernel)
    network.load(parameters_of(WIDE))
    network.run([Sync(snapshot=0), infer(0, (0, 1), 0)])
    return network


def infer(unit, agents, step, seed=0):
    screens = screens_of(WIDE, len(agents), seed)
    return Infer(unit=unit, snapshot=0, agents=agents, observations=screens, step=step)


def train(unit, agent):
    errors = np.random.default_rng(agent).standard_normal((1, WIDE.outputs))
    return Train(unit=unit, snapshot=0, agent=agent, errors=errors, rate=0.01)


def busy():
    """Moves data on every channel: all units work, and RMSProp."""
    return [train(1, 0), infer(0, (2, 3), 0, seed=1), train(2, 1), Sync(snapshot=1)]


def state_of(network):
    return {name: np.asarray(value) for name, value in network.state_dict().items()}


def side_by_side(card):
    """Outputs of two rounds, and what is left: both are prepared before either runs, and the second
    one while the first runs as well."""
    first, second = busy(), [infer(2, (4, 5, 6), 0, seed=2), infer(0, (2,), 1, seed=3)]
    with opened(card, WIDE) as kernel:
        network = ready(kernel)
        rounds, outputs = [network.prepare(first), network.prepare(second)], []
        thread = threading.Thread(target=lambda: outputs.extend(network.run(rounds[0])))
        thread.start()
        np.testing.assert_array_equal(network.prepare(second).operands, rounds[1].operands)
        thread.join(60)
        outputs.extend(network.run(rounds[1]))
        return [each for each in outputs if each is not None], state_of(network)


def test_two_rounds_side_by_side():
    """Of which neither has anything of the other: the cards agree, and run one after the other."""
    (sim, sim_state), (model, model_state) = side_by_side("sim"), side_by_side("model")
    assert [len(each) for each in sim] == [2, 3, 1]
    for got, wanted in zip(sim, model, strict=True):
        np.testing.assert_array_equal(got, wanted)
    for name, wanted in model_state.items():
        np.testing.assert_array_equal(sim_state[name], wanted)


def test_clocks_of_a_round():
    """Of the last one that was executed: 0 for who had nothing to do, else its last task's end."""
    with opened("sim", WIDE) as kernel:
        network = ready(kernel)

        def clocks(tasks):
            before = network.device_cycles
            network.run(tasks)
            status, launch = network.status, network.device_cycles - before
            whole, update = int(status["round_cycles"]), int(status["update_cycles"])
            units = [int(each) for each in status["unit_cycles"]]
            assert max(update, *units) <= whole < launch < whole + 500
            return whole, update, units

        whole, update, units = clocks([Sync(snapshot=1)])
        assert units == [0, 0, 0, 0] and update > whole / 2
        one, update, units = clocks([infer(2, (4,), None)])
        assert update == 0 and units[2] > one / 2 and units == [0, 0, units[2], 0]
        two, _, units = clocks([infer(2, (4,), None), infer(0, (5,), None)])
        assert abs(units[2] - units[0]) < 200 and two < 1.5 * one
        _, update, units = clocks([train(1, 0)])
        assert update > units[1] > 0 and units == [0, units[1], 0, 0]
        before = bytes(network.status)
        with pytest.raises(ValueError, match="step"):
            network.run([infer(0, (6,), 1)])
        assert bytes(network.status) == before


@pytest.fixture(scope="module")
def clocks():
    """When the ROUND ``busy`` begins, in clocks from reset on, and how many it has."""
    with opened("sim", WIDE) as kernel:
        network = ready(kernel)
        begin = network.device_cycles
        network.run(busy())
        return begin, int(network.status["round_cycles"])


def stuck(master, channel, cycle, max_idle=MAX_IDLE):
    fault = Fault(master=f"m_axi_{master}", channel=channel, cycle=cycle)
    return MemoryConfig(faults=(fault,), max_idle=max_idle)


QUICK = {("host", "B"), ("global", "W"), ("local0", "R"), ("local1", "AW")}


@pytest.mark.parametrize(
    "master, channel",
    [
        pytest.param(m, c, marks=() if (m, c) in QUICK else pytest.mark.long)
        for m in MASTERS
        for c in CHANNELS
    ],
)
def test_stuck_channel_is_named(clocks, master, channel):
    """The launch ends after a bounded time, and the message has the channel's name. No other launch
    follows on this kernel; one that is loaded anew works."""
    begin, length = clocks
    assert length > 1000
    with opened("sim", WIDE, memory=stuck(master, channel, begin + 400)) as kernel:
        network = ready(kernel)
        with pytest.raises(CardTimeout, match=f"m_axi_{master} {channel} stands still"):
            network.run(busy())
        with pytest.raises(CardError, match="kernel a3c must have ended its last launch"):
            network.run(busy())


@pytest.fixture
def interrupts():
    """SIGINT is KeyboardInterrupt, also where this process was begun in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_interrupt(clocks, monkeypatch):
    """Ctrl-C in the middle of a ROUND: what it leaves is not read, and the kernel is loaded anew,
    with nothing in it."""
    memory = stuck("global", "W", clocks[0] + 400, max_idle=2**31)
    with open_card("sim", memory=memory) as card:
        kernel = card.load(generate(WIDE))
        network = ready(kernel)
        before, turns = state_of(network), itertools.count()

        def check():
            if next(turns) == 2:  # it has been waited for
                signal.raise_signal(signal.SIGINT)

        with monkeypatch.context() as patched:
            patched.setattr(kernel.flight, "check", check)
            with pytest.raises(KeyboardInterrupt):
                network.run(busy())
        for call in (network.parameters, lambda: network.run(busy())):
            with pytest.raises(CardError, match="kernel a3c must have ended its last launch"):
                call()
        anew = ActorCritic(card.load(generate(WIDE)))
        assert anew.status["loaded"] == anew.status["synced"] == 0
        with pytest.raises(ValueError, match="parameters must be loaded first"):
            anew.run([Sync(snapshot=0)])
        anew.load_state_dict(before)
        anew.run([Sync(snapshot=0), infer(0, (0, 1), 0)])
        for name, wanted in state_of(anew).items():
            np.testing.assert_array_equal(wanted, before[name])
        with pytest.raises(CardError, match="the one that its card loaded last"):
            network.parameters()
