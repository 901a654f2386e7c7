"""FIXAR's twin against Python's integers, and against torch's float64 (``fake_quantization``)."""

import numpy as np
import pytest
import torch
from fixar.kernels import KINDS, SMALL, precision_of
from fixar.naive import NaiveNetwork, Ranges
from learner.learning import experiences, parameters, steps

from host.fixar.fake_quantization import FakeQuantizedMLP
from host.fixar.precision_plan import ACTIVATION, ERROR, shift_of
from host.learner.parameters import to_image, zero_moments
from hw.arith.fixed import SQ
from hw.fixar.config import CODE_WIDTH
from hw.fixar.precision import Precision, activation_slot, error_slot, slots
from sim.model.fixar.learner import FixarTrainer
from sim.model.fixar.network import FixarNetwork, Watch
from sim.model.fixar.numbers import encode, value_of
from sim.model.fixar.tanh import slope, tail
from tests.host.fixar.test_fake_quantization import clip, drawn

CONFIG = SMALL.learner
LAST = len(CONFIG.hidden)
ONE = 1 << ERROR.fraction


def shifts_of(precision, name):
    """Of a network's layers: activations, errors; None where numbers are full."""
    layers, found = range(LAST + 1), []
    for half, values, slot in (
        (precision.activations, precision.activation_shifts, activation_slot),
        (precision.errors, precision.error_shifts, error_slot),
    ):
        found.append([values[slot(CONFIG, name, k)] for k in layers] if half else None)
    return found


def listed(weights):
    """Operands as lists of integers."""
    return [(w.astype(int).tolist(), b.astype(int).tolist()) for w, b in weights]


def network(name, precision):
    watch = Watch(CONFIG)
    net = FixarNetwork(CONFIG, name, watch)
    net.precision = precision
    return net, watch


def passes(net, weights, x, e):
    """Outputs, errors at all inputs, and gradients of the twin; [rows][...]."""
    cells = net.frame_cells(x.T.astype(float), watched=False)
    kept, y = net.forward(weights, cells)
    errors = net.error_cells(e.T.astype(float), LAST)
    gradients, dx = net.backward(weights, kept, errors, input_gradient=x.shape[1])
    parts = [part.tolist() for pair in gradients for part in pair]
    return y.T.astype(int).tolist(), dx.T.astype(int).tolist(), parts


def case(rng, name, kind):
    layers = CONFIG.networks[name]
    limited = SQ(2 if kind == "near" else 4, 23)
    weights = [
        tuple(
            drawn(rng, limited, shape, kind).astype(float)
            for shape in ((layer.outputs, layer.inputs), (layer.outputs,))
        )
        for layer in layers
    ]
    return (
        weights,
        drawn(rng, ACTIVATION, (7, layers[0].inputs), kind),
        drawn(rng, ERROR, (7, layers[-1].outputs), kind),
    )


@pytest.mark.parametrize("kind", ["any", "ends", "near"])
@pytest.mark.parametrize("name", CONFIG.networks)
@pytest.mark.parametrize("half", KINDS)
def test_passes_are_those_of_integers_and_of_torch(half, name, kind):
    """Every number: torch rounds as well, and where float64 is exact it is the same."""
    rng = np.random.default_rng([len(kind), len(name), len(half)])
    precision = precision_of(SMALL, half, frame=9, activation=8, error=7)
    weights, x, e = case(rng, name, kind)
    net, _ = network(name, precision)
    found = passes(net, weights, x, e)
    naive = NaiveNetwork(CONFIG, name, precision, Ranges())
    read, y = naive.forward(listed(weights), x.tolist())
    assert found == (y, *naive.backward(listed(weights), read, e.tolist()))

    mlp = FakeQuantizedMLP(LAST + 1)
    mlp.activation_shifts, mlp.error_shifts = shifts_of(precision, name)
    operands = [torch.from_numpy(p.T.copy()) for pair in weights for p in pair]
    y, kept = mlp.forward(torch.from_numpy(x * 2.0**-ACTIVATION.fraction), operands)
    dx, gradients = mlp.backward(torch.from_numpy(e * 2.0**-ERROR.fraction), kept, operands)
    assert found[0] == (y * 2.0**ACTIVATION.fraction).long().tolist()
    assert found[1] == (dx * 2.0**ERROR.fraction).long().tolist()
    assert found[2] == [(g * 2.0**31).long().numpy().T.tolist() for g in gradients]


class Spy(FixarTrainer):
    """Keeps what an iteration comes to, and its weights before and between the updates."""

    def train(self, records, index, weight, step):
        self.kept, self.weights = {}, {}
        for kind in ("online", "target"):
            for name in CONFIG.networks:
                self.weights[name, kind] = listed(self._prepared(name, kind))
        return super().train(records, index, weight, step)

    def _td_errors(self, q, following, *others):
        delta, result = super()._td_errors(q, following, *others)
        self.kept |= dict(q=q.astype(int), next_q=following.astype(int), delta=delta.astype(int))
        return delta, result

    def _learn(self, name, gradients, step):
        self.kept[name] = [part.tolist() for pair in gradients for part in pair]
        super()._learn(name, gradients, step)
        self.weights[name, "updated"] = listed(self._prepared(name, "online"))


def trainer(precision, seed=0):
    """A learner, and batches ``(records, index, weight, step)`` of 1 to 16."""
    rng = np.random.default_rng(seed)
    learner = Spy(CONFIG)
    image, sets, _ = to_image(CONFIG, zero_moments(parameters(CONFIG, rng)))
    learner.load(image, sets)
    learner.set_precision(precision)
    batches = []
    for batch in (16, 1, 7, 16, 16):
        records = experiences(CONFIG, rng, batch)
        weight = rng.random(batch).astype(np.float32) + np.float32(0.1)
        batches.append((records, np.arange(batch), weight, steps(1, batch)[0]))
    return learner, batches


def iteration(learner, records, precision, ranges):
    """q, next_q, and gradients of critic and actor, in the paper's order, in integers."""
    arithmetic, delta = CONFIG.arithmetic, learner.kept["delta"]
    nets = {name: NaiveNetwork(CONFIG, name, precision, ranges) for name in CONFIG.networks}
    parts = {}
    for name in ("obs", "next_obs", "action"):
        rows = np.asarray(records[name], np.float32).astype(np.float64)
        raw = np.floor(rows * 2.0**ACTIVATION.fraction + 0.5).astype(int).tolist()
        parts[name] = [[clip(v, ACTIVATION) for v in row] for row in raw]
        ranges.see("activations", 0, parts[name])

    def run(name, kind, *x):
        rows = [sum(row, []) for row in zip(*x, strict=True)]
        read, y = nets[name].forward(learner.weights[name, kind], rows)
        if name == "actor":
            y = (tail(arithmetic, np.array(y)) << 6).tolist()
        return read, y

    def back(name, kind, read, e):
        return nets[name].backward(learner.weights[name, kind], read, e)

    obs, next_obs = parts["obs"], parts["next_obs"]
    _, following = run("actor", "target", next_obs)
    _, next_q = run("critic", "target", next_obs, following)
    read, q = run("critic", "online", obs, parts["action"])
    actor_read, policy = run("actor", "online", obs)
    _, critic = back("critic", "online", read, delta.T.tolist())
    read, _ = run("critic", "updated", obs, policy)
    dx, _ = back("critic", "updated", read, [[-ONE]] * len(obs))
    # Of the policy's action as the critic reads it.
    action = slice(CONFIG.observation, None)
    dx, mu = np.array(dx)[:, action], np.array(read[0])[:, action]
    _, actor = back("actor", "online", actor_read, slope(arithmetic, dx, mu >> 6).tolist())
    return [row[0] for row in q], [row[0] for row in next_q], critic, actor


@pytest.mark.parametrize("half", KINDS)
def test_iterations_are_those_of_integers(half):
    """Q values, gradients of both networks, and every range."""
    precision, ranges = precision_of(SMALL, half, frame=8, activation=7, error=6), Ranges()
    learner, batches = trainer(precision)
    for batch in batches:
        learner.train(*batch)
        q, next_q, critic, actor = iteration(learner, batch[0], precision, ranges)
        kept = learner.kept
        assert (kept["q"].tolist(), kept["next_q"].tolist()) == (q, next_q)
        assert kept["critic"] == critic and kept["actor"] == actor
    for kind, count in zip(("activations", "errors"), slots(CONFIG), strict=True):
        assert getattr(learner.watch, kind).tolist() == ranges.of(kind, count)


def test_nothing_is_clipped_in_the_shifts_of_what_was_seen():
    """A run in full precision; again, the same batches, in half."""
    learner, batches = trainer(Precision())
    for batch in batches:
        learner.train(*batch)
    one = 1 << ACTIVATION.fraction
    activations, errors = learner.watch.activations.tolist(), learner.watch.errors.tolist()
    activations[0] = [min(activations[0][0], -one), max(activations[0][1], one)]
    found = [shift_of(*pair, 32, signed=not k) for k, pair in enumerate(activations)]
    precision = Precision(
        activations=True,
        errors=True,
        activation_shifts=tuple(found),
        error_shifts=tuple(shift_of(*pair, 27) for pair in errors),
    )
    again, batches = trainer(precision)
    tighter, _ = trainer(
        Precision(activations=True, activation_shifts=tuple(max(0, s - 1) for s in found))
    )
    clipped = 0
    for batch in batches:
        assert sum(again.train(*batch).saturations) == 0
        clipped += tighter.train(*batch).saturations[1]
    assert clipped > 0
    for shift, (low, high) in zip(found, activations, strict=True):
        # The paper's Q_n: delta = (|low| + |high|) / 2^n; ours is off by less than it.
        x = np.linspace(low, high, 999).round()[None]
        cells, _ = encode(x, True, shift, low < 0)
        off = np.abs(value_of(cells) - x).max()
        assert off <= 2.0**shift / 2 <= (abs(low) + abs(high)) / 2**CODE_WIDTH * (2 if low else 1)


def test_tanh_and_its_slope_are_near_torchs():
    """The twin's tanh has 14 places, and rounds once more: less than 2^-14 off. An error through
    the slope is off by |dx| * 2|a| of that, and by a rounding each."""
    arithmetic, rng = CONFIG.arithmetic, np.random.default_rng(4)
    x = drawn(rng, ACTIVATION, 3000, "near")
    dx = rng.integers(-(1 << 22), 1 << 22, 3000)
    a = tail(arithmetic, x)
    exact = torch.tanh(torch.from_numpy(x * 2.0**-20))
    assert np.abs(a * 2.0**-14 - exact.numpy()).max() < 2.0**-14
    through = torch.from_numpy(dx * 2.0**-19) * (1 - exact * exact)
    off = np.abs(slope(arithmetic, dx, a) * 2.0**-19 - through.numpy())
    assert (off <= np.abs(dx * 2.0**-19) * 2 * 2.0**-14 + 2.0**-18).all()
