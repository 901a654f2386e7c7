"""``first_priority=td_error``: new experiences enter the replay memory by TD errors of the policy
that acted, on every learner and memory; and what is refused."""

from contextlib import ExitStack, contextmanager
from dataclasses import replace

import numpy as np
import pytest
import torch

from host.environments.spec import Spec
from host.replay.experience import record_dtype
from host.runs.assembly import build
from host.runs.replay_runs import OffPolicyConfig
from host.runs.request import request
from host.runs.session import Session
from host.runs.start_run import on_card
from tests.host.actors.acted import INLINE, SMALL, config_of, through_a_file
from tests.host.agent_parts import CONTINUOUS, DISCRETE, Peer, make, make_batch, scramble

LOCAL = dict(actors=0, actor_order="free", first_priority="td_error")
#: Runs whose memory and learner are in each place.
RUNS = {
    "dqn on the card": ("dqn", {}),
    "dqn, learner cpu": ("dqn", dict(learner="cpu")),
    "dqn, tree": ("dqn", dict(learner="cpu", memory="tree")),
    "dqn, batches sent": ("dqn", dict(memory="tree")),
    "ddpg on the card": ("ddpg", {}),
    "ddpg, learner cpu": ("ddpg", dict(learner="cpu", memory="tree")),
    "ddpg on fixar": ("ddpg", dict(design="fixar", act="cpu", activation="relu")),
    "td3": ("td3", dict(SMALL["ddpg"], learner="cpu", memory="tree", env="Pendulum-v1")),
}


def config_for(name, **changes):
    algo, fields = RUNS[name]
    fields = LOCAL | fields | changes
    if algo != "td3":
        learner = fields.pop("learner", "card")
        settings = {"env_count": 4, "evaluation_episodes": 1} | SMALL[algo] | fields
        return request(algo, options={"learner": learner}, settings=settings)[0]
    fields.pop("design")
    settings = {"env_count": 4, "evaluation_episodes": 1} | fields
    return request(algo, options={}, settings=settings)[0]


@contextmanager
def session_of(config, actors=None) -> Session:
    with ExitStack() as stack:
        factory, _, _ = stack.enter_context(on_card(config, "model"))
        session = build(config, factory, actors=actors)
        stack.callback(session.close)
        yield session


def _records(spec, batch):
    records = np.zeros(len(batch["reward"]), record_dtype(spec.fields))
    for name in records.dtype.names:
        records[name] = batch[name]
    return records


def by_torch(policy, records):
    """Magnitudes of TD errors in float64, by torch's layers with the policy's weights."""
    peers = {name: Peer(each).double() for name, each in policy.networks.items()}
    obs, next_obs, reward, discount = (
        torch.tensor(np.array(records[name], np.float64))
        for name in ("obs", "next_obs", "reward", "discount")
    )
    with torch.no_grad():
        if "q" in peers:
            q, action = peers["q"], torch.tensor(np.array(records["action"], np.int64))
            error = reward + discount * q(next_obs).max(1).values
            error -= q(obs)[torch.arange(len(obs)), action]
            return error.abs().numpy()
        critics = [peer for name, peer in peers.items() if name.startswith("critic")]
        action = torch.tensor(np.array(records["action"], np.float64))
        following = torch.cat([next_obs, peers["actor"](next_obs)], 1)
        value = torch.stack([critic(following)[:, 0] for critic in critics]).amin(0)
        seen = torch.cat([obs, action], 1)
        found = [(reward + discount * value - critic(seen)[:, 0]).abs() for critic in critics]
        return torch.stack(found).amax(0).numpy()


@pytest.mark.parametrize(
    "algo, fields",
    [
        ("dqn", {}),
        ("dqn", dict(dueling=True, double=False)),
        ("ddpg", {}),
        ("ddpg", dict(activation="tanh", first_weights="lillicrap")),
        ("td3", {}),
    ],
)
def test_td_errors_of_a_policy(algo, fields):
    """Without target networks, whose weights are others here; one row and none too."""
    spec = DISCRETE if algo == "dqn" else CONTINUOUS
    agent, batch = make(algo, **fields), make_batch(spec)
    scramble(agent)
    records = _records(spec, batch)
    wanted = by_torch(agent.policy, records)
    assert len(np.unique(wanted)) == 32 and 0 in records["discount"]
    for rows in (32, 1, 0):
        found = agent.policy.td_errors(records[:rows])
        assert found.dtype == np.float32 and found.shape == (rows,)
        np.testing.assert_allclose(abs(found), wanted[:rows], rtol=1e-4, atol=1e-5)


def test_td_errors_of_images():
    """Records have them as they are stored, in bytes and in three dimensions."""
    spec = Spec(shape=(6, 5, 2), dtype="uint8", discrete=True, action_count=3, exponent=8)
    agent, rng = make("dqn", spec, convolutions=((4, 3, 1),)), np.random.default_rng(4)
    batch = make_batch(spec, rows=8)
    for name in ("obs", "next_obs"):
        batch[name] = rng.integers(256, size=(8, *spec.shape)).astype(np.uint8)
    tensors, q = agent.updater.tensors(batch), agent.updater.networks["q"]
    with torch.no_grad():
        wanted = tensors["reward"] + tensors["discount"] * q(tensors["next_obs"]).amax(1)
        wanted -= q(tensors["obs"]).gather(1, tensors["action"])[:, 0]
    found = agent.policy.td_errors(_records(spec, batch))
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", RUNS)
def test_the_priorities_of_new_experiences(name):
    """``(|td| + epsilon)^alpha`` (docs/replay.md) before the first gradient step, in every place of
    memory and learner; n-step experiences that are not complete yet have none."""
    config = config_for(name, alpha=0.5, priority_epsilon=0.25, learning_starts=200)
    with session_of(config) as session:
        for _ in range(5):
            session.iterate()
        for launch in session._flying:
            launch.result()
        buffer = session.learner.buffer
        memory = getattr(buffer, "memory", buffer)
        stored = memory.get_all_transitions()
        assert session.clock.updates == 0 and len(stored["reward"]) == len(memory) > 4
        records = _records(session.policy.spec, stored)
        wanted = (by_torch(session.policy, records) + 0.25) ** 0.5
        found = memory.state_dict()["priorities"] / 65536
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=3e-5)
    assert len(np.unique(found)) > 4


@pytest.mark.parametrize("name", ["dqn on the card", "dqn, learner cpu", "ddpg, learner cpu"])
def test_the_weights_are_those_that_act(name):
    """While it learns too; and a launch that learns has the TD errors of its own experience."""
    with session_of(config_for(name)) as session:
        buffer, collector = session.learner.buffer, session.collector
        wanted, given = [], []

        def spied(method, owner, take):
            plain = getattr(owner, method)

            def call(*arguments, **options):
                result = plain(*arguments, **options)
                take(options, result)
                return result

            setattr(owner, method, call)

        def collected(_, result):
            wanted.append(by_torch(session.policy, result[0]["records"]))

        spied("collect", collector, collected)
        spied("step", buffer, lambda options, _: given.append(options.get("td_errors")))
        if session.config.learner == "card":
            spied("learn", buffer, lambda options, _: given.append(options["td_errors"]))
        before = session.policy.snapshot
        before = {key: value.copy() for key, value in before.items()}
        for _ in range(14):
            session.iterate()
        after = session.policy.snapshot
    assert session.clock.updates > 4
    assert all((before[key] != after[key]).any() for key in before)
    first, *given = given
    assert first is None and len(given) == 13
    for td, mine in zip(given, wanted, strict=False):
        np.testing.assert_allclose(abs(td), mine, rtol=1e-3, atol=1e-4)


def test_windows_that_a_checkpoint_closes():
    """Their experiences are the first of a resumed run, with TD errors by the weights of then."""
    config = config_for("dqn on the card", n_step=5)
    with session_of(config) as session:
        for _ in range(12):
            session.iterate()
        state = through_a_file(session.state_dict())
    with session_of(config) as session:
        session.load_state_dict(state)
        pending = session._pending
        assert pending.keys() == {"records", "td_errors"} and len(pending["records"]) > 0
        np.testing.assert_array_equal(pending["td_errors"], state["pending"]["td_errors"])
        found, _ = session.collector.collect(session.policy, session.clock)
        records = found["records"]
        assert len(records) > 4 == config.env_count
        wanted = by_torch(session.policy, records)
        np.testing.assert_allclose(abs(found["td_errors"]), wanted, rtol=1e-3, atol=1e-4)


def test_actors_send_their_td_errors():
    """Each message has those of its launches, by the weights it was asked with; from a file too."""
    config = config_of("dqn", first_priority="td_error", launches_per_message=3)
    with session_of(config, INLINE) as session:
        policy, collector = session.policy, session.collector
        for _ in range(5):
            found, _ = collector.collect(policy, session.clock)
            wanted = by_torch(policy, found["records"])
            np.testing.assert_allclose(abs(found["td_errors"]), wanted, rtol=1e-3, atol=1e-4)
            assert not found["td_errors"].flags.writeable
        assert len(wanted) > 0 and collector.progress()["message_bytes"] > 0
        [left] = collector._current
        state = through_a_file(collector.state_dict())
    plain = replace(config, first_priority="largest")
    for each, keys in ((config, {"records", "td_errors"}), (plain, None)):
        with session_of(each, INLINE) as session:
            if keys:
                session.collector.load_state_dict(state)
            found, _ = session.collector.collect(session.policy, session.clock)
        if keys:
            assert found.keys() == keys
            for key in keys:
                assert found[key].tobytes() == left.experience[key].tobytes()
        else:
            assert found.dtype == record_dtype(session.policy.spec.fields)


@pytest.mark.parametrize("name", ["dqn on the card", "ddpg, learner cpu"])
def test_a_td_error_that_is_not_finite(name):
    """Refused by its name and place, as every other TD error; nothing is stored."""
    with session_of(config_for(name, n_step=1)) as session:
        critic = session.policy.networks["q" if name.startswith("dqn") else "critic"]
        critic.biases[-1][...] = np.inf
        session.iterate()
        with pytest.raises(ValueError, match=r"^td_errors must be finite, not nan at position 0"):
            for _ in range(2):
                session.iterate()
        assert len(session.learner.buffer) == 0


TD = dict(first_priority="td_error")
REFUSED = [
    (dict(first_priority="own"), "^first_priority must be one of largest, td_error, not 'own'$"),
    (TD | dict(algo="sac"), "for sac, not 'td_error': its policy computes no TD errors$"),
    (TD | dict(memory="ring"), "with memory ring, not 'td_error': it has no priorities$"),
    (
        TD | dict(learner="card", act="card", agent=dict(max_gradient_norm=None)),
        "with act card, not 'td_error': the host has no weights of its own$",
    ),
    (
        TD | dict(algo="ddpg", agent=dict(precision="fixed32")),
        "^precision must be float32 with first_priority td_error and learner cpu, not 'fixed32': ",
    ),
]


@pytest.mark.parametrize("values, message", REFUSED)
def test_what_is_refused(values, message):
    if not message.startswith("^"):
        message = f"^first_priority must be largest {message}"
    with pytest.raises(ValueError, match=message):
        OffPolicyConfig.from_dict(values)
    without = {name: value for name, value in values.items() if name != "first_priority"}
    assert OffPolicyConfig.from_dict(without).first_priority == "largest"


def test_a_trainer_is_refused(tmp_path):
    """Its networks are its own, and what they say is not known."""
    file = tmp_path / "mine.py"
    file.write_text(
        "class Mine:\n"
        "    def __init__(self, observation, action):\n        pass\n"
        "    def get_action(self, obs):\n        return obs[:, 0] * 0\n"
        "    def update_policy(self, obs, reward):\n        pass\n"
    )
    message = "^first_priority must be largest for .*mine.py:Mine, not 'td_error': its policy"
    settings = dict(env="CartPole-v1", first_priority="td_error")
    with pytest.raises(ValueError, match=message):
        request(f"{file}:Mine", options={}, settings=settings)
