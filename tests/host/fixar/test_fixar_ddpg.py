"""ddpg in FIXAR's fixed point: what is stored, what acts, resuming; that DDPG itself knows nothing
of it, and the host in two places alone."""

import ast
import gc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from later import later

from host.agents.registry import find
from host.algorithms.config import Clock
from host.algorithms.ddpg import DDPG
from host.fixar.fixar_ddpg import FIXAR_DDPG, FixarDDPGConfig, FixarDDPGUpdater
from host.fixar.fixar_learner import FixarLearner, NoisyPolicy
from host.learner.card_learner import CardLearner
from host.replay.replay_learner import ReplayLearner
from host.runs.preset import preset
from host.runs.replay_runs import learner_of
from host.summaries import PRECISIONS
from tests.host import agent_parts
from tests.host.agent_parts import CONTINUOUS, make_batch

HOST = Path(__file__).parents[3] / "host"
FIXED = [name for name in PRECISIONS if name != "float32"]


def make(precision, **config):
    rates = dict(learning_rate=1e-3, actor_learning_rate=1e-3)
    return agent_parts.make("ddpg", precision=precision, **{**rates, **config})


def learn(agent, updates, first=0):
    """Updates at environment steps ``first``, ``first + 1``, ...; their TD errors. Observations are
    within 1, as those from which ranges come."""
    found = []
    for i in range(first, first + updates):
        agent.clock.steps = i
        batch = make_batch(CONTINUOUS, seed=i)
        batch |= {name: batch[name].clip(-1, 1) for name in ("obs", "next_obs")}
        found.append(agent.learn(batch)[0])
    return found


@pytest.mark.parametrize("lagged", [True, False])
@pytest.mark.parametrize("precision", ["fixed32", "qat", "qat_errors_full", "fixed16_captured"])
def test_it_learns_as_binary32_does(precision, lagged):
    """SGD, whose steps are the gradients: 32 bits within their roundings, 16 within theirs."""
    options = dict(optimizer="sgd", lagged_critic=lagged, loss="squared", momentum=0.5)
    options |= dict(learning_rate=0.02, actor_learning_rate=0.02)
    plain, agent = make("float32", **options), make(precision, quantization_delay=5, **options)
    first = plain.policy.networks["actor"].parameters.copy()
    for wanted, td in zip(learn(plain, 30), learn(agent, 30), strict=True):
        assert td.dtype == np.float32
        np.testing.assert_allclose(td, wanted, atol=1e-4 if precision == "fixed32" else 3e-2)
    for name, network in plain.policy.networks.items():
        own = agent.policy.networks[name].parameters
        atol = 2e-5 if precision == "fixed32" else 5e-3
        np.testing.assert_allclose(own, network.parameters, atol=atol)
    assert abs(plain.policy.networks["actor"].parameters - first).max() > 5e-3


@pytest.mark.parametrize("precision", FIXED)
def test_what_is_stored(precision):
    """Weights and targets of their format, which the policy has in binary32."""
    agent = make(precision, quantization_delay=3, target_tau=0.25)
    learn(agent, 8)
    scale = 2.0 ** (12 if precision == "fixed16_all" else 28)
    for trained in agent.updater.networks.values():
        for flat in (trained.parameters, trained.target_parameters):
            whole = flat.detach().numpy() * scale
            np.testing.assert_array_equal(whole, np.round(whole))
        own = trained.network.parameters
        assert own.dtype == np.float32
        np.testing.assert_array_equal(own, trained.parameters.numpy().astype(np.float32))


def test_steps_of_1e_4_are_lost_in_weights_of_16_bits():
    """Less than half of 2^-12, as Adam's are at this rate: why such an agent does not train."""
    rates = dict(learning_rate=1e-4, actor_learning_rate=1e-4)
    for precision, stays in (("fixed16_all", True), ("fixed16_static", False)):
        agent = make(precision, **rates)
        before = agent.policy.networks["critic"].parameters.copy()
        learn(agent, 1)
        same = np.array_equal(before, agent.policy.networks["critic"].parameters)
        assert same == stays


def test_what_is_trained_acts():
    """In its precision, at every step; another policy of the run does too."""
    agent = make("qat", quantization_delay=4)
    policy, actor = agent.policy, agent.updater.networks["actor"]
    learner = SimpleNamespace(updater=agent.updater, policy=policy)
    obs = make_batch(CONTINUOUS)["obs"].clip(-1, 1)
    for first in (0, 6):
        learn(agent, 6, first)
        with torch.no_grad():
            wanted = actor(torch.from_numpy(obs)).numpy().astype(np.float32)
        with ReplayLearner.actor(learner) as acts:
            found = acts.act(obs, greedy=True)
        np.testing.assert_array_equal(found, wanted)
    assert 0 < abs(policy.act(obs, greedy=True) - found).max() < 1e-3, "itself it is in binary32"
    other = agent_parts.make("ddpg", precision="qat", seed=1).policy
    other.load_parameters(policy.parameters)
    with ReplayLearner.actor(learner, other) as acts:
        np.testing.assert_array_equal(acts.act(obs, greedy=True), found)
        other.networks["actor"].parameters[...] = 0
        assert not acts.act(obs, greedy=True).any()


def test_acting_captures_nothing():
    agent = make("qat", quantization_delay=40)
    learn(agent, 3, 37)
    before = agent.updater.networks["actor"].mlp.ranges
    assert agent.updater.networks["actor"].mlp.capture
    agent.updater.inferred(agent.policy).act(np.full((1, 3), 1000, np.float32))
    assert agent.updater.networks["actor"].mlp.ranges == before and before["error"][0] != (0, 0)


@pytest.mark.parametrize("precision", FIXED)
@pytest.mark.parametrize("cut", [2, 6, 9])
def test_state_resumes_bit_for_bit(precision, cut):
    """While ranges are captured, right before the switch, and after it."""
    whole, half = (
        make(precision, quantization_delay=6),
        make(precision, quantization_delay=6, seed=9),
    )
    learn(whole, cut)
    half.load_state_dict(whole.state_dict())
    half.clock.updates = whole.clock.updates
    for one, other in zip(learn(whole, 8, cut), learn(half, 8, cut), strict=True):
        np.testing.assert_array_equal(one, other)
    for name, trained in whole.updater.networks.items():
        peer = half.updater.networks[name]
        assert torch.equal(trained.parameters, peer.parameters)
        assert torch.equal(trained.target_parameters, peer.target_parameters)
        assert trained.mlp.ranges == peer.mlp.ranges
        assert trained.mlp.error_shifts == peer.mlp.error_shifts


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(precision="fixed8"), "precision must be one of float32, fixed32, .*, not 'fixed8'"),
        (dict(precision="qat", activation="tanh"), "activation must be relu with precision qat, "),
        (
            dict(precision="qat", activation="leaky_relu"),
            "activation must be relu with precision qat, not 'leaky_relu'",
        ),
        (
            dict(precision="qat", hidden=(8, 513)),
            r"hidden must be .* 1\.\.512 with precision qat, ",
        ),
        (dict(precision="qat", batch_size=513), r"batch_size must be .* in 1\.\.512 with "),
        (dict(quantization_delay=-1), "quantization_delay must be "),
        (dict(quantization_window=0), r"quantization_window must be in \(0, 1\], not 0"),
        (dict(quantization_window=1.1), "quantization_window must be "),
        (dict(quantization_delay=0.5), "quantization_delay must be "),
    ],
)
def test_config_rejects(values, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        FixarDDPGConfig(**values)


@pytest.mark.parametrize(
    "precision", ["float32", "qat", *(later(name) for name in FIXED if name != "qat")]
)
def test_a_step_leaves_no_tensors_to_the_collector(precision):
    """What waits for the garbage collector makes the memory of long runs grow."""
    agent = make(precision)
    learn(agent, 2)
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        learn(agent, 2, first=2)
        gc.collect()
        assert not [each for each in gc.garbage if isinstance(each, torch.Tensor)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def test_ddpg_knows_nothing_of_it():
    """One reads DDPG in its file (host 23); FIXAR's agents are DDPG's, and more."""
    text = (HOST / "algorithms/ddpg.py").read_text().lower()
    assert not [word for word in ("fixar", "precision", "quantiz") if word in text]
    ours = find("ddpg")
    assert ours is FIXAR_DDPG and issubclass(ours.config, DDPG.config)
    assert ours.policy is DDPG.policy and issubclass(FixarDDPGUpdater, DDPG.updater)
    assert type(make("float32").updater) is DDPG.updater
    assert type(make("fixed32").updater) is FixarDDPGUpdater
    assert ours.environments.items() >= DDPG.environments.items() and not DDPG.presets


def test_plain_ddpg_learns_the_same():
    """Bit for bit, and from a state of before it had its own file."""
    batches = [make_batch(CONTINUOUS, seed=i) for i in range(4)]
    ours = make("float32")
    policy = agent_parts.make("ddpg", learning_rate=1e-3, actor_learning_rate=1e-3).policy
    plain = DDPG.updater(policy)
    for batch in batches[:3]:
        errors, measured = ours.updater.update(batch, Clock())
        found, seen = plain.update(batch, Clock())
        np.testing.assert_array_equal(found, errors)
        assert found.dtype == errors.dtype == np.float32 and seen == measured
    plain.load_state_dict(ours.updater.state_dict())
    last = [updater.update(batches[3], Clock())[0] for updater in (plain, ours.updater)]
    np.testing.assert_array_equal(*last)


def test_where_the_host_knows_kernel_fixar_by_name():
    """Where an agent says what differs with it, where it says which learner that is, and where a
    user's steps are compared with its twin's: its name stood in five tables (host 23)."""
    found = {
        path.relative_to(HOST).as_posix()
        for path in HOST.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == "fixar"
    }
    assert found == {"fixar/fixar_ddpg.py", "runs/replay_runs.py", "proof/kernel_proof.py"}
    kinds = {design: learner_of(design) for design in ("replay", "dqn", "ddpg", "fixar")}
    assert kinds == {
        "replay": ReplayLearner, "dqn": CardLearner, "ddpg": CardLearner, "fixar": FixarLearner,
    }  # fmt: skip


@pytest.mark.parametrize("noise", ["gaussian", "ornstein_uhlenbeck"])
def test_whose_noise_explores(noise):
    """The card's own where it is Gaussian, by the schedule and a seed of the policy's; else the
    host's, around what the card infers; none where the policy is greedy."""
    how = dict(noise=noise, noise_start=0.5, noise_end=0.5)
    policy, peer = make("qat", **how).policy, make("qat", **how).policy
    asked, obs = [], make_batch(CONTINUOUS)["obs"]

    def infer(obs, **options):
        asked.append(options)
        return policy.predict(obs)

    learner = object.__new__(FixarLearner)
    learner.agent, learner.infer = policy.config, infer
    acts = learner.on_card(policy)
    np.testing.assert_array_equal(acts.act(obs, greedy=True), policy.predict(obs))
    found = acts.act(obs, steps=7)
    if noise == "gaussian":
        seed = int(peer.rng.integers(1 << 63))
        assert asked == [{}, {"noise": 0.5, "seed": seed}]
        np.testing.assert_array_equal(found, policy.predict(obs))
    else:
        assert asked == [{}, {}]
        np.testing.assert_array_equal(found, peer.act(obs))


def test_tasks_of_the_paper():
    """What they change of the long run of TD3's and SAC's papers."""
    config = preset("ddpg", "cpu", None, "HalfCheetah-v5")
    assert (config.steps, config.alpha, config.learning_starts) == (1_000_000, 0.0, 10_000)
    assert (config.evaluation_episodes, config.evaluation_interval_steps) == (10, 5000)


def test_the_cards_noise_is_that_of_the_step():
    config, asked = SimpleNamespace(noise_at=lambda steps: steps / 10), []
    policy = SimpleNamespace(config=config, rng=np.random.default_rng(0), flat=lambda obs: obs)
    policy.spec = None
    actor = NoisyPolicy(policy, lambda obs, **how: asked.append(how["noise"]))
    actor.act(np.zeros((1, 3), np.float32), steps=7)
    assert asked == [0.7]
