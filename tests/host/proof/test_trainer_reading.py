"""host.proof.trainer_reading: networks, optimizers and numbers of a trainer, and what no card
has."""

import pytest

from host.proof.trainer_reading import Network, read
from hw.errors import UsageError
from tests.host.compose.trainer_files import CONTINUOUS, DISCRETE, changed, trainer


def reading(algorithm, spec):
    return read(algorithm.config().made(spec), spec)


def test_dqn_in_three_styles():
    found = reading(trainer("sequential"), DISCRETE)
    assert found.algorithm == "dqn" and found.networks == {"q": Network("q", "target", "optimizer")}
    assert found.agent == {
        "hidden": (24, 24),
        "activation": "relu",
        "optimizer": "adam",
        "learning_rate": 1e-3,
        "optimizer_epsilon": 1e-8,
        "beta1": 0.9,
        "beta2": 0.999,
        "gamma": 0.99,
        "target_tau": 1.0,
        "target_interval": 4,
    }
    found = reading(trainer("weighted"), DISCRETE)
    assert found.networks == {"q": Network("online", "target", "optimizer")}
    assert (found.agent["hidden"], found.agent["activation"]) == ((32,), "tanh")
    assert (found.agent["optimizer"], found.agent["decay"]) == ("rmsprop", 0.95)
    found = reading(trainer("polyak"), DISCRETE)
    assert found.networks == {"q": Network("q", "slow", "optimizer")}
    assert (found.agent["target_tau"], found.agent["target_interval"]) == (0.05, 1)
    assert (found.agent["optimizer"], found.agent["momentum"]) == ("sgd", 0.9)


@pytest.mark.parametrize("name", ["usual", "lagged"])
def test_ddpg(name):
    found = reading(trainer(name), CONTINUOUS)
    assert found.algorithm == "ddpg" and list(found.networks) == ["critic", "actor"]
    assert found.networks["actor"] == Network("actor", "actor_target", "actor_optimizer")
    assert (found.agent["learning_rate"], found.agent["actor_learning_rate"]) == (2e-3, 1e-3)
    assert (found.agent["gamma"], found.agent["target_tau"]) == (0.98, 0.02)


def test_td3():
    found = reading(trainer("delayed"), CONTINUOUS)
    assert (found.algorithm, found.interval) == ("td3", 2)
    assert found.networks == {
        "critic": Network("one", "one_target", "critic_optimizer"),
        "critic_2": Network("two", "two_target", "critic_optimizer"),
        "actor": Network("actor", "actor_target", "actor_optimizer"),
    }
    numbers = dict(policy_delay=2, target_noise=0.3, target_noise_clip=0.4, target_tau=0.02)
    numbers |= dict(learning_rate=2e-3, actor_learning_rate=1e-3)
    assert {name: found.agent[name] for name in numbers} == numbers
    assert "target_interval" not in found.agent and not found.assumed


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("online = self.actor, self.one, self.two", "online = self.actor, self.one, self.one",
         "one must have one target, a module of its layers that is in no optimizer, .* not 2"),
        ("critic_optimizer = torch.optim.Adam(both, lr=2e-3)",
         "critic_optimizer = torch.optim.Adam(self.one.parameters(), lr=2e-3)\n"
         "        self.other = torch.optim.Adam(self.two.parameters(), lr=1e-3)",
         "other must have learning_rate 0.002 as critic_optimizer to train on the card, not 0.001"),
    ],
)  # fmt: skip
def test_what_is_no_td3(old, new, words, tmp_path):
    with pytest.raises(UsageError, match=f"^{words}"):
        reading(changed(tmp_path, "delayed", (old, new)), CONTINUOUS)


def test_one_optimizer_of_both(tmp_path):
    """Their rates are one, and a module with two names is read once."""
    both = "[*self.actor.parameters(), *self.critic.parameters()]"
    changes = (
        ("self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)", "pass"),
        (
            "Adam(self.critic.parameters(), lr=2e-3)",
            f"Adam({both}, lr=2e-3)\n        self.mu = self.actor",
        ),
        ("self.actor_optimizer.", "self.critic_optimizer."),
    )
    found = reading(changed(tmp_path, "usual", *changes), CONTINUOUS)
    assert {each.optimizer for each in found.networks.values()} == {"critic_optimizer"}
    assert (found.agent["learning_rate"], found.agent["actor_learning_rate"]) == (2e-3, 2e-3)


FORWARD = [
    # what stands instead of ``self.last(torch.tanh(self.first(x)))``, and what is no branch of it
    ("self.last(self.first(x).relu())", "relu"),
    ("self.last(nn.functional.relu(self.first(x.flatten(1)))).squeeze(-1)", "relu"),
    ("self.last(torch.cat([x], 1).float() if False else self.first(x).tanh())", "tanh"),
    ("self.last(torch.tanh(self.first(torch.cat([x], 1))))", "tanh"),
]


@pytest.mark.parametrize("forward, activation", FORWARD)
def test_writings_of_a_network(forward, activation, tmp_path):
    change = "self.last(torch.tanh(self.first(x)))", forward
    found = reading(changed(tmp_path, "weighted", change), DISCRETE)
    assert (found.agent["hidden"], found.agent["activation"]) == ((32,), activation)


RULE = "online.forward must be Linear with bias, ReLU or Tanh, and Linear again to train .*, not "


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("return self.last", "return self.last(x) if x.sum() > 0 else self.last",
         "online.forward must be what torch.fx can trace to train .*, not other code .symbol"),
        ("torch.tanh(self.first(x))", "torch.sigmoid(self.first(x))", RULE + "sigmoid"),
        ("torch.tanh(self.first(x))", "self.first(x)", RULE + "a Linear without an activation"),
        ("torch.tanh(self.first(x))", "torch.tanh(self.first(x)).relu()", RULE + "relu"),
        ("self.first(x))", "self.first(x) + x.sum())", RULE + "a branch at sum_1"),
        ("self.first(x))", "torch.cat([self.first(x)], 1))", RULE + "cat"),
        ("self.first(x))", "(h := self.first(x)) * h)", RULE + "mul"),
        ("self.first(x))", "self.first(torch.tanh(x)))", RULE + "tanh"),
        ("observation, width)", "observation, width, bias=False)", RULE + "first without a bias"),
        ("self.last(torch.tanh(self.first(x)))", "x", RULE + "none of these"),
    ],
)  # fmt: skip
def test_networks_that_no_card_has(old, new, words, tmp_path):
    with pytest.raises(UsageError, match=f"^{words}"):
        reading(changed(tmp_path, "weighted", (old, new)), DISCRETE)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("torch.optim.Adam(", "torch.optim.AdamW(", "must be one of Adam, RMSprop, SGD to train on"
         " the card, not AdamW"),
        ("lr=rate)", "lr=rate, amsgrad=True)", "must be without amsgrad to train on the card, not"),
        ("lr=rate)", "lr=rate, weight_decay=0.01)", "must be without weight_decay .* with 0.01"),
        ("Adam(self.q.parameters(), lr=rate)", "RMSprop(self.q.parameters(), centered=True)",
         "must be without centered"),
        ("Adam(self.q.parameters(), lr=rate)", "RMSprop(self.q.parameters(), momentum=0.5)",
         "must be without momentum"),
        ("Adam(self.q.parameters(), lr=rate)", "SGD(self.q.parameters(), 1e-2, 0.9, nesterov=True)",
         "must be without nesterov"),
        ("Adam(self.q.parameters(), lr=rate)", "SGD(self.q.parameters(), 1e-2, 0.9, 0.5)",
         "must be without dampening"),
        ("Adam(self.q.parameters(), lr=rate)",
         "Adam([{'params': self.q[0].parameters()}, {'params': self.q[2:].parameters()}])",
         "must have one group of parameters to train on the card, not 2"),
        ("Adam(self.q.parameters(), lr=rate)", "Adam(self.q[2:].parameters())",
         "must have all parameters of q to train on the card, not some"),
    ],
)  # fmt: skip
def test_optimizers_that_no_card_has(old, new, words, tmp_path):
    with pytest.raises(UsageError, match=f"^optimizer {words}"):
        reading(changed(tmp_path, "sequential", (old, new)), DISCRETE)


BOTH = "self.optimizer = torch.optim.Adam(both)"
ADAM = "self.optimizer = torch.optim.Adam(self.q.parameters(), lr=rate)"


@pytest.mark.parametrize(
    "old, new, words",
    [
        (ADAM, f"{ADAM}\n        self.decay = torch.optim.lr_scheduler.StepLR(self.optimizer, 9)",
         "decay must be absent to train on the card, not a schedule of torch"),
        ("width=24", "width=513", r"q.hidden must be an integer in 1..512 on the card, not 513"),
        ("self.target = ", "self.target = self.other = ", "q must have one target, .* not 0"),
        ("self.target = ", "self.third, self.target = copy.deepcopy(self.q), ",
         "q must have one target, a module of its layers that is in no optimizer, .* not 2"),
        ("nn.ReLU(),\n            nn.Linear(width, action)",
         "nn.Tanh(),\n            nn.Linear(width, action)",
         "q must have one activation in all hidden layers to train on the card, not relu and tanh"),
        ("nn.Linear(width, action)", "nn.Linear(width, action + 1)",
         "q must be of 4 inputs, 3 outputs and linear at its end .*, not 4, 4 and linear"),
        ("nn.Linear(width, width),\n            nn.ReLU(),",
         "*[each for _ in range(4) for each in (nn.Linear(width, width), nn.ReLU())],",
         r"q.hidden must be 1 to 4 widths on the card, not \(24, 24, 24, 24, 24\)"),
        (ADAM, ADAM.replace("self.q.", "self.target."), None),
        (ADAM, "self.optimizer = None",
         "networks in training must be one network, DQN's, to train on the card, not none"),
        (ADAM, f"both = [*self.target.parameters(), *self.q.parameters()]\n        {BOTH}",
         "q must have one target, .*, not 0"),
    ],
)  # fmt: skip
def test_what_else_is_no_dqn(old, new, words, tmp_path):
    if "self.other" in new:  # a target that has a name, but is the network itself
        new = "self.target = self.other = self.q\n        copy.deepcopy"
        old = "self.target = copy.deepcopy"
    algorithm = changed(tmp_path, "sequential", (old, new))
    if words is None:  # the names are the trainer's
        assert reading(algorithm, DISCRETE).networks["q"] == Network("target", "q", "optimizer")
        return
    with pytest.raises(UsageError, match=f"^{words}"):
        reading(algorithm, DISCRETE)


@pytest.mark.parametrize(
    "old, new, words",
    [
        (", nn.Tanh())", ")", "networks in training must be one critic or two and an actor that "
         "ends in tanh, to train on the card, not actor, critic"),
        ("lr=1e-3)", "lr=1e-3, eps=1e-4)", "actor_optimizer must have optimizer_epsilon 1e-08 as "
         "critic_optimizer to train on the card, not 0.0001"),
        ("torch.optim.Adam(self.actor", "torch.optim.SGD(self.actor", "actor_optimizer must have"),
        ("observation + action, 1)", "observation + action, 2)", "critic must be of 5 inputs, 1 o"),
        ("    hidden =", "    hidden = nn.Linear(inputs, 24), nn.ReLU()\n    if outputs == 1:\n"
         "        hidden =", r"actor must have the hidden layers \(32, 24\) of critic .* \(24"),
    ],
)  # fmt: skip
def test_what_is_no_ddpg(old, new, words, tmp_path):
    with pytest.raises(UsageError, match=f"^{words}"):
        reading(changed(tmp_path, "usual", (old, new)), CONTINUOUS)
