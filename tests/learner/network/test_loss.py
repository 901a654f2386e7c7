"""loss: the twin against the formulas and stated cases, hardware against the twin."""

import json
from functools import partial
from itertools import product

import numpy as np
import pytest
from amaranth import Shape
from arith.float32_cases import CORNERS, bits, floats
from clocks import Clocks, run_together
from later import later
from pauses import SOLID, SOLID_TOO

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.config import LearnerConfig
from hw.learner.layouts import scalars_layout
from hw.learner.network.loss import Loss
from hw.nn.td_program import TdProgram
from hw.replay.records import ITEM
from sim.model.arith.arithmetic import twin_of
from sim.model.arith.float32 import add
from sim.model.learner.algorithms.ddpg import critic_loss
from sim.model.learner.algorithms.dqn import dqn_loss
from sim.model.nn.losses import td_loss

FIXED = Arithmetic(kind="fixed")
SHORT = Arithmetic(kind="fixed", weight=SQ(2, 10), activation=SQ(4, 8), gradient=SQ(1, 11))
TWINS = {"dqn": dqn_loss, "ddpg": partial(critic_loss, td_loss)}


def of_last(config):
    """Outputs of the network that the loss takes, and its passes."""
    (name,) = config.plan.ends
    return config.plan.networks[name].outputs, config.plan.count(name)


def made(config, rng, batch, *, wild=0.0, spread=1.5):
    """``(outputs, scalars, inverse, clip)``; a share ``wild`` of the numbers are corners."""
    outputs_of, passes = of_last(config)

    def numbers(*shape, low=None):
        x = rng.normal(scale=spread, size=shape)
        x = (x if low is None else np.abs(x) + low).astype(np.float32)
        return np.where(rng.random(shape) < wild, floats(rng.choice(CORNERS, shape)), x)

    outputs = []
    for _ in range(passes):
        x = numbers(batch, outputs_of)
        ties = rng.random(x.shape) < 0.2
        with np.errstate(invalid="ignore"):
            x = np.where(ties, np.round(x), x).astype(np.float32)
        x = add(x, np.float32(-0.0))  # what a unit gives: no subnormals, one NaN
        outputs.append(twin_of(config.arithmetic).quantize(x, "activation")[0])
    scalars = dict(
        index=rng.integers(0, 1 << 32, batch),
        weight=numbers(batch, low=0.05),
        action=rng.integers(0, outputs_of, batch),
        reward=numbers(batch),
        discount=np.where(rng.random(batch) < 0.2, 0, 0.99).astype(np.float32),
    )
    return outputs, scalars, np.float32(0.7), np.float32(1)


@pytest.mark.parametrize("algorithm", TWINS)
@pytest.mark.parametrize("double", [False, True])
def test_twin_follows_the_formulas(algorithm, double):
    config = LearnerConfig(algorithm=algorithm, action=5, double=double)
    outputs, scalars, inverse, clip = made(config, np.random.default_rng(1), 64)
    result = TWINS[algorithm](config, outputs, scalars, inverse, clip)
    row, action = np.arange(64), scalars["action"]
    wide = [x.astype(np.float64) for x in outputs]
    if algorithm == "dqn":
        chooser = wide[2] if double else wide[1]
        q, following = wide[0][row, action], wide[1][row, chooser.argmax(axis=1)]
        value = q
    else:
        q, value, following = (x[:, 0] for x in wide)
    td = q - (scalars["reward"] + scalars["discount"] * following)
    weight = scalars["weight"].astype(np.float64) * 0.7
    size = np.abs(td)
    huber = np.where(size <= 1, td**2 / 2, size - 0.5)
    gradient = np.zeros(outputs[0].shape)
    gradient[row, action] = weight * np.clip(td, -1, 1)
    close = dict(rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result.td, td, **close)
    np.testing.assert_allclose(result.delta[0], gradient, **close)
    np.testing.assert_allclose(result.loss, np.sum(weight * huber), **close)
    np.testing.assert_allclose(result.td_sum, np.sum(size), **close)
    np.testing.assert_allclose(result.value, np.sum(value), **close)
    assert result.diverged is None and result.saturations == 0
    if algorithm == "ddpg":
        np.testing.assert_array_equal(result.delta[1], -np.ones((64, 1), np.float32))
    assert all(part.dtype == np.float32 for part in (*result.delta, result.td))


def one(q, following, *, reward=0.0, discount=1.0, weight=1.0, clip=np.inf, kind="float32"):
    """One sample of two outputs, action 1, without double."""
    config = LearnerConfig(double=False, arithmetic=Arithmetic(kind=kind))
    shape = dict(dtype=np.float32 if kind == "float32" else np.int64)
    scalars = dict(weight=weight, reward=reward, discount=discount)
    scalars = {name: np.array([x], np.float32) for name, x in scalars.items()}
    return dqn_loss(
        config,
        [np.array([[0, q]], **shape), np.array([following], **shape)],
        scalars | {"action": np.array([1])},
        np.float32(1),
        np.float32(clip),
    )


def test_twin_of_stated_cases():
    # The clip limits the gradient and makes the loss linear; infinity leaves it a square.
    result = one(5, [1, 2], clip=0.5)
    assert (result.td[0], result.delta[0].tolist(), result.loss) == (3, [[0, 0.5]], 1.375)
    assert one(5, [1, 2]).loss == 4.5
    assert one(-5, [1, 2], clip=0.5).delta[0].tolist() == [[0, -0.5]]
    # A diverged error: not of the next, and no gradient is invented for a NaN's sign.
    assert one(np.inf, [1, 2]).diverged == 0
    assert one(1, [np.nan, 2]).diverged == 0
    assert one(1, [1, 2], discount=0).diverged is None
    # Fixed point: 8 integer bits of a gradient would be needed.
    fixed = one(100 << 10, [0, 0], kind="fixed")
    assert (fixed.delta[0][0, 1], fixed.saturations) == ((1 << 17) - 1, 1)


def test_twin_order_key():
    x = floats([0xFF800000, 0xBF800000, 0x80000000, 0, 1, 0x3F800000, 0x7F800000, 0x7FC00000])
    key = twin_of(Arithmetic()).order_key(x)
    assert np.all(np.diff(key[[0, 1, 2, 3, 5, 6, 7]]) > 0) and key[3] == key[4]
    assert np.all(twin_of(Arithmetic()).order_key(floats([0xFFC00001, 0x7F800001])) == key[7])


def vectors(config, batch, arguments):
    """What ``loss_bench`` sends and expects."""
    arithmetic, lanes, (shape,) = config.arithmetic, config.lanes, Loss(config).shapes.values()
    outputs, scalars, inverse, clip = arguments
    result = TWINS[config.algorithm](config, *arguments)

    def packed(kind, parts):
        """[groups][batch, outputs] as words [super-samples][output words]; padding is 0 for errors,
        and the largest numbers for outputs, which nobody may take."""
        raw = [bits(x) if x.dtype == np.float32 else x for x in parts]
        width = Shape.cast(arithmetic.shape(kind)).width
        raw = np.stack(raw).reshape(len(raw), batch // lanes, lanes, -1)
        padding = [(0, 0)] * 3 + [(0, -shape.outputs % together)]
        none = 0 if kind == "gradient" else (1 << width - 1) - 1
        raw = np.pad(raw, padding, constant_values=none)
        raw = raw.reshape(*raw.shape[:3], -1, together).transpose(1, 3, 0, 2, 4)
        raw = raw.reshape(*raw.shape[:2], -1)
        mask = (1 << width) - 1
        return [
            [sum((int(x) & mask) << k * width for k, x in enumerate(word)) for word in sample]
            for sample in raw
        ]

    together = shape.output_word
    index_width = (shape.output_words - 1).bit_length()
    words = [
        [1 | o << 1 | word << (1 + index_width) for o, word in enumerate(sample)]
        for sample in packed("activation", outputs)
    ]
    delta = [word for sample in packed("gradient", result.delta) for word in sample]
    fields = {
        name: bits(x) if x.dtype == np.float32 else x.astype(np.uint64)
        for name, x in scalars.items()
    }
    layout = scalars_layout(config)
    scalar_words = [
        layout.const(
            [{name: int(x[k + lane]) for name, x in fields.items()} for lane in range(lanes)]
        )
        .as_value()
        .value
        for k in range(0, batch, lanes)
    ]
    td = bits(result.td)
    final = dict(
        loss=bits([result.loss])[0],
        td_sum=bits([result.td_sum])[0],
        value=bits([result.value])[0],
        diverged=result.diverged is not None and not config.early_priorities,
    )
    if final["diverged"]:
        final["diverged_index"] = fields["index"][result.diverged]
    return dict(
        samples=batch // lanes,
        outputs=words,
        scalars=scalar_words,
        inverse=bits([inverse])[0],
        clip=bits([clip])[0],
        delta=delta,
        td=[
            ITEM.shape.const({"index": int(i), "value": int(t)}).as_value().value
            for i, t in zip(fields["index"], td, strict=True)
        ],
        final=final,
        saturations=result.saturations,
    )


#: Super-samples, share of wild numbers, gaps (outputs, delta, td), clocks that outputs are on
#: their way, of 16. Long ones fill every queue behind a slow reader.
BATCHES = [
    (48, 0, (0, 0, 0), 0),
    (10, 0, (0.4, 0, 0), 3),
    (10, 0.02, (0, 0.6, 0), 0),
    (40, 0.3, (0, 0, 0.93), 16),
    (10, 0.01, (0.3, 0.3, 0.3), 8),
    (30, 0.6, (0, 0.9, 0), 16),
    (48, 0, (0, 0, 0), 16),
    (40, 0, (0, SOLID, SOLID_TOO), 16),
]
#: A last layer of one block with long adders: more than 16 super-samples are on their way.
MANY = dict(algorithm="ddpg", lanes=1, hidden=(3,), multipliers=64)
#: For one output: as many as may be are on their way each time the delta stands still again.
ONE_AT_A_TIME = (64, 0, (0, (40, 1), 0), 16)


@pytest.mark.parametrize(
    "options",
    [
        dict(action=2, lanes=1),
        dict(action=3, lanes=2, double=False, words=(1, 1, 1, 2)),
        later(dict(action=5, lanes=2, arithmetic=SHORT, words=(1, 1, 1, 8))),
        later(dict(action=5, lanes=4, arithmetic=SHORT, words=(1, 1, 1, 8))),
        later(dict(action=1, lanes=2, arithmetic=FIXED)),
        later(dict(action=4, lanes=2, arithmetic=FIXED, words=(1, 1, 1, 4))),
        later(dict(action=20, lanes=2)),
        later(dict(algorithm="ddpg", lanes=2)),
        dict(algorithm="ddpg", lanes=1, arithmetic=FIXED),
        MANY,
        dict(action=2, lanes=1, arithmetic=SHORT, loss_unit="program"),
        later(dict(action=3, lanes=2, double=False, loss_unit="program")),
        later(dict(algorithm="ddpg", lanes=1, arithmetic=FIXED, loss_unit="program")),
    ],
    ids=lambda o: "-".join(str(getattr(v, "kind", v)) for v in o.values()),
)
def test_matches_twin(simulate, tmp_path, options):
    matches_twin(simulate, tmp_path, LearnerConfig(**options, batch=256))


def matches_twin(simulate, tmp_path, config):
    unit = Loss(config)
    (shape,) = unit.shapes.values()
    rng, on_their_way = np.random.default_rng(11), unit.slots - 16
    batches, diverged, saturations = [], 0, 0
    cases = [*BATCHES, *([ONE_AT_A_TIME] if shape.output_words == 1 else [])]
    for k, (count, wild, _, _) in enumerate(cases):
        batch = config.lanes * count
        outputs, scalars, inverse, clip = made(config, rng, batch, wild=wild)
        if k == 1:
            clip = np.float32(np.inf)
        if k == 4 and config.algorithm == "dqn":
            # No such output, and where padding lies in the last word.
            scalars["action"][::3], scalars["action"][1::3] = shape.outputs + 1, shape.outputs
        batches.append(vectors(config, batch, (outputs, scalars, inverse, clip)))
        diverged += batches[-1]["final"]["diverged"]
        saturations += batches[-1]["saturations"]
    assert bool(diverged) != config.arithmetic.saturates
    assert saturations or config.arithmetic is not SHORT
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(batches, default=int))
    simulate(
        unit,
        "learner.network.loss_bench",
        vectors=str(file),
        network=unit.networks[0],
        gaps=[gaps for _, _, gaps, _ in cases],
        delays=[delay * on_their_way // 16 for _, _, _, delay in cases],
        on_their_way=on_their_way,
        latency=unit.latency,
        td_latency=unit.td_latency,
        interval=unit.interval,
        sums=200 if config.loss_unit == "pipeline" else TdProgram.INTERVAL + TdProgram.FOLD_LATENCY,
        full=shape.output_words < unit.interval,
    )


def test_losses_of_td3(simulate, tmp_path):
    """Of both critics: gradients of none, of the second, of the first, of both are clipped. The
    smaller bootstrap value is the second's, and the larger error the TD error. Then the actor's
    errors: -1, shifted by a place. Two samples come at a time."""
    config = LearnerConfig(algorithm="td3", arithmetic=SHORT, observation=3, action=1, lanes=2)
    critics, actor = (Loss(config, sweep) for sweep in range(2))
    first, second, cases = Clocks(), Clocks(), [*product((0, 1), repeat=2)]
    two, half = bits([2, 0.5]).tolist()
    one = bits([1]).tolist()[0]
    networks = dict(critic=48, critic_2=32)  # in units of 2**-8
    for clock in (0, 2):
        pair = cases[clock : clock + 2]
        scalars = [dict(index=70 + clock + k, weight=two, discount=one) for k in range(2)]
        ports = {"of_critic__scalars__payload": scalars}
        for number, (name, after) in enumerate(networks.items()):
            # Less 32, the errors are 1 and 1/2; a gradient is below 1.
            q = [[256 + 32 if large[number] else 128 + 32] for large in pair]
            ports[f"of_{name}__i"] = dict(valid=1, value=[q, [[after]] * 2])
            delta = [[[2047 if large[number] else 1024] for large in pair]]
            given = {f"of_{name}__delta__valid": 1, f"of_{name}__delta__payload": delta}
            first.expect(clock + critics.latency, **given)
        first.at(clock, **ports)
        for k, large in enumerate(pair):
            td = dict(index=70 + clock + k, value=one if any(large) else half)
            first.expect(clock + k + critics.td_latency, td__valid=1, td__payload=td)
            first.expect(clock + k + critics.latency - 3, saturations=sum(large))
        second.at(clock, of_critic__i=dict(valid=1, value=[[[clock], [clock]]]))
        delta = dict(of_critic__delta__valid=1, of_critic__delta__payload=[[[-1024], [-1024]]])
        second.expect(clock + actor.latency, **delta)
    clip = bits([np.inf]).tolist()[0]
    for clock in range(critics.latency + 6):
        ready = {f"of_{name}__delta__ready": 1 for name in networks} | dict(td__ready=1)
        first.at(clock, inverse=half, clip=clip, shift=[0, 0], start=0, **ready)
        second.at(clock, shift=[1], of_critic__delta__ready=1)
    run_together(simulate, tmp_path, {"critics": (first, critics), "actor": (second, actor)})


def test_there_is_room_for_all_that_the_last_layer_may_have_begun():
    assert Loss(LearnerConfig(**MANY)).slots == 16 + 27
    assert Loss(LearnerConfig()).slots == 16 + 16, "a layer of many blocks has begun fewer"


def test_to_float_is_exact_for_activations():
    raw = np.arange(FIXED.activation.low, FIXED.activation.high + 1)
    np.testing.assert_array_equal(twin_of(FIXED).to_float(raw, "activation"), raw / 1024)
