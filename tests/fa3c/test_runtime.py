"""``host.a3c.card_network`` on card ``model``: numbers in and out, and rounds."""

import threading

import numpy as np
import pytest
from fa3c.modelled import opened
from fa3c.networks import NETWORKS, network
from fa3c.rounds import CONFIG, infer, parameters_of, screens_of, train

from host.a3c.card_network import ActorCritic, Infer, RoundLaunch, Sync
from host.a3c.parameter_image import from_image, observation_rows, to_image
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.rows import ROW

each_network = pytest.mark.parametrize("config", NETWORKS.values(), ids=NETWORKS)


# -- numbers


@each_network
def test_every_parameter_has_its_place(config):
    """By hand: row k of group o // 16 has in word o % 16 the weight of output o for input k."""
    parameters = parameters_of(config)
    image = to_image(config, parameters).view(np.float32)
    back = from_image(config, image)
    seen, inputs, held = np.zeros(image.shape, bool), config.channels, config.in_channels
    size = config.height, config.width
    for number, layer in enumerate(config.layers):
        weight, bias = (parameters[f"layer{number}.{kind}"] for kind in ("weight", "bias"))
        np.testing.assert_array_equal(back[f"layer{number}.weight"], weight)
        np.testing.assert_array_equal(back[f"layer{number}.bias"], bias)
        if layer.convolution:
            area = (layer.kernel, layer.kernel)
            assert weight.shape == (layer.filters, inputs, *area)
        else:
            area = size
            assert weight.shape == (layer.filters, inputs * area[0] * area[1])
        weight = weight.reshape(layer.filters, inputs, *area)
        for o, c, y, x in np.ndindex(weight.shape):
            row = config.parameter_bases[number] + o // ROW * layer.group_rows
            k = (y * area[1] + x) * held + c
            assert image[row + k, o % ROW] == weight[o, c, y, x]
            assert image[row + layer.depth, o % ROW] == bias[o]
            seen[row + k, o % ROW] = seen[row + layer.depth, o % ROW] = True
        inputs, held = layer.filters, layer.out_channels
        size = (layer.out_height, layer.out_width)
    assert not image[~seen].any() and seen.sum() == sum(x.size for x in parameters.values())


@each_network
def test_every_pixel_has_its_place(config):
    """What is left out is what no tap reaches; all else that is not a pixel is 0."""
    screens, layer = screens_of(config, 2) + 1, config.layers[0]
    kind = np.float32 if config.binary32 else np.uint8
    rows = observation_rows(config, screens).view(kind).reshape(2, layer.in_height, -1)
    wanted = np.zeros_like(rows)
    for b, y, x, c in np.ndindex(screens.shape):
        if not layer.convolution:
            wanted[b, 0, (y * config.width + x) * config.in_channels + c] = screens[b, y, x, c]
        elif y < layer.in_height and x < layer.in_width:
            wanted[b, y, x * config.in_channels + c] = screens[b, y, x, c]
    np.testing.assert_array_equal(rows, wanted)


# -- rounds


def test_outputs_are_those_of_the_tasks(card):
    """An agent's outputs are its own, whoever is beside it, and whatever is asked before."""
    screens = screens_of(CONFIG, 3)
    one, two = card.run(
        [infer([2], 0, observations=screens[2:]), infer([0, 1], 0, observations=screens[:2])]
    )
    assert (one.shape, two.shape, one.dtype) == ((1, 4), (2, 4), np.float32)
    assert one.flags.writeable and one.base is None, "the caller's own"
    again, trained, synced, last = card.run(
        [
            infer([2], None, observations=screens[2:]),
            train(0, 1),
            Sync(snapshot=1),
            infer([1], None, observations=screens[1:2], snapshot=1),
        ]
    )
    assert trained is None and synced is None
    np.testing.assert_array_equal(again, one)
    np.testing.assert_array_equal(
        card.run([infer([1, 2], None, observations=screens[1:])])[0], [two[1], one[0]]
    )
    assert (last != two[1]).any()  # by what was learned
    assert card.status["tasks"] == 8 and card.device_cycles is None


def test_load_clears_the_moments_unless_they_are_given(card):
    card.run([infer([0], 0)])
    card.run([train(0, 1, rate=0.0)])
    squares = card.squares()
    assert squares["layer2.bias"].all()
    np.testing.assert_array_equal(
        card.parameters()["layer2.bias"], parameters_of(CONFIG)["layer2.bias"]
    )
    card.load(parameters_of(CONFIG), squares)
    np.testing.assert_array_equal(card.squares()["layer2.bias"], squares["layer2.bias"])
    card.load(parameters_of(CONFIG))
    assert not any(each.any() for each in card.squares().values())


def test_rounds_are_prepared_while_one_runs(card, monkeypatch):
    """A prepared round is whole: nothing that is prepared after it, or changed, is in it."""
    screens = screens_of(CONFIG, 2)
    wanted = [card.run([infer([0], None, observations=screens[k : k + 1])])[0] for k in range(2)]
    inside, on = threading.Event(), threading.Event()
    launch = card.launcher.run

    def slow(*arguments):
        inside.set()
        assert on.wait(10)
        return launch(*arguments)

    monkeypatch.setattr(card.launcher, "run", slow)
    first, found = card.prepare([infer([0], None, observations=screens[:1])]), []
    thread = threading.Thread(target=lambda: found.append(card.run(first)[0]))
    thread.start()
    assert inside.wait(10)
    given = screens[1:].copy()
    second = card.prepare([infer([0], None, observations=given)])
    given[:] = 0
    on.set()
    thread.join(10)
    np.testing.assert_array_equal(found, wanted[:1])
    np.testing.assert_array_equal(card.run(second)[0], wanted[1])


def test_a_training_that_overflows(card):
    """hw_arrays 5: it says in which launch, nothing is read any more, and a state helps."""
    card.run([infer([0], 0)])
    state, number = card.state_dict(), card.launcher.launches + 1
    words = f"^g must be finite, not infinite or NaN since launch {number}: training diverged"
    calls = [
        lambda: card.run([train(0, 1, errors=np.full((1, CONFIG.outputs), 1e20))]),
        lambda: card.run([Sync(snapshot=0)]),
        card.parameters,
        card.squares,
        card.state_dict,
    ]
    for call in calls:
        with pytest.raises(FloatingPointError, match=words):
            call()
    card.load_state_dict(state)
    for name, image in card.state_dict().items():
        np.testing.assert_array_equal(image, state[name])
    card.run([Sync(snapshot=0)])
    for step in range(2):
        card.run([infer([0], step)])
    with pytest.raises(FloatingPointError, match="^theta and g must be finite"):
        card.run([train(0, 2, errors=np.full((2, CONFIG.outputs), 3e38))])


def test_state(card):
    """Of a run that goes on elsewhere: the same bits as if it had not been interrupted."""
    card.run([infer([0], 0)])
    card.run([train(0, 1), Sync(snapshot=1)])
    state = {name: np.asarray(value) for name, value in card.state_dict().items()}
    rest = [[Sync(snapshot=0)], [infer([0, 1], 0)], [infer([0, 1], 1)], [train(1, 2), train(0, 1)]]
    assert state["theta"].dtype == np.uint32

    def go_on(card):
        for tasks in rest:
            card.run(tasks)
        return card.state_dict()

    wanted = go_on(card)
    with opened(CONFIG) as kernel:
        other = ActorCritic(kernel)
        other.load_state_dict(state)
        found = go_on(other)
    for name in ("theta", "squares"):
        np.testing.assert_array_equal(found[name], wanted[name])
    assert (wanted["theta"] != state["theta"]).any()
    with opened(network(outputs=5)) as kernel, pytest.raises(ValueError) as caught:
        ActorCritic(kernel).load_state_dict(state)
    assert str(caught.value) == "outputs must be that of the checkpoint's network (4), not 5"
    with pytest.raises(ValueError, match="squares must be .* numbers of uint32, not 16 of uint32"):
        card.load_state_dict(state | {"squares": state["squares"][:16]})


def test_the_paper_s_round():
    """Every agent's observation of a step fits one round of the default network."""
    config = Fa3cConfig()
    screens = np.zeros((4, 84, 84, 4), np.uint8)
    agents = [list(range(k, k + 4)) for k in (0, 4, 8, 12)]
    tasks = [
        Infer(unit=k % 2 * 2, snapshot=k, agents=a, observations=screens, step=0)
        for k, a in enumerate(agents)
    ]
    work = RoundLaunch(config, tasks)
    assert work.results_bytes == 16 * 128 and len(work.operands) == 4 * 64 + 16 * 84 * 384
