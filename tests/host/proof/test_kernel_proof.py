"""host.proof.kernel_proof: honest trainers are mapped to their kernel, and others refused by
name."""

import numpy as np
import pytest
from later import later

from host.proof.kernel_proof import differences, prove
from host.proof.step_recording import LARGE, Recording
from host.proof.trainer_reading import read
from host.runs.blas_threads import single_threaded
from hw.errors import UsageError
from tests.host.compose.trainer_files import CONTINUOUS, DISCRETE, changed, trainer

BATCH = dict(batch_size=24)


def proved(algorithm, spec, **config):
    agent = algorithm.config(**BATCH | config)
    with single_threaded(with_torch=True):
        return prove(read(agent.made(spec), spec), agent, spec)


@pytest.mark.parametrize(
    "name, design, wanted",
    [
        (
            "sequential",
            "dqn",
            dict(loss="huber", double=False, optimizer="adam", target_interval=4),
        ),
        ("weighted", "dqn", dict(loss="huber", double=True, optimizer="rmsprop", decay=0.95)),
        ("polyak", "dqn", dict(loss="mse", double=False, optimizer="sgd", target_tau=0.05)),
        ("lagged", "ddpg", dict(loss="squared", lagged_critic=True, precision="float32")),
        ("usual", "fixar", dict(loss="mse", lagged_critic=False, precision="fixed32")),
        (
            "delayed",
            "td3",
            dict(loss="mse", policy_delay=2, target_noise=0.3, target_noise_clip=0.4),
        ),
    ],
)
def test_honest_trainers_have_one_kernel(name, design, wanted):
    spec = DISCRETE if design == "dqn" else CONTINUOUS
    [(found, config)] = proved(trainer(name), spec)
    assert found == design and config.batch_size == 24 and config.max_gradient_norm is None
    assert {field: getattr(config, field) for field in wanted} == wanted
    if design != "dqn":
        assert (config.learning_rate, config.actor_learning_rate) == (2e-3, 1e-3)
        assert (config.gamma, config.target_tau) == (0.98, 0.02)


def test_what_the_run_decides_is_kept():
    """gamma is the run's if the trainer takes discounts; without weights beta is 0."""
    own = dict(n_step=3, gamma=0.9, reward_scale=0.5, epsilon_end=0.01, beta_start=0.7)
    [(_, config)] = proved(trainer("weighted"), DISCRETE, **own)
    assert {name: getattr(config, name) for name in own} == own
    [(_, config)] = proved(trainer("polyak"), DISCRETE, **own)
    assert (config.gamma, config.beta_start, config.beta_end) == (0.9, 0, 0)
    [(_, config)] = proved(trainer("sequential"), DISCRETE, gamma=0.9)
    assert config.gamma == 0.99 and (config.beta_start, config.beta_end) == (0, 0)
    [(_, config)] = proved(trainer("lagged"), CONTINUOUS, noise_start=0.3)
    assert config.noise_start == 0.3


SEQUENTIAL = [
    ("sign", "loss.backward()", "(-loss).backward()", "changes of q, layer 1, differ"),
    ("gamma", "self.gamma * following", "0.97 * following", "TD errors differ"),
    ("nearly gamma", "self.gamma * following", "0.989 * following", "TD errors differ"),
    ("no target", "self.target(next_states)", "self.q(next_states)", "TD errors differ"),
    ("loss", "smooth_l1_loss", "l1_loss", "changes of q, layer 1, differ"),
    ("gather", "gather(1, actions.unsqueeze(1)).squeeze(1)", "max(1).values", "TD errors differ"),
    ("reward", "wanted = rewards", "wanted = 0.5 * rewards", "TD errors differ"),
    ("done", " * (1 - dones)", "", "TD errors differ"),
    ("never", "self.steps += 1", "self.steps += 4.5", "changes of target, layer 1, differ"),
    ("late", "self.steps += 1", "self.steps += 0.5", "changes of target, layer 1, differ"),
    (
        "twice",
        "self.optimizer.step()",
        "[self.optimizer.step() for _ in '12']",
        "changes of q, layer",
    ),
    (
        "clipped",
        "self.optimizer.step()",
        "nn.utils.clip_grad_norm_(self.q.parameters(), 1.0)\n        self.optimizer.step()",
        "changes of q, layer 1, differ",
    ),
    (
        "soft",
        "self.target.load_state_dict(self.q.state_dict())",
        "for a, b in zip(self.target.parameters(), self.q.parameters()):\n"
        "                a.data.lerp_(b.data, 0.5)",
        "changes of target, layer 1, differ",
    ),
    (
        "all actions",
        "loss(q, wanted)",
        "loss(self.q(states), wanted[:, None].expand(-1, 3))",
        "changes of q, layer 1, differ",
    ),
]


@pytest.mark.parametrize("case", SEQUENTIAL, ids=lambda case: case[0])
def test_deviations_of_dqn_are_named(case, tmp_path):
    _, old, new, words = case
    with pytest.raises(UsageError) as error:
        proved(changed(tmp_path, "sequential", (old, new)), DISCRETE)
    start = f"update_policy must be DQN's step to train on the card, not one whose {words}"
    assert str(error.value).startswith(start) and " (step " in str(error.value)


def test_an_online_bootstrap_that_is_not_detached(tmp_path):
    """Its TD errors are those of a target that is equal; only its gradient is another."""
    changes = ("self.slow(batch", "self.q(batch"), ("self.slow.requires_grad_(False)", "pass")
    with pytest.raises(
        UsageError, match="DQN's step .* not one whose changes of q, layer 1, differ"
    ):
        proved(changed(tmp_path, "polyak", *changes), DISCRETE)


def test_weights_that_are_taken_but_not_used(tmp_path):
    with pytest.raises(UsageError, match="not one whose changes of online, layer 1, differ"):
        proved(changed(tmp_path, "weighted", ("weights * clipped", "clipped")), DISCRETE)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("self.actor_target(next_obs)", "self.actor(next_obs)", "TD errors differ"),
        ("zip(online.", "zip(target.", "changes of critic_target, layer 1, differ"),
        ("self.tau)", "2 * self.tau)", "changes of critic_target, layer 1, differ"),
        (
            "-self.value(self.critic,",
            "-self.value(self.critic_target,",
            "changes of actor, layer 1",
        ),
        ("(-self.value", "(self.value", "changes of actor, layer 1, differ"),
        ("td.square().mean()", "td.square().sum()", "changes of critic, layer 1, differ"),
    ],
)
def test_deviations_of_ddpg_are_named(old, new, words, tmp_path):
    with pytest.raises(UsageError, match=f"^update_policy must be DDPG's step .* whose {words}"):
        proved(changed(tmp_path, "usual", (old, new)), CONTINUOUS)


def test_the_usual_ddpg_with_tanh_has_no_kernel(tmp_path):
    """Kernel fixar, which has its order, has relu alone."""
    words = "changes of actor, .*; kernel fixar: activation must be relu with .*, not 'tanh'$"
    with pytest.raises(UsageError, match=f"^update_policy must be DDPG's step .* {words}"):
        proved(changed(tmp_path, "usual", ("nn.ReLU", "nn.Tanh")), CONTINUOUS)


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("torch.min(", "torch.max(", "TD errors differ"),
        later("clamp(-self.noise_clip, self.noise_clip)", "clamp(-1, 1)", "TD errors differ"),
        later("* self.policy_noise", "* 0.2", "TD errors differ"),
        later(").clamp(-1, 1)", ")", "TD errors differ"),
        later("self.two_target(ahead)", "self.one_target(ahead)", "TD errors differ"),
        later("torch.where(two.abs() > one.abs(), two, one)", "one", "TD errors differ"),
        later("(-self.one(torch.cat", "(-self.two(torch.cat", "changes of actor, layer 1, differ"),
        later(
            "            self.follow()", "        self.follow()", "changes of one_target, layer 1"
        ),
        later("% self.policy_freq == 0", "% 3 == 0", "changes of actor, layer 1, differ"),
        later("sum(td.square().mean() for td in errors)", "errors[0].square().mean()", "changes"),
        later("[*pairs, (self.two, self.two_target)]", "pairs", "changes of two_target, layer 1,"),
    ],
)
def test_deviations_of_td3_are_named(old, new, words, tmp_path):
    with pytest.raises(UsageError, match=f"^update_policy must be TD3's step .* whose {words}"):
        proved(changed(tmp_path, "delayed", (old, new)), CONTINUOUS)


def test_numbers_that_td3_lacks_are_named(tmp_path):
    own = ("self.policy_noise, self.noise_clip, self.updates = 0.3, 0.4, 0", "self.updates = 0")
    own = own, ("-self.noise_clip, self.noise_clip", "-0.4, 0.4"), ("self.policy_noise", "0.3")
    said = "no number target_noise or policy_noise, so 0.2 was assumed; .* target_noise_clip or noi"
    with pytest.raises(UsageError, match=f"TD errors differ .*{said}"):
        proved(changed(tmp_path, "delayed", *own), CONTINUOUS)


@pytest.mark.parametrize(
    "name, old, new, words",
    [
        ("sequential", "argmax", "argmin", "argmax of q to train .*, not another for 2.. of 256 o"),
        ("usual", "return self.actor(obs)", "return self.actor_target(obs)", "outputs of actor"),
        ("lagged", "return td.detach()", "return td.detach()\n\n    def get_action(self, obs):\n"
         "        return 0.9 * self.actor(obs)", "outputs of actor to train"),
    ],
)  # fmt: skip
def test_actions_that_are_not_the_networks(name, old, new, words, tmp_path):
    spec = DISCRETE if name == "sequential" else CONTINUOUS
    own = changed(tmp_path, "usual")
    own = changed(tmp_path, name, (old, new))
    with pytest.raises(UsageError, match=f"^get_action must be the {words}"):
        proved(own, spec)


def test_a_gradient_limit_that_large_errors_alone_reach(tmp_path):
    limit = "nn.utils.clip_grad_norm_(self.critic.parameters(), 60.0)\n        "
    limit += "self.critic_optimizer.step()"
    with pytest.raises(UsageError, match=r"changes of critic, layer 1, .* \((step 4|with rewards)"):
        proved(changed(tmp_path, "usual", ("self.critic_optimizer.step()", limit)), CONTINUOUS)


def test_a_long_interval_is_reached(tmp_path):
    longer = "target_update=4", "target_update=9"
    assert proved(changed(tmp_path, "sequential", longer), DISCRETE)[0][1].target_interval == 9
    never = "self.steps % self.target_update == 0", "False"
    with pytest.raises(UsageError, match=r"changes of target, layer 1, differ .* \(step 2\)"):
        proved(changed(tmp_path, "sequential", longer, never), DISCRETE)


def test_an_interval_that_takes_too_long():
    options = trainer("sequential").config.CONTRACT.options(target_update=20_001)
    with pytest.raises(UsageError, match=r"^target_interval must be .* 1..20000 to be proved"):
        proved(trainer("sequential"), DISCRETE, trainer=options)


@pytest.mark.parametrize(
    "name, share",
    [("sequential", 2e-2), ("lagged", 0.2), ("usual", 0.2), later("delayed", 0.2)],
)
def test_distances_of_honest_trainers_are_of_rounding(name, share):
    """Shares of their limits; TD errors, and every layer and its target, are compared."""
    spec = DISCRETE if name == "sequential" else CONTINUOUS
    agent = trainer(name).config(**BATCH)
    reading = read(agent.made(spec), spec)
    with single_threaded(with_torch=True):
        record = Recording(reading, agent, spec)
        [(design, config)] = prove(reading, agent, spec, record)
        found = list(differences(record, reading, design, config, spec))
    shares = [difference / limit for _, difference, limit in found]
    layers = sum(2 * len(config.hidden) + 2 for _ in reading.networks)
    tensors = 2 * layers
    assert len(shares) == 4 * (1 + tensors) * (2 if name == "usual" else 1)
    assert 0 < max(shares) < share


def test_batches_in_which_no_episode_or_all_end():
    """Each with rewards, and some without; None: some end."""
    agent = trainer("sequential").config(**BATCH)
    with single_threaded(with_torch=True):
        record = Recording(read(agent.made(DISCRETE), DISCRETE), agent, DISCRETE)
        steps = record.ends()
    ended = [(step.batch["discount"] == 0).mean() for step in steps]
    shares = [share if share in (0, 1) else None for share in ended]
    rewards = [bool(step.batch["reward"].any()) for step in steps]
    assert {*zip(shares, rewards, strict=True)} >= {(0, True), (1, True), (0, False), (None, False)}


def test_discounts_of_several_steps():
    """An experience at the end of an episode has fewer steps than ``n_step``."""
    agent = trainer("weighted").config(n_step=3, **BATCH)
    with single_threaded(with_torch=True):
        record = Recording(read(agent.made(DISCRETE), DISCRETE), agent, DISCRETE)
        found = {each for step in record.ends() for each in step.batch["discount"].tolist() if each}
    wanted = np.float32([agent.gamma**k for k in (1, 2, 3)])
    np.testing.assert_array_equal(sorted(found, reverse=True), wanted)


@pytest.mark.parametrize("name", ["sequential", "lagged"])
def test_observations_that_actions_are_compared_at(name):
    """Common ones, and ones far beyond what a trainer may clip; as many rows as one, and more."""
    spec = DISCRETE if name == "sequential" else CONTINUOUS
    agent = trainer(name).config(**BATCH)
    with single_threaded(with_torch=True):
        record = Recording(read(agent.made(spec), spec), agent, spec)
    sizes = [act.obs.std() for act in record.acts if len(act.obs) > 20]
    large = LARGE[{"sequential": "dqn", "lagged": "ddpg"}[name]][0]
    assert 0.8 < min(sizes) < 1.2 and 0.8 < max(sizes) / large < 1.2
    assert {len(act.obs) == 1 for act in record.acts} == {True, False}
