"""Random plans: one to four networks, one to three sweeps, and a twin that follows any plan pass by
pass.

A loss takes three numbers, wherever they come from: q, bootstrap and value of ``TdLoss``. Errors of
outputs are the gradient or -1, in turns. Or it takes four, those of ``TwinTd``, and errors are its
gradients, shifted. Some outputs are free, and some learners limit norms.
"""

import random

import numpy as np
from amaranth import *

from hw.arith.arithmetic import Arithmetic
from hw.learner.algorithms.algorithm import Algorithm, LossRule
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan, Take
from hw.learner.algorithms.registry import ALGORITHMS
from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS, STEP
from hw.nn.twin_td import TwinTd
from sim.model.arith.arithmetic import twin_of
from sim.model.learner.algorithms.gradients import Gradients
from sim.model.learner.algorithms.registry import GRADIENTS
from sim.model.learner.loss import result_of
from sim.model.learner.network.network import merge
from sim.model.nn.activation import derivative
from sim.model.nn.losses import td_loss, twin_td

__all__ = ["SHIFTS", "entries", "plan_of", "random_config"]

#: Plans of this seed and later ones shift errors.
SHIFTS = 100

_SIZES = dict(observation=3, action=2)
#: Inputs that a network without a take may have, by name.
_SEEN = {
    "seen": (Feed("obs", 0),),
    "following": (Feed("next_obs", 0),),
    "both": (Feed("obs", 0), Feed("action", 3)),
}


class Rule(LossRule):
    """``counts``: {network: passes whose outputs the loss takes}."""

    ports = "q", "bootstrap", "value"

    def __init__(self, counts):
        self.numbers = {
            name: tuple(f"{name}_{path}" for path in range(count)) for name, count in counts.items()
        }
        names = [name for own in self.numbers.values() for name in own]
        #: Names of the numbers that are the pipeline's inputs.
        places = 0, -1, len(names) // 2, len(names) // 3
        self.chosen = [names[place] for place in places[: len(self.ports)]]

    def collect(self, m, network, kept, outputs, first, own, *, arithmetic):
        for name, numbers in zip(self.numbers[network], outputs, strict=True):
            with m.If(first):
                m.d.sync += kept[name].eq(numbers[0])

    def inputs(self, sample):
        names = zip(self.ports, self.chosen, strict=True)
        return {port: vars(sample)[name] for port, name in names}

    def errors(self, network, gradient, own, *, arithmetic):
        one = Const(arithmetic.number(-1, kind="gradient")[0], arithmetic.shape("gradient"))
        turn = [*self.numbers].index(network)
        count = len(self.numbers[network])
        return [one if (path + turn) % 2 else gradient for path in range(count)]


class ShiftedRule(Rule):
    """The network "v", which is beside all others, has the second gradient, they the first.

    ``trained``: the networks that the sweep trains.
    """

    pipeline = TwinTd
    ports = "q", "bootstrap", "q_2", "bootstrap_2"

    def __init__(self, counts, trained):
        super().__init__(counts)
        self.shifts = {name: int(name == "v") for name in trained}

    def errors(self, network, gradient, own, *, arithmetic):
        return [gradient[int(network == "v")]] * len(self.numbers[network])


def plan_of(seed):
    """A Plan for ``_SIZES``."""
    rng = random.Random(seed)
    sweeps, passes = rng.choice([1, 2, 2, 3]), {}
    networks = {"a": Network(3, 2, "tanh", rate=1)}
    shape = rng.choice(["one", "takers", "chain", "beside", "takers and one beside"])
    takers = {"one": 0, "takers": rng.choice([1, 2, 3]), "chain": 1, "beside": 0}.get(shape, 2)
    for k in range(takers):
        networks[f"t{k}"] = Network(5, 2, "linear")
    if shape == "chain":
        networks["end"] = Network(5, 1, rng.choice(["linear", "tanh"]))
    if "beside" in shape:
        networks["v"] = Network(3, rng.choice([1, 3]), "linear", rate=rng.randrange(2))
    networks = _with_free_outputs(networks, random.Random(f"free {seed}"), acts=not takers)
    taking = [name for name in networks if name.startswith("t")]
    # Which sweep trains a network: each sweep trains one at least.
    while True:
        trained = {name: rng.randrange(sweeps) for name in networks}
        sweeps = min(sweeps, len(networks))
        if {*trained.values()} == {*range(sweeps)}:
            break
    for sweep in range(sweeps):
        climbs = trained["a"] == sweep
        goes = climbs or any(trained[t] == sweep for t in networks if t[0] in "te")
        goes |= "v" not in networks or trained["v"] != sweep or rng.random() < 0.5
        if goes or not taking:
            passes[f"a{sweep}"] = Pass(
                "a", "online" if climbs else rng.choice(["online", "target"]), _SEEN["seen"],
                errors=climbs, trains=climbs, sweep=sweep,
            )  # fmt: skip
        source = f"a{sweep}"
        wanted = [t for t in taking if climbs or trained[t] == sweep or rng.random() < 0.5]
        wanted = wanted or (taking[:1] if goes else [])
        for t in wanted if goes else ():
            trains = trained[t] == sweep
            taken = Take(source, 3)
            if trains and rng.random() < 0.5 and len(taking) == 1 and shape != "chain":
                # A pass with an action of the experience, as of DDPG's critic.
                passes[f"{t}{sweep} fed"] = Pass(
                    t, "online", _SEEN["both"], errors=True, trains=True, sweep=sweep
                )
                trains = False
            errors = trains or climbs
            passes[f"{t}{sweep}"] = Pass(
                t, "online" if errors else "target", _SEEN["seen"], taken,
                errors=errors, trains=trains, sweep=sweep,
            )  # fmt: skip
            if "end" in networks:
                last = trained["end"] == sweep
                passes[f"end{sweep}"] = Pass(
                    "end", "online" if last or errors else "target", _SEEN["following"],
                    Take(f"{t}{sweep}", 3), errors=last or errors, trains=last, sweep=sweep,
                )  # fmt: skip
        if "v" in networks and (trained["v"] == sweep or rng.random() < 0.4):
            own = trained["v"] == sweep
            passes[f"v{sweep}"] = Pass(
                "v", "online" if own else "target", _SEEN["following"], errors=own, trains=own,
                sweep=sweep,
            )  # fmt: skip
    acts = next(
        name for name, one in passes.items() if one.network == "a" and one.weights == "online"
    )
    plan = Plan(networks, passes, (None,) * sweeps, acts)
    rules = []
    for sweep in range(sweeps):
        counts = {name: len(plan.paths[name][sweep]) for name in plan.ends}
        counts = {name: count for name, count in counts.items() if count}
        own = [name for name in networks if trained[name] == sweep]
        rules.append(ShiftedRule(counts, own) if seed >= SHIFTS else Rule(counts))
    return Plan(networks, passes, tuple(rules), acts)


def _with_free_outputs(networks, rng, acts):
    """Networks of equal sizes have as many; a free output is linear. Those of "a", which has some
    if ``acts``, come on top of its actions."""
    free = {network: rng.randrange(network.outputs) for network in networks.values()}
    networks, own = dict(networks), networks["a"]
    count = free.pop(own) if acts else 0
    networks["a"] = own._replace(outputs=own.outputs + count)
    free[networks["a"]] = count
    return {
        name: network._replace(free=free[network], activation="linear")
        if free[network]
        else network
        for name, network in networks.items()
    }


def entries(seed):
    """As those of ``learner.bandit``, of an algorithm with the plan of ``seed``. Its name has the
    seed: equal configs are one config to all that is kept."""
    plan, own = plan_of(seed), f"random_{seed}"
    shifts = bool(plan.shifts)

    class RandomAlgorithm(Algorithm):
        name, summary, discrete, sizes = own, "a random plan", False, _SIZES
        record = STEP if shifts else HYPERPARAMETERS

        def plan(self, config):
            return plan

    return [
        (ALGORITHMS, own, RandomAlgorithm()),
        (GRADIENTS, own, tuple(_sweep(plan, k) for k in range(plan.sweeps))),
    ]


def random_config(seed):
    """A LearnerConfig for the plan of ``seed``, whose ``entries`` are there."""
    rng = random.Random(seed + 1)
    options = dict(
        hidden=rng.choice([(3,), (4, 3)]), multipliers=rng.choice([1, 2, 6]), batch=8,
        update_units=rng.choice([1, 4]), lanes=rng.choice([1, 2]),
        optimizer=rng.choice(["sgd", "adam", "rmsprop"]),
        arithmetic=Arithmetic(kind=rng.choice(["fixed", "fixed", "float32"])),
        clip_norm=random.Random(f"norm {seed}").random() < 0.4,
    )  # fmt: skip
    return LearnerConfig(algorithm=f"random_{seed}", **_SIZES, **options)


def _sweep(plan, sweep):
    """The twin of a sweep, pass by pass."""
    own = {name: one for name, one in plan.passes.items() if one.sweep == sweep}

    def gradients(learner, records, scalars, inverse, clip, step):
        config, twin = learner.config, twin_of(learner.config.arithmetic)
        *fields, clipped = learner.inputs(records, "obs", "next_obs", "action")
        fields = dict(zip(("obs", "next_obs", "action"), fields, strict=True))
        # Only fields that a sweep reads count.
        read = {feed.name for one in own.values() for feed in one.feeds}
        clipped = learner.inputs(records, *read)[-1]
        numbers, activations = {}, clipped
        left = dict(own)
        while left:
            name = next(n for n, p in left.items() if not p.take or p.take.source in numbers)
            one = left.pop(name)
            parts = [fields[feed.name] for feed in one.feeds]
            parts += [numbers[one.take.source][-1]] if one.take else []
            weights = learner.weights_of(one.network, one.weights)
            numbers[name], more = learner.networks[one.network].forward(
                weights, np.concatenate(parts)
            )
            activations += more
        return _back(plan, sweep, own, learner, config, twin, numbers, activations, scalars,
                     inverse, clip, step)  # fmt: skip

    return gradients


def _back(
    plan, sweep, own, learner, config, twin, numbers, activations, scalars, inverse, clip, step
):
    rule, kept, deltas = plan.losses[sweep], {}, {}
    for network, names in rule.numbers.items():
        for name, path in zip(names, plan.paths[network][sweep], strict=True):
            kept[name] = twin.to_float(numbers[path][-1][0], "activation")
    losses = _shifted if isinstance(rule, ShiftedRule) else _plain
    result, errors, shifts = losses(plan, rule, twin, kept, scalars, inverse, clip, step)
    for turn, network in enumerate(rule.numbers):
        for path, name in enumerate(plan.paths[network][sweep]):
            if own[name].errors:
                error = errors(network, turn, path)
                deltas[name] = [np.stack([error] * len(numbers[name][-1]))]
    saturations, found = 0, {}
    for network in reversed(plan.order):
        for name in plan.paths[network][sweep]:
            pass_ = own[name]
            if not pass_.errors:
                continue
            delta, clipped = deltas[name][0], 0
            if len(deltas[name]) > 1:
                delta, clipped = merge(config.arithmetic, deltas[name])
            back = learner.networks[network].backward(
                learner.weights_of(network, "online"), numbers[name], delta,
                trained=pass_.trains, input_gradient=plan.links[network] is not None,
            )  # fmt: skip
            saturations += clipped + back.saturations
            if pass_.trains:
                found[network] = back.gradients
            take = pass_.take
            if take and own[take.source].errors:
                last = plan.networks[own[take.source].network].activation
                y = numbers[take.source][-1]
                dx = derivative(config.arithmetic, last, back.dx[take.first :], y)
                # Networks come last to first.
                deltas[take.source] = [dx, *deltas.get(take.source, ())]
    return Gradients(result, found, activations, saturations, shifts)


def _plain(plan, rule, twin, kept, scalars, inverse, clip, step):
    """``(LossResult, errors, shifts)`` of a sweep with a ``Rule``; ``errors(network, turn, path)``
    of a network's outputs."""
    q, bootstrap, value = (kept[name] for name in rule.chosen)
    td, gradient, loss = td_loss(q, bootstrap, scalars, inverse, clip)
    gradient, over = twin.quantize(gradient, "gradient")
    one, _ = twin.quantize(np.full(q.shape, -1, np.float32), "gradient")

    def errors(network, turn, path):
        return one if (path + turn) % 2 else gradient

    return result_of((), td, loss, value, over), errors, {}


def _shifted(plan, rule, twin, kept, scalars, inverse, clip, step):
    """As ``_plain``, with a ``ShiftedRule``: the second gradient is shifted by the number of "v",
    the first by that of the first network that it trains."""
    q, bootstrap, q_2, bootstrap_2 = (kept[name] for name in rule.chosen)
    smaller = np.where(
        twin.order_key(bootstrap_2) < twin.order_key(bootstrap), bootstrap_2, bootstrap
    )
    names, shifts, places = [*plan.networks], {}, [0, 0]
    for name in reversed(names):
        if name in rule.shifts:
            places[name == "v"] = int(step["shift"][names.index(name)])
    for name in rule.shifts:
        shifts[name] = places[name == "v"]
    td, gradients, loss = twin_td([q, q_2], smaller, scalars, inverse, clip, places)
    deltas, over = zip(*(twin.quantize(each, "gradient") for each in gradients), strict=True)

    def errors(network, turn, path):
        return deltas[network == "v"]

    result = result_of((), td, loss, np.zeros_like(td), np.stack(over))
    return result, errors, shifts
