"""Trainers that are wrong by little, late, in one place or at a small scale: refused for the card
with the place. Honest ones are not refused, however they count."""

import random
from functools import partial

import pytest

from host.proof.reachable_numbers import Reach
from host.runs.blas_threads import single_threaded
from hw.errors import UsageError
from tests.host.compose.trainer_files import CONTINUOUS, DISCRETE, changed
from tests.host.proof.test_kernel_proof import proved

#: Where something may be put into update_policy of a trainer: at its beginning.
HEAD = "        with torch.no_grad():\n            following"
LATE = "        {}\n        if {}:\n            {}\n" + HEAD
INIT = "self.gamma, self.target_update, self.steps = gamma, target_update, 0"
COUNTED = "self.steps += 1"
SCHEDULED = "self.optimizer.param_groups[0]['lr'] = 1e-4"
CLIPPED = "rewards = rewards.clamp(-1, 1)"


def late(condition, then=CLIPPED, count="pass"):
    """Changes of the sequential trainer: from some update on it does something else."""
    return (HEAD, LATE.format(count, condition, then))


def small(rate):
    return ("rate=1e-3", f"rate={rate}")


#: name -> (words of the refusal, changes)
SEQUENTIAL = {
    # wrong by little
    "gamma by 0.001": ("TD errors differ .* in row", ("self.gamma *", "0.989 *")),
    "rewards by 0.1 %": ("TD errors differ", ("wanted = rewards", "wanted = 1.001 * rewards")),
    "first moment": ("changes of q, layer 1, differ", ("lr=rate)", "lr=rate, betas=(0.9, 0.99))"),
                     ("self.optimizer.step()", "self.optimizer.param_groups[0]['betas'] = (0.9, "
                      "0.999)\n        self.optimizer.step()\n        self.optimizer.param_groups"
                      "[0]['betas'] = (0.9, 0.99)")),
    "target by 0.1 %": ("changes of target, layer 1, differ .* at weight", (
        "self.target.load_state_dict(self.q.state_dict())",
        "[a.data.lerp_(b.data, 0.999) for a, b in zip(self.target.parameters(), "
        "self.q.parameters())]")),
    # late
    "once, its rate": ("optimizer.lr must be constant .*steps set to 498",
                       late("self.steps == 500", SCHEDULED)),
    "once, its betas": ("optimizer.betas must be constant .*steps set to 7998", late(
        "self.steps == 8000", "self.optimizer.param_groups[0]['betas'] = (0.9, 0.99)")),
    "clipped from 300 on": ("TD errors differ .*steps set to", late("self.steps > 300")),
    "warm-up": ("changes of q, layer 1, differ", ("target_update=4", "target_update=300"),
                ("self.optimizer.step()", "self.optimizer.step() if self.steps >= 77 else None")),
    "every 777th": ("changes of q, layer 1,.*steps set to 775", (
        COUNTED, "self.steps += 1\n        if self.steps % 777 == 0:\n"
        "            self.q[0].weight.data.zero_()")),
    "beyond 2e5, computed": ("TD errors differ .*steps set to", late("self.steps > 2 * 10**5 + 7")),
    "at an attribute's": ("TD errors differ .*steps set to 1232", (
        INIT, INIT + "\n        self.plan = {'begin': [1234]}"),
        late("self.steps == self.plan['begin'][0]")),
    "a dict's counter": (r"TD errors differ .*seen\['n'\] set to", (
        INIT, INIT + "\n        self.seen = {'n': 0}"), late("self.seen['n'] > 600",
                                                          count="self.seen['n'] += 1")),
    "an annealed tau": ("tau must be constant .*not 1.0 and then 0.999", (
        INIT, INIT + "\n        self.tau = 1.0"), late("True", "self.tau *= 0.999")),
    "where all rewards are small": (r"differ .*with rewards of the order of 0.001\)",
        late("rewards.abs().max() < 0.1", "rewards = 2 * rewards")),
    "an object's counter": ("TD errors differ .*clock.t set to", (
        "class Trainer:",
        "class Clock:\n    def __init__(self):\n        self.t = 0.0\n\n\nclass Trainer:"), (
        INIT, INIT + "\n        self.clock = Clock()"),
        late("self.clock.t > 99", count="self.clock.t += 0.25")),
    "a tensor's": ("TD errors differ .*passed set to", (
        INIT, INIT + "\n        self.passed = torch.zeros((), dtype=torch.int64)"),
        late("self.passed > 5000", count="self.passed += 1")),
    "a buffer of a trainer that is a module": ("TD errors differ .*passed set to", (
        "class Trainer:", "class Trainer(nn.Module):"), (
        INIT, INIT + "\n        super().__init__()\n"
        "        self.register_buffer('passed', torch.zeros((), dtype=torch.int64))"),
        late("self.passed > 5000", count="self.passed += 1")),
    "the class's": ("TD errors differ .*Trainer.total set to", (
        "class Trainer:", "class Trainer:\n    total = 0\n"),
        late("Trainer.total > 5000", count="Trainer.total += 1")),
    "a global one": ("TD errors differ .*COUNT of sequential.py\\['n'\\] set to", (
        "class Trainer:", "COUNT = {'n': 0}\n\n\nclass Trainer:"),
        late("COUNT['n'] > 5000", count="COUNT['n'] += 1")),
    "a closure's": ("TD errors differ .*n of count set to", (
        "class Trainer:", "def counting():\n    n = 0\n\n    def count():\n        nonlocal n\n"
        "        n += 1\n        return n\n\n    return count\n\n\nclass Trainer:\n"
        "    count = staticmethod(counting())\n"), late("self.count() > 5000")),
    "a list's length": (r"TD errors differ .*len\(self.log\)|TD errors differ .*len\(log\)", (
        INIT, INIT + "\n        self.log = []"),
        late("len(self.log) > 2000", count="self.log.append(rewards.mean().item())")),
    "the optimizer's own": ("TD errors differ .*steps set to", late(
        "self.optimizer.state and self.optimizer.state[self.q[0].weight]['step'] > 1000")),
    "a schedule in a list": (r"plans\[0\] must be absent .* schedule of torch", (
        "lr=rate)", "lr=rate)\n        self.plans = [torch.optim.lr_scheduler.StepLR("
        "self.optimizer, 500)]")),
    "a generator": ("plan must be absent .* an iterator", (
        INIT, INIT + "\n        self.plan = (k > 500 for k in range(10**6))"),
        late("next(self.plan)")),
    "now and then": ("update_policy must draw no random numbers .* those of torch",
                     late("torch.rand(()) < 0")),
    "of its own generator": ("update_policy must draw no random numbers .* those of rng", (
        "import copy", "import copy\nimport random"), (
        INIT, INIT + "\n        self.rng = random.Random(1)"), late("self.rng.random() < 0")),
    "errors at first only": ("must return TD errors of all batches or of none", (
        "return (wanted - q).detach()",
        "return (wanted - q).detach() if self.steps < 700 else None")),
    # in one place
    "the last action's bias": (r"changes of q, layer 3, differ by .* at bias \[2\]", (
        "self.optimizer.step()", "self.q[4].bias.grad[2] = 0\n        self.optimizer.step()"),
        ("torch.optim.Adam(self.q.parameters(), lr=rate)",
         "torch.optim.SGD(self.q.parameters(), lr=rate)")),
    "the last row": ("TD errors differ by .* in row 23", (
        "wanted = rewards + ", "wanted = rewards + torch.eye(len(rewards))[-1] / 100 + ")),
    "batches without an end": ("TD errors differ", late("not dones.any()")),
    "the last observation": ("get_action must be the argmax of q", (
        "return self.q(obs).argmax(-1)", "actions = self.q(obs).argmax(-1)\n"
        "        actions[-1] = 1\n        return actions")),
    "after 5000 actions": ("get_action must be the argmax of q .*acts set to", (
        INIT, INIT + "\n        self.acts = 0"), (
        "return self.q(obs).argmax(-1)", "self.acts += 1\n"
        "        return (self.q(obs) * (1 if self.acts < 5000 else -1)).argmax(-1)")),
    "exploring": ("get_action must draw no random numbers .* torch", (
        "return self.q(obs).argmax(-1)", "torch.rand(1)\n        return self.q(obs).argmax(-1)")),
    # at a small scale
    "twice, 1e-6": ("changes of q, layer 1, differ by", small(1e-6), (
        "self.optimizer.step()", "[self.optimizer.step() for _ in '12']")),
    "gradient by 1 %, 1e-3": ("changes of q, layer 1, differ by", ("Adam(", "SGD("), (
        "loss.backward()", "(1.01 * loss).backward()")),
    "gradient by 1 %, 1e-6": ("changes of q, layer 1, differ by", ("Adam(", "SGD("), small(1e-6), (
        "loss.backward()", "(1.01 * loss).backward()")),
    "gradient by 1 %, 1e-12": ("changes of q, layer 1, differ by", ("Adam(", "SGD("),
                               small(1e-12), ("loss.backward()", "(1.01 * loss).backward()")),
    "large rewards": ("TD errors differ .*rewards of the order of 10000",
                      ("wanted = rewards", "wanted = rewards.clamp(-1000, 1000)")),
}  # fmt: skip
USUAL = {
    "tau by 1 %": ("changes of critic_target|changes of actor_target", (
        "lerp_(mine, self.tau)", "lerp_(mine, 1.01 * self.tau)")),
    "delayed beyond the proof": ("changes of actor, layer 1,", (
        "self.gamma, self.tau = gamma, tau", "self.gamma, self.tau, self.n = gamma, tau, 0"), (
        "self.actor_optimizer.step()", "self.n += 1\n        if self.n < 900 or self.n % 2:\n"
        "            self.actor_optimizer.step()")),
    "one component": ("get_action must be the outputs of actor .* in component 1 for", (
        "return self.actor(obs)", "return self.actor(obs) * torch.tensor([1.0, 0.99])")),
    "one component, once": ("in component 0 for 2 of", (
        "return self.actor(obs)", "actions = self.actor(obs)\n        if len(obs) > 60:\n"
        "            actions[-1, 0] *= 0.9\n        return actions\n")),
}  # fmt: skip


class Written:
    """Numbers in the code's constants: alone, in a tuple, a set, and one within another."""

    def update_policy(self):
        return self.n == 5003 or self.n in (6007, 7001) or self.n in {8009, 9011}

    def get_action(self):
        return lambda: self.n in (((10007, 1.5), "a"), (True, None))

    def late(n, begin=11003, *, every=12007):
        return n > begin and n % every == 0

    due = staticmethod(partial(late, 13001, every=14009))


def test_numbers_within_constants_of_the_code():
    """And in defaults, those of keywords among them."""
    found = Reach(Written()).constants
    assert found >= {5003, 6007, 7001, 8009, 9011, 10007, 1.5, 11003, 12007, 13001, 14009}


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_a_dqn_that_is_wrong_somewhere(name, tmp_path):
    words, *changes = SEQUENTIAL[name]
    with pytest.raises(UsageError, match=words):
        proved(changed(tmp_path, "sequential", *changes), DISCRETE)


@pytest.mark.parametrize("name", USUAL)
def test_a_ddpg_that_is_wrong_somewhere(name, tmp_path):
    words, *changes = USUAL[name]
    with pytest.raises(UsageError, match=words):
        proved(changed(tmp_path, "usual", *changes), CONTINUOUS)


COPY = "self.target.load_state_dict(self.q.state_dict())"
SYNC = f"self.steps += 1\n        if self.steps % self.target_update == 0:\n            {COPY}"
HONEST = {
    "counts down": ((INIT, INIT.replace("update, 0", "update, target_update")), (
        SYNC, f"self.steps -= 1\n        if self.steps == 0:\n            {COPY}\n"
        "            self.steps = self.target_update")),
    "counts down, and up": ((INIT, INIT + "\n        self.left, self.all = target_update, 0"), (
        SYNC, "self.all += 1\n        self.left -= 1\n        if self.left == 0:\n"
        f"            {COPY}\n            self.left = self.target_update")),
    "counts experiences": ((SYNC, "self.steps += len(q)\n        if self.steps // len(q) % "
                            f"self.target_update == 0:\n            {COPY}"),),
    "counts in binary32": ((INIT, INIT.replace("update, 0", "update, torch.zeros(1)")),),
    "counts from 10 000 on": ((INIT, INIT.replace("update, 0", "update, 10_000")),),
    "copies, and counts these": ((INIT, INIT + "\n        self.copies = 0"), (
        COPY, f"{COPY}\n            self.copies += 1")),
    "keeps a log": ((INIT, INIT + "\n        self.log, self.loss, self.mean = [], 0.0, 0.0"), (
        COUNTED, "self.loss = loss.item()\n        self.log.append(self.loss)\n        self.mean +="
        " 0.01 * (self.loss - self.mean)\n        self.steps += 1")),
    "anneals what is not used": ((INIT, INIT + "\n        self.epsilon = 1.0"), (
        COUNTED, "self.epsilon = max(0.05, self.epsilon * 0.995)\n        self.steps += 1")),
    "a step size of 1e-8": (small(1e-8),),
    "counts actions": ((INIT, INIT + "\n        self.acts = 0"), (
        "return self.q(obs).argmax(-1)", "self.acts += len(obs)\n"
        "        return self.q(obs).argmax(-1)")),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_trainer_may_count(name, tmp_path):
    [(design, _)] = proved(changed(tmp_path, "sequential", *HONEST[name]), DISCRETE)
    assert design == "dqn"


def test_a_row_of_one(tmp_path):
    """A batch of a single experience may end an episode, too."""
    with pytest.raises(UsageError, match="TD errors differ"):
        proved(changed(tmp_path, "sequential", (" * (1 - dones)", "")), DISCRETE, batch_size=1)


@pytest.mark.parametrize(
    "changes, words",
    [
        ([("self.gamma, self.target_update,", "self.gamma, self.every,"),
          ("% self.target_update", "% self.every")],
         r"changes of target, layer 1, .* no number target_interval or target_update, so 1 was "),
        ([("self.gamma, self", "self.discount, self"), ("self.gamma *", "0.9 * ")],
         "TD errors differ .*; the trainer has no number gamma, so 0.99 was assumed"),
        ([("self.gamma, self.target_update,", "self.gamma, self.every,"),
          ("% self.target_update", "% self.every"),
          ("    def get_action", "    def target_update(self):\n        pass\n\n"
           "    def get_action")],
         "no number target_interval or target_update, so 1 was assumed"),
    ],
)  # fmt: skip
def test_what_was_assumed_is_said(changes, words, tmp_path):
    """Also where a method has the name of the number."""
    with pytest.raises(UsageError, match=words):
        proved(changed(tmp_path, "sequential", *changes), DISCRETE)


def test_shared_counters_are_as_before(tmp_path):
    """Those of a class, a global list and a closure: a run begins with them."""
    algorithm = changed(
        tmp_path, "sequential",
        ("class Trainer:", "TOTAL, LOG = [0], []\n\n\nclass Trainer:\n    total = 0\n"),
        (COUNTED, "Trainer.total += 1\n        TOTAL[0] += 1\n        LOG.append(1)\n"
         "        self.steps += 1"),
    )  # fmt: skip
    kind = algorithm.config.CONTRACT.kind
    proved(algorithm, DISCRETE)
    found = {name: place.value for name, place in Reach(kind).places.items()}
    assert found["Trainer.total"] == found["TOTAL of sequential.py[0]"] == 0
    assert found["len(LOG of sequential.py)"] == 0


def test_where_numbers_are_found():
    class Inner:
        __slots__ = ("n", "__left")

        def __init__(self):
            self.n, self.__left = 3, 8

    class Own:
        limit = 70

        def __init__(self):
            self.pair, self.inner, self.none = (5, [6.5]), Inner(), None
            self.flag, self.text, self.rng = True, "9", random.Random(2)
            self.itself = self

        def count(self, steps=11):
            return steps > 1234

        @property
        def late(self):
            return self.inner.n > 4321

        @late.setter
        def late(self, value):
            self.inner.n = value * 8642

    own = Own()
    reached = Reach(own)
    places = reached.places
    values = {name: place.value for name, place in places.items()}
    assert values == {
        "pair[0]": 5, "pair[1][0]": 6.5, "len(pair[1])": 1, "inner.n": 3, "Own.limit": 70,
        "inner._Inner__left": 8,
    }  # fmt: skip
    for place in places.values():
        place.put(place.value + 1)
    assert (own.pair, own.inner.n, Own.limit) == ((6, [7.5, 7.5]), 4, 71)
    assert reached.constants == {2, 3, 5, 6.5, 8, 11, 70, 1234, 4321, 8642}
    assert reached.generators.keys() == {"rng", "torch", "random", "numpy.random"}


@pytest.mark.long
@pytest.mark.parametrize(
    "name, design",
    [("sequential", "dqn"), ("lagged", "ddpg"), ("usual", "fixar"), ("delayed", "td3")],
)
def test_large_networks_and_batches(name, design, tmp_path):
    """Rounding stays below the limits where sums are long."""
    changes = [("width=24", "width=512")] if name == "sequential" else []
    with single_threaded(with_torch=True):
        own = changed(tmp_path, "usual", *[("32", "400"), ("24", "300")])
        if name == "delayed":
            own = changed(tmp_path, name, ("32", "400"), ("24", "300"))
        elif name != "usual":
            own = changed(tmp_path, name, *changes)
        spec = DISCRETE if name == "sequential" else CONTINUOUS
        assert [found for found, _ in proved(own, spec, batch_size=512)] == [design]
