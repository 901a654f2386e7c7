"""What ``host.a3c.card_network`` refuses, and what it says when memory fails."""

import numpy as np
import pytest
from fa3c.modelled import opened
from fa3c.networks import network
from fa3c.rounds import CONFIG, infer, parameters_of, screens_of, train

from host.a3c.card_network import ActorCritic, Broken, RoundLaunch, Sync
from host.a3c.parameter_image import to_image
from host.programs.launcher import CommandError
from hw.fa3c.commands import Opcode
from hw.fa3c.records import Error


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda p: p.pop("layer0.bias"), "parameters must be layer0.weight, layer0.bias, .*, not"),
        (lambda p: p.clear(), "not none"),
        (
            lambda p: p.update({"layer0.weight": np.zeros((5, 3, 3, 2))}),
            r"layer0.weight must be of shape \[5, 3, 3, 3\], not \[5, 3, 3, 2\]",
        ),
        (
            lambda p: p["layer1.bias"].__setitem__(3, np.nan),
            "layer1.bias must be finite, not infinite or NaN",
        ),
    ],
)
def test_parameters_that_are_not_the_networks(card, change, text):
    parameters = parameters_of(CONFIG)
    change(parameters)
    with pytest.raises(ValueError, match=text):
        card.load(parameters)
    np.testing.assert_array_equal(
        card.parameters()["layer0.weight"], parameters_of(CONFIG)["layer0.weight"]
    )


@pytest.mark.parametrize(
    "fields, text",
    [
        (dict(convolutions=((16, 9, 1),)), "layer 0 must have an output, not a kernel larger than"),
        (
            dict(parameter_rows=64, channels=64),
            r"layer 0: rows of parameters must be .*\(parameter",
        ),
        (dict(units=("infer",)), "units must have one that can train, not"),
    ],
)
def test_a_network_that_does_not_fit(fields, text):
    with pytest.raises(ValueError, match=text):
        network(**fields)


# -- what is refused


BAD_FIELDS = [
    ([], "tasks must be 1 to 6, not 0"),
    ([Sync(snapshot=0)] * 7, "tasks must be 1 to 6, not 7"),
    (["sync"], "task 0 must be an Infer, a Train or a Sync, not 'sync'"),
    ([infer([0], 0, unit=1)], r"task 0: unit must be of \[0\], whose role is infer or any, not 1"),
    ([train(0, 1, unit=0)], r"task 0: unit must be of \[1\], whose role is train or any, not 0"),
    ([infer([0], 0, snapshot=2)], r"task 0: snapshot must be an integer in 0\.\.1, not 2"),
    ([Sync(snapshot=-1)], r"task 0: snapshot must be an integer in 0\.\.1, not -1"),
    ([infer([0], 3)], r"task 0: step must be an integer in 0\.\.2, not 3"),
    ([infer([0], 0.0)], r"task 0: step must be an integer in 0\.\.2, not 0.0"),
    ([infer([3], 0)], r"task 0: agents must be an integer in 0\.\.2, not 3"),
    ([infer([0, 1, 2], 0)], "task 0: agents must be 1 to 2 numbers, not 3"),
    ([infer([], 0)], "task 0: agents must be 1 to 2 numbers, not 0"),
    ([train(3, 1)], r"task 0: agent must be an integer in 0\.\.2, not 3"),
    (
        [infer([0], 0), infer([1], 0, observations=screens_of(CONFIG, 2))],
        r"task 1: observations must be uint8 of shape \[1, 7, 6, 3\] .*, not uint8 \[2, 7, 6, 3\]",
    ),
    (
        [infer([0], 0, observations=screens_of(CONFIG, 1).astype(np.float32))],
        r"task 0: observations must be uint8 of shape .*, not float32 \[1, 7, 6, 3\]",
    ),
    ([infer([0], 0, observations=[[0]])], r"task 0: observations .*, not None \[1, 1\]"),
    ([train(0, 4)], "task 0: errors must be of at most 3 steps, not 4"),
    ([train(0, 0)], r"task 0: errors must be of shape \[steps, 4\], not \[0, 4\]"),
    ([train(0, 1, errors=np.zeros((1, 5)))], r"errors must be of shape .*, not \[1, 5\]"),
    (
        [infer([0], 0), train(2, 1, errors=[[0, 0, 0, 0], [0, np.nan, 0, np.inf]])],
        r"task 1: errors of agent 2 must be finite, not nan \(step 1, output 1\)",
    ),
    ([train(1, 1, errors=[[0, 0, 0, 1e39]])], "errors of agent 1 must be finite, not inf"),
    ([train(0, 1, rate=np.nan)], "task 0: rate must be finite and at least 0, not nan"),
    ([train(0, 1, rate=-1.0)], "task 0: rate must be finite and at least 0, not -1.0"),
    ([train(0, 1, rate=1e39)], r"task 0: rate must be finite and at least 0, not 1e\+39"),
    ([train(0, 1, decay=1.5)], r"task 0: decay must be in 0\.\.1, not 1.5"),
    ([train(0, 1, rate="fast")], "task 0: rate must be a number, not 'fast'"),
    ([train(0, 1, decay=None)], r"task 0: decay must be in 0\.\.1, not None"),
    ([train(0, 1, decay=-0.0)], r"task 0: decay must be in 0\.\.1, not -0.0"),
    # 1 as a word, and 1 less it is negative.
    ([train(0, 1, decay=1 + 1e-9)], r"task 0: gain must be in 0\.\.1, not -1"),
    ([train(0, 1, epsilon=0.0)], "task 0: epsilon must be finite and at least 1.175e-38, not 0.0"),
    ([train(0, 1, epsilon=1e-39)], "task 0: epsilon must be finite and at least 1.175e-38, not"),
    ([train(0, 1, epsilon=np.inf)], "task 0: epsilon must be finite and at least 1.175e-38, not"),
    # Tasks that contradict each other.
    ([Sync(snapshot=1)] * 2, "task 1: snapshot must be made once in a round, not 1, as in task 0"),
    (
        [infer([0], 0), Sync(snapshot=0)],
        "task 1: snapshot must be made before its use in a round, not 0, as in task 0",
    ),
    (
        [Sync(snapshot=0), train(0, 1)],
        "task 1: snapshot must be one that the round does not make anew, not 0, as in task 0",
    ),
    (
        [infer([0], 0), infer([1], 0), train(0, 1)],
        "task 2: agent must be named once in a round, not 0, as in task 0",
    ),
    ([infer([1, 1], 0)], "task 0: agent must be named once in a round, not 1, as in task 0"),
    # Those that only the card knows of.
    (
        [infer([1], None), infer([0], 1)],
        "task 1, Infer of agent 0, must be right after what was before, not step: INFER of step k",
    ),
    ([train(2, 1)], "task 0, Train of agent 2, must .*, not step: .*nothing was started"),
    (
        [infer([0, 1], 0, snapshot=1)],
        "task 0, Infer of agents 0, 1, must be right after what was before, not snapshot: the",
    ),
]


@pytest.mark.parametrize("tasks, text", BAD_FIELDS)
def test_bad_rounds(card, tasks, text):
    """The card is as it was, and works on."""
    before = card.state_dict()
    with pytest.raises(ValueError, match=text):
        card.run(tasks)
    card.run([infer([0], 0)])
    assert card.status["rounds"] == 2
    for name, value in card.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_what_must_be_loaded_first():
    with opened(CONFIG) as kernel:
        card = ActorCritic(kernel)
        calls = (lambda: card.run([Sync(snapshot=0)]), card.parameters, card.state_dict)
        for _ in range(2):
            for call in calls:
                with pytest.raises(ValueError, match="parameters must be loaded first"):
                    call()
            # Half of them is as good as nothing: a load that memory has failed.
            image = to_image(CONFIG, parameters_of(CONFIG))
            card.launcher.run([(Opcode.LOAD, {"image": 0})], [(0, image)])
            assert card.status["loaded"] == 1


@pytest.mark.parametrize("tasks, lost", [([infer([0], 0)], False), ([train(0, 1)], True)])
def test_memory_that_fails(card, monkeypatch, tasks, lost):
    """A round that trained leaves neither theta nor g, and says what to do about it."""
    state, launcher = card.state_dict(), card.launcher

    def fail(program, operands=(), results_bytes=0):
        command = launcher.design.commands[program[0][0]]
        raise CommandError(Error.AXI, launcher.design.errors, 0, 0, command.name, command.doc)

    with monkeypatch.context() as patched:
        patched.setattr(launcher, "run", fail)
        with pytest.raises(Broken if lost else CommandError, match="rollouts") as caught:
            card.run(tasks)
    if lost:
        assert "take up the last checkpoint" in str(caught.value)
        for call in (card.parameters, card.state_dict, lambda: card.run([Sync(snapshot=0)])):
            with pytest.raises(Broken):
                call()
        with monkeypatch.context() as patched:  # tests H8: a cure that fails too is none
            patched.setattr(launcher, "run", fail)
            with pytest.raises(CommandError):
                card.load_state_dict(state)
        with pytest.raises(Broken):
            card.parameters()
    card.load_state_dict(state)
    card.run([Sync(snapshot=0)])


def test_one_kernel_has_one_user(card):
    kernel = card.launcher.kernel
    with pytest.raises(ValueError, match="kernel must be free"):
        ActorCritic(kernel)
    other = ActorCritic(kernel, takeover=True)
    with pytest.raises(RuntimeError, match="must have the kernel's state"):
        card.run([Sync(snapshot=0)])
    other.close()
    ActorCritic(kernel).load(parameters_of(CONFIG))


def test_a_round_of_as_many_tasks_as_the_kernel_takes():
    assert len(RoundLaunch(network(tasks=2), [Sync(snapshot=0), Sync(snapshot=1)]).tasks) == 2


def test_a_round_of_another_config(card):
    other = network(agents=4)
    with pytest.raises(ValueError, match="tasks must be a round of this kernel's config"):
        card.run(RoundLaunch(other, [Sync(snapshot=0)]))
    card.run([Sync(snapshot=0)])
