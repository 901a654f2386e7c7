"""host.learner.card_learner on card ``model``: the card's update is the CPU's, and what comes
back."""

from functools import partial

import numpy as np
import pytest
from learner.modelled import kernel_config, learner_values, opened

from host.algorithms.config import Clock
from host.environments.spec import Spec
from host.learner.card_learner import CardLearner, steps_of
from host.learner.learning_replay import LearningReplay, learner_fields
from host.runs.assembly import build
from host.runs.preset import preset
from hw.arith.arithmetic import Arithmetic
from hw.learner.records import STEP

SPECS = {
    "dqn": Spec(shape=(3,), dtype="float32", discrete=True, action_count=4),
    "ddpg": Spec(shape=(3,), dtype="float32", discrete=False, action_count=2),
    "td3": Spec(shape=(3,), dtype="float32", discrete=False, action_count=2),
    "CartPole-v1": Spec(shape=(4,), dtype="float32", discrete=True, action_count=2),
    "Pendulum-v1": Spec(shape=(3,), dtype="float32", discrete=False, action_count=1),
}
BATCH = 16


def configured(algo, agent=(), **run):
    """A small run whose buffer is as large as its batch, so that a draw is all of it."""
    base = preset(algo, "card").to_dict()
    small = dict(hidden=(8, 6), batch_size=BATCH) | dict(agent)
    run = dict(capacity=BATCH, learning_starts=BATCH, alpha=0.0, evaluation_episodes=1) | run
    return preset(algo, "card").from_dict({**base, **run, "agent": base["agent"] | small})


def kernel_of(config, spec=None, **changes):
    learner = learner_values(config, spec or SPECS[config.algo]) | {"batch": BATCH}
    return kernel_config(learner.pop("algorithm"), capacity=200, **{**learner, **changes})


def make_policy(config):
    return config.algorithm.policy(config.agent, SPECS[config.algo], weights=1)


def make_learner(config, policy, buffer):
    return CardLearner(policy, Clock(), buffer, learning_starts=config.learning_starts)


def experiences(config, seed=2):
    rng, spec = np.random.default_rng(seed), SPECS[config.algo]
    size, count = spec.size, spec.action_count
    return {
        "obs": rng.normal(size=(BATCH, size)).astype(np.float32),
        "next_obs": rng.normal(size=(BATCH, size)).astype(np.float32),
        "action": rng.integers(count, size=BATCH)
        if spec.discrete
        else rng.uniform(-1, 1, (BATCH, count)).astype(np.float32),
        "reward": rng.normal(size=BATCH).astype(np.float32),
        "discount": rng.choice([0, 0.9, 0.81], BATCH).astype(np.float32),
    }


CASES = [
    ("dqn", dict(optimizer="adam", target_interval=3, optimizer_epsilon=1e-3)),
    ("dqn", dict(optimizer="rmsprop", double=False, loss="squared", optimizer_epsilon=1e-3)),
    ("dqn", dict(optimizer="sgd", momentum=0.9, loss="mse", activation="tanh")),
    ("dqn", dict(optimizer="sgd", momentum=0.9, huber_delta=0.5, activation="tanh")),
    ("ddpg", dict(optimizer="adam", optimizer_epsilon=1e-3, actor_learning_rate=5e-4)),
    ("ddpg", dict(optimizer="sgd", momentum=0.5, target_interval=2, target_tau=0.5)),
    ("ddpg", dict(optimizer="sgd", momentum=0.5, loss="mse")),
    ("ddpg", dict(optimizer="adam", loss="mse", optimizer_epsilon=0.1)),
    ("dqn", dict(optimizer="adam", max_gradient_norm=0.2, optimizer_epsilon=1e-3)),
    ("ddpg", dict(optimizer="sgd", momentum=0.5, loss="mse", max_gradient_norm=0.1)),
    ("ddpg", dict(optimizer="rmsprop", loss="mse", max_gradient_norm=0.1, optimizer_epsilon=0.1)),
    ("td3", dict(n_step=1, target_noise=0.0, optimizer_epsilon=1e-3, actor_learning_rate=5e-4)),
    ("td3", dict(optimizer="sgd", target_noise=0.0, policy_delay=3, target_tau=0.5, loss="mse")),
    ("td3", dict(n_step=1, target_noise=0.0, optimizer_epsilon=1e-3, max_gradient_norm=0.1)),
    ("td3", dict(optimizer="sgd", target_noise=0.0, loss="mse", max_gradient_norm=0.05,
                 critic_error_shift=8, actor_error_shift=-8)),
]  # fmt: skip


@pytest.mark.parametrize("algo, agent", CASES)
def test_the_card_does_what_the_cpu_does(algo, agent):
    """Seven updates in three launches, on everything stored, against the updater's."""
    agent = agent | {"learning_rate": 1e-2}
    config = configured(algo, agent)
    theirs, mine, data = make_policy(config), make_policy(config), experiences(config)
    cpu, clock = config.algorithm.updater(theirs), Clock()
    with opened(kernel_of(config)) as kernel:
        buffer = LearningReplay(kernel, capacity=BATCH, alpha=0.0, epsilon=0.01)
        learner = make_learner(config, mine, buffer)
        learner.launch(data, None)
        for count in (1, 2, 4):
            learner.updates_per_launch = count
            expected = []
            for _ in range(count):
                expected.append(cpu.update(data | {"weights": np.ones(BATCH)}, clock))
                clock.updates += 1
            measured = learner.learned(learner.launch(None, learner.plan(BATCH, True)))
            assert learner.clock.updates == clock.updates
            losses = [found["loss"] for _, found in expected]
            assert measured["loss"] == pytest.approx(np.mean(losses), rel=1e-4)
            errors = [abs(td).mean() for td, _ in expected]
            assert measured["td_error"] == pytest.approx(np.mean(errors), rel=1e-4)
            targets = buffer.store(("target",))
            for name, network in mine.networks.items():
                trained = cpu.networks[name]
                close(network.parameters, trained.network.parameters)
                arrays = [
                    a for w, b in (each["target"] for each in targets[name]) for a in (w.T, b)
                ]
                flat = np.concatenate([array.ravel() for array in arrays])
                close(flat, trained.target_parameters.numpy())


def close(card, cpu):
    np.testing.assert_allclose(card, cpu, rtol=2e-3, atol=2e-5)


def test_experiences_are_the_learners():
    for algo in ("dqn", "ddpg"):
        config = configured(algo)
        with opened(kernel_of(config)) as kernel:
            own = learner_fields(kernel)
        fields = SPECS[algo].fields
        assert list(fields) == list(own)
        for name, (dtype, shape) in fields.items():
            assert (np.dtype(own[name][0]), own[name][1]) == (dtype, shape)


def test_schedules_are_in_the_steps():
    agent = dict(learning_rate_final=1e-4, beta_steps=100)
    agent = configured("dqn", agent).in_run().agent
    clock = Clock(launched=10**6)
    steps = steps_of(agent, clock, 2)
    assert steps["beta"].tolist() == [1 << 15] * 2
    first = 1e-4 * np.sqrt(1 - 0.999) / (1 - 0.9)
    np.testing.assert_allclose(steps["rate"][0], first, rtol=1e-6)
    np.testing.assert_allclose(steps["floor"][0], 1e-8 * np.sqrt(1 - 0.999), rtol=1e-6)
    assert steps["blend"].tolist() == [[0, 0], [0, 0]] and (steps["keep"] == 1).all()
    clock.updates = 18
    assert steps_of(agent, clock, 2)["blend"].tolist() == [[0, 0], [1, 1]]


def test_the_actor_is_updated_later():
    """In every third update, with its own bias correction; each update has noise of its own."""
    noise, shifts = dict(target_noise=0.25, target_noise_clip=0.5), (3, -2)
    shift = dict(zip(("critic_error_shift", "actor_error_shift"), shifts, strict=True))
    agent = configured("td3", dict(policy_delay=3) | noise | shift).agent
    steps = steps_of(agent, Clock(updates=1), 5, STEP, seed=2**64 - 3)
    assert steps["sweeps"].tolist() == [1, 3, 1, 1, 3]
    assert steps["seed"].tolist() == [2**64 - 1, 0, 1, 2, 3]
    assert (steps["noise"] == 0.25).all() and (steps["noise_clip"] == 0.5).all()
    assert steps["shift"].tolist() == [[3, 3, -2, 0, 0, 0, 0]] * 5
    tau = np.float32(agent.target_tau)
    assert (steps["blend"] == tau * np.array([0, 1, 0, 0, 1], np.float32)[:, None]).all()
    for row, (critic, actor) in zip(steps, [(2, 1), (3, 1), (4, 1), (5, 1), (6, 2)], strict=True):
        rates = zip((critic, actor), agent.learning_rates_at(0), strict=True)
        wanted = [rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) for t, rate in rates]
        np.testing.assert_allclose(row["rate"], wanted, rtol=1e-6)


def session_of(kernel, config):
    return build(config, partial(LearningReplay, kernel))


ENVIRONMENTS = [("dqn", "CartPole-v1"), ("ddpg", "Pendulum-v1"), ("td3", "Pendulum-v1")]

#: learning starts as early as it may: the first batch needs every experience
CARTPOLE = dict(capacity=200, learning_starts=BATCH, env_count=2)


def test_weights_come_every_so_many_launches():
    config = configured("dqn", **CARTPOLE, weights_interval=3, updates_per_launch=2)
    with opened(kernel_of(config, SPECS[config.env])) as kernel:
        session = session_of(kernel, config)
        while not session.clock.updates:
            session.iterate()
        changed, versions = [], [session.clock.updates // session.policy.weights_steps]
        for _ in range(8):
            before = session.policy.networks["q"].parameters.copy()
            measured = session.iterate().measured
            assert measured["td_error"] > 0 and measured["loss"] > 0
            changed.append(not np.array_equal(before, session.policy.networks["q"].parameters))
            versions.append(session.clock.updates // session.policy.weights_steps)
        assert np.diff(versions).tolist() == changed, "actors are told whose weights they have"
        assert changed == [False, True, False, False, True, False, False, True]
        assert session.clock.updates == 18
        session.close()


def test_noise_on_targets_is_the_runs_own():
    """Its seeds follow from the run's, and go on with each update, also in a resumed run."""
    found = []
    for seed in (0, 1, 0):
        config = configured("td3", **CARTPOLE, env="Pendulum-v1", seed=seed, updates_per_launch=3)
        with opened(kernel_of(config, SPECS[config.env])) as kernel:
            session, plans = session_of(kernel, config), []
            for _ in range(2):
                plans += [session.learner.plan(BATCH, True) for _ in range(2)]
                state = session.learner.state_dict()
                session.close()
                session = session_of(kernel, config)
                session.learner.load_state_dict(state)
            found.append(np.concatenate([steps["seed"] for steps, _ in plans]))
            session.close()
    for seeds in found:
        assert (np.diff(seeds) == 1).all() and len(seeds) == 12
    assert (found[0] == found[2]).all() and not {*found[0]} & {*found[1]}


def weights(session):
    return np.concatenate([each.parameters for each in session.policy.networks.values()])


@pytest.mark.parametrize("algo, env", ENVIRONMENTS)
@pytest.mark.parametrize("kind", ["float32", "fixed"])
def test_the_card_acts_on_what_it_has_learned(algo, env, kind):
    """What it does is what its weights say; the host's copy comes when it is asked for."""
    config = configured(algo, **{**CARTPOLE, "env": env, "act": "card"})
    arithmetic = Arithmetic(kind=kind)
    rng, tolerance = np.random.default_rng(2), {"float32": 1e-5, "fixed": 2e-2}[kind]
    with opened(kernel_of(config, SPECS[env], arithmetic=arithmetic)) as kernel:
        session = session_of(kernel, config)
        buffer, policy = session.learner.buffer, session.policy
        begun = weights(session).copy()
        while session.clock.updates < 40:
            session.iterate()
        assert (weights(session) == begun).all()
        obs = rng.normal(size=(7, *policy.spec.shape)).astype(np.float32)
        with session.learner.actor() as actor:
            found = actor.infer(obs)
            assert actor.act(obs, greedy=True).shape[0] == 7
        np.testing.assert_array_equal(found, buffer.act(obs))
        session.learner.fetch()
        assert (weights(session) != begun).any()
        own = policy.networks[policy.ACTS].forward(obs)
        np.testing.assert_allclose(found, own, atol=tolerance)
        assert (found != policy.networks[policy.ACTS].forward(0 * obs)).any()
        session.close()


def test_another_policy_acts_in_an_evaluation_and_leaves_nothing():
    config = configured("dqn", **CARTPOLE, act="card")
    with opened(kernel_of(config, SPECS[config.env])) as kernel:
        session = session_of(kernel, config)
        while session.clock.updates < 5:
            session.iterate()
        learner, other = (
            session.learner,
            config.algorithm.policy(config.agent, SPECS[config.env], weights=9),
        )
        obs = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
        before, wanted = learner.buffer.state_dict(), other.predict(obs)
        with learner.actor(other) as actor:
            np.testing.assert_allclose(actor.infer(obs), wanted, atol=1e-5)
            assert (actor.infer(obs) != session.policy.predict(obs)).any()
            np.testing.assert_array_equal(actor.infer(obs), learner.buffer.act(obs))
        np.testing.assert_array_equal(other.predict(obs), wanted)
        for name, value in learner.buffer.state_dict().items():
            np.testing.assert_array_equal(value, before[name], name)
        with pytest.raises(ZeroDivisionError), learner.actor(other):
            raise ZeroDivisionError
        np.testing.assert_array_equal(
            learner.buffer.state_dict()["parameters"], before["parameters"]
        )
        assert session.evaluate(policy=other).shape == (1,)
        session.close()


@pytest.mark.parametrize("act", ["cpu", "card"])
@pytest.mark.parametrize("algo, env", ENVIRONMENTS)
def test_resumed_session_learns_the_same(algo, env, act):
    config = configured(algo, **{**CARTPOLE, "env": env, "alpha": 0.6, "act": act})
    kernel = kernel_of(config, SPECS[env])

    def losses(session, launches):
        return [session.iterate().measured for _ in range(launches)]

    with opened(kernel) as loaded:
        session = session_of(loaded, config)
        for _ in range(60):
            session.iterate()
        state = session.state_dict()
        wanted = losses(session, 1)
        session.close()
    with opened(kernel) as loaded:
        session = session_of(loaded, config)
        session.load_state_dict(state)
        assert losses(session, 1) == wanted and session.clock.updates == state["updates"] + 1
        session.close()


@pytest.mark.parametrize(
    "agent, changes, message",
    [
        (dict(hidden=(8,)), {}, r"^hidden must be \(8, 6\) as in the kernel, not \(8,\)$"),
        (dict(activation="relu"), {}, "^activation must be 'tanh' as in the kernel, not 'relu'$"),
        (dict(optimizer="sgd"), {}, "^optimizer must be 'adam' as in the kernel, not 'sgd'$"),
        (dict(double=True), {}, "^double must be False as in the kernel, not True$"),
        (dict(batch_size=15), {}, "^batch_size must be a multiple of 2 up to 16, as in the kernel"),
        (
            {},
            dict(batch=8),
            "^batch_size must be a multiple of 2 up to 8, as in the kernel, not 16$",
        ),
    ],
)
def test_refuses_another_kernel(agent, changes, message):
    config = configured("dqn", agent)
    with opened(kernel_of(configured("dqn"), SPECS[config.env], **changes)) as kernel:
        with pytest.raises(ValueError, match=message):
            session_of(kernel, config)
