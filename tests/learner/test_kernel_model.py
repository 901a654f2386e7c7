"""The twin of the kernels ``dqn`` and ``ddpg``: LEARN against the commands it is made of."""

import numpy as np
import pytest
from learner.modelled import DDPG, DQN, FIXED, equal, experiences, kernel_config, opened, weights

from host.learner.learning_replay import LearningReplay, hyperparameter_records, learner_fields
from host.learner.parameters import to_image, zero_moments
from host.programs.launcher import CommandError
from host.replay import experience
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from hw.learner.commands import LearnOpcode
from hw.learner.config import PARAMETER_SETS, LearnerConfig
from hw.learner.parameters.parameter_image import sections
from hw.learner.records import ERRORS, STEP_ERRORS, LearnError
from hw.replay.commands import Opcode
from hw.replay.config import ReplayKernelConfig
from hw.replay.records import Error
from sim.model.learner.network.trainer import Trainer
from sim.model.learner.parameters.parameter_sets import ParameterSets

BATCH = 8
CASES = {
    "dqn": DQN,
    "dqn fixed, one lane": kernel_config("dqn", arithmetic=FIXED, lanes=1, double=False),
    "dqn rmsprop": kernel_config("dqn", optimizer="rmsprop"),
    "ddpg": DDPG,
    "ddpg fixed, sgd": kernel_config("ddpg", arithmetic=FIXED, optimizer="sgd"),
}


def steps_of(count):
    """Steps of which no two are the same."""
    k = np.arange(count)
    return hyperparameter_records(
        count,
        scale=1 / BATCH,
        beta=0.25 + k / 16,
        clip=1.0,
        first_decay=0.9,
        second_decay=0.99,
        rate=np.stack([0.01 + 0.001 * k, 0.005 + 0.001 * k], axis=1),
        floor=1e-4,
        blend=(0.5, 0.25),
    )


def filled(kernel, config, count=30):
    """A buffer with experiences of different priorities and a fresh agent."""
    buffer = LearningReplay(kernel, capacity=40, seed=5)
    buffer.initialize(weights(config))
    buffer.add(**experiences(config, count))
    buffer.update_priorities(np.arange(count), np.linspace(-1, 2, count))
    return buffer


def launch(buffer, steps, size=256, **fields):
    """A LEARN that nobody has checked."""
    learn = {"count": len(steps), "stratum_width": 1 << 48, "batch": BATCH, **fields}
    buffer.launcher.run([(LearnOpcode.LEARN, learn)], [(0, steps.view(np.uint8))], size)


class ByHand:
    """LEARN from a kernel ``replay``, the learner's twin, and this text."""

    def __init__(self, kernel, config, fields, count):
        self.buffer = PrioritizedReplayBuffer(kernel, fields, capacity=40, seed=5)
        self.learner = Trainer(config.learner)
        image, sets, _ = to_image(config.learner, zero_moments(weights(config)))
        self.learner.load(image, sets)
        self.buffer.add(**experiences(config, count))
        self.buffer.update_priorities(np.arange(count), np.linspace(-1, 2, count))

    def iterate(self, step, inserted):
        launcher, buffer = self.buffer.launcher, self.buffer
        command = {
            "count": BATCH,
            "stratum_width": buffer._stratum(BATCH),
            "beta": int(step["beta"]),
        }
        size = BATCH * buffer.batch_dtype.itemsize
        batch = launcher.run([(Opcode.SAMPLE, command)], (), size).view(buffer.batch_dtype)
        header, records = batch["header"], batch["experience"]
        fields = {name: records[name] for name in records.dtype.names}
        result = self.learner.train(fields, header["index"], header["weight"], step)
        buffer.update_priorities(header["index"], result.td)
        if inserted is not None:
            buffer.add(**inserted)
        return result


@pytest.mark.parametrize("inserts", [0, 3])
@pytest.mark.parametrize("name", CASES)
def test_learn_is_the_commands_it_is_made_of(name, inserts):
    """Also over the end of the ring, which holds 40."""
    config, count = CASES[name], 6
    new = experiences(config, count * inserts, seed=9) if inserts else None
    replay = ReplayKernelConfig(replay=config.replay, engine=config.engine)
    with opened(config) as kernel, opened(replay, "replay") as plain:
        buffer = filled(kernel, config)
        other = ByHand(plain, config, learner_fields(kernel), 30)
        steps = steps_of(count)
        reports, parameters = buffer.learn(
            steps, batch_size=BATCH, experiences=new, store=("online", "first")
        )
        assert buffer.status["iterations"] == count
        total = np.zeros(3, int)
        for k in range(count):
            part = slice(k * inserts, (k + 1) * inserts)
            inserted = {key: array[part] for key, array in new.items()} if inserts else None
            result = other.iterate(steps[k], inserted)
            total += result.saturations
            for field, value in (
                ("loss", result.loss),
                ("td", result.td_sum),
                ("value", result.value),
                ("weight", result.weight),
                ("saturations", total),
                ("position", (30 + (k + 1) * inserts) % 40),
                ("cycles", 0),
            ):
                np.testing.assert_array_equal(reports[k][field], value, err_msg=field)
        assert np.isfinite(reports["loss"]).all() and (reports["loss"] > 0).all()
        state, expected = buffer.state_dict(), other.buffer.state_dict()
        for part in ("experiences", "priorities", "random", "position", "maximum"):
            np.testing.assert_array_equal(state[part], expected[part], err_msg=part)
        np.testing.assert_array_equal(state["parameters"], other.learner.store())
        assert not (parameters["critic" if "ddpg" in name else "q"][0]["online"][0] == 0).all()
        equal(parameters, buffer.store(("online", "first")))


@pytest.mark.parametrize("config", [DQN, DDPG])
def test_one_launch_equals_two(config):
    new, steps = experiences(config, 10, seed=3), steps_of(5)
    with opened(config) as kernel, opened(config) as second:
        one, two = filled(kernel, config), filled(second, config)
        one.learn(steps, batch_size=BATCH, experiences=new)
        for part in (slice(0, 2), slice(2, 5)):
            some = {name: array[2 * part.start : 2 * part.stop] for name, array in new.items()}
            two.learn(steps[part], batch_size=BATCH, experiences=some)
        assert len(one) == 40
        equal(one.state_dict(), two.state_dict())


BAD = [(DDPG, name, value) for name in DDPG.fields for value in (np.nan, np.inf, -np.inf)]
BAD += [(DQN, "action", value) for value in (2, 1 << 31, (1 << 32) - 1)]


@pytest.mark.parametrize("config, field, value", BAD)
def test_number(monkeypatch, config, field, value):
    """Named by its index; the failing iteration has changed nothing but the random generator."""
    # A buffer for any records: that of a learner would refuse the action.
    monkeypatch.setattr(LearningReplay, "records_of", PrioritizedReplayBuffer.records_of)
    monkeypatch.setattr(experience, "_check_floats", lambda *_: None)
    with opened(config) as kernel:
        buffer = filled(kernel, config)
        bad = experiences(config, 1)
        bad[field][...] = value
        before = buffer.learn(steps_of(2), batch_size=BATCH, store=PARAMETER_SETS).parameters
        buffer.add(**bad)
        buffer.set_priorities([30], [200.0])
        priorities = buffer.priorities()
        with pytest.raises(CommandError, match="not number: an experience of a batch") as caught:
            launch(buffer, steps_of(2))
        assert caught.value.code == LearnError.NUMBER and caught.value.detail == 30
        assert buffer.status["iterations"] == 2
        equal(buffer.store(), before)
        np.testing.assert_array_equal(buffer.priorities(), priorities)


def test_diverged():
    """The iterations before stand; the one that failed changed no priority and no parameter."""
    with opened(DQN) as kernel, opened(DQN) as second:
        buffer, other = filled(kernel, DQN), filled(second, DQN)
        steps = steps_of(3)
        steps["rate"][1] = 1e38  # of the second: parameters are beyond all bounds after it
        with pytest.raises(CommandError, match="not diverged: a TD error is inf") as caught:
            launch(buffer, steps, alpha=1 << 14)
        assert caught.value.code == LearnError.DIVERGED and caught.value.detail < 30
        launch(other, steps[:2], alpha=1 << 14)
        np.testing.assert_array_equal(buffer.priorities(), other.priorities())
        equal(buffer.store(), other.store())
        assert buffer.status["iterations"] == other.status["iterations"] == 2


def bad_learns():
    """``(fields, error)`` of a LEARN that the card refuses before anything happens; fields out of
    their limits are in ``limit_cases``, for the host does not send them."""
    good = {"count": 2, "batch": BATCH, "source": 0, "destination": 64, "experiences": 128}
    for fields, error in (
        ({"batch": 7}, LearnError.BATCH),
        ({"batch": 7, "inserts": 41}, LearnError.BATCH),
        ({"inserts": 41}, Error.COUNT),
        ({"inserts": 41, "source": 3}, Error.COUNT),
        ({"source": 32}, Error.OPERANDS),
        ({"source": 4096 - 64}, Error.OPERANDS),
        ({"inserts": 1, "experiences": 72}, Error.OPERANDS),
        # An experience is 48 bytes here and each iteration's begin on 64.
        ({"inserts": 1, "experiences": 4096 - 64}, Error.OPERANDS),
        ({"inserts": 2, "experiences": 4096 - 192}, Error.OPERANDS),
        ({"destination": 8}, Error.RESULTS),
        ({"destination": 4096 - 64}, Error.RESULTS),
        ({"destination": 4096 - 64, "source": 32}, Error.OPERANDS),
    ):
        yield {**good, **fields}, error


@pytest.mark.parametrize("fields, error", list(bad_learns()))
def test_refused_learns_change_nothing(fields, error):
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        state = buffer.state_dict()
        with pytest.raises(CommandError) as caught:
            buffer.launcher.run(
                [(LearnOpcode.LEARN, {"stratum_width": 1 << 48, **fields})], (), 4096
            )
        assert (caught.value.code, caught.value.detail) == (error, 0)
        equal(buffer.state_dict(), state)


def test_the_largest_that_is_allowed():
    """The bounds of ``bad_learns``, each from inside."""
    with opened(DQN) as kernel:
        buffer = filled(kernel, DQN)
        for fields in (
            {"batch": 16, "inserts": 2, "experiences": 4096 - 256},
            {"destination": 4096 - 128, "inserts": 1, "experiences": 4096 - 128},
            {"experiences": 4096},
        ):
            launch(buffer, steps_of(2), 4096, **{"batch": 2, **fields})


def test_records_of_another_size_and_an_empty_memory():
    with opened(DQN) as kernel:
        buffer = LearningReplay(kernel, capacity=40)
        buffer.initialize(weights(DQN))
        learn = [(LearnOpcode.LEARN, {"count": 1, "batch": 2, "stratum_width": 1 << 48})]
        for code, program in (
            (Error.FILL, learn),
            (LearnError.RECORD, [(Opcode.SETUP, {"capacity": 9, "granules": 2, "priority": 1})]),
            (LearnError.RECORD, [(Opcode.SETUP, {"capacity": 9, "granules": 4, "priority": 1})]),
        ):
            with pytest.raises(CommandError) as caught:
                buffer.launcher.run([*program, *learn], [(0, steps_of(1).view(np.uint8))], 64)
            assert caught.value.code == code
        buffer.close()
        buffer = filled(kernel, DQN)
        buffer.set_priorities(np.arange(30), np.zeros(30))
        with pytest.raises(CommandError, match="not empty"):
            buffer.launcher.run(learn, [(0, steps_of(1).view(np.uint8))], 64)


@pytest.mark.parametrize("name", ["dqn", "dqn rmsprop", "ddpg", "ddpg fixed, sgd"])
def test_load_and_store(name):
    """Any bits come back, kind by kind; sets that the optimizer lacks come back as zeros."""
    config = CASES[name]
    learner, arrays = config.learner, np.random.default_rng(0).standard_normal
    lacks = {"sgd": "second", "rmsprop": "first"}.get(learner.optimizer)
    values = {}
    for kind in PARAMETER_SETS:
        layers = {
            network: [{kind: (arrays((x.outputs, x.inputs)), arrays(x.outputs))} for x in plan]
            for network, plan in learner.networks.items()
        }
        values[kind] = to_image(learner, layers)[0]
    with opened(config) as kernel:
        buffer = LearningReplay(kernel, capacity=40)

        def transfer(opcode, bits, image=None, **fields):
            sets = [kind for k, kind in enumerate(PARAMETER_SETS) if bits >> k & 1]
            size = sum(section.size for section in sections(learner, sets))
            command = {"count": size, "sets": bits, **fields}
            operands = [] if image is None else [(fields.get("source", 0), image)]
            return buffer.launcher.run([(opcode, command)], operands, size)

        with pytest.raises(CommandError, match="not unloaded"):
            transfer(LearnOpcode.STORE, 15)
        for k, kind in enumerate(PARAMETER_SETS):
            transfer(LearnOpcode.LOAD, 1 << k, values[kind], source=128)
        for k, kind in enumerate(PARAMETER_SETS):
            stored = transfer(LearnOpcode.STORE, 1 << k).view(np.uint32)
            np.testing.assert_array_equal(stored, values[kind] * np.uint32(kind != lacks))
        whole = transfer(LearnOpcode.STORE, 15)
        transfer(LearnOpcode.LOAD, 15, whole)
        np.testing.assert_array_equal(transfer(LearnOpcode.STORE, 15), whole)

        size = whole.nbytes
        for opcode, bits, fields, error in (
            (LearnOpcode.LOAD, 15, {"count": size - 4}, LearnError.IMAGE),
            (LearnOpcode.STORE, 15, {"count": 0}, LearnError.IMAGE),
            (LearnOpcode.STORE, 7, {"count": size}, LearnError.IMAGE),
            (LearnOpcode.LOAD, 15, {"source": 1}, Error.OPERANDS),
            (LearnOpcode.LOAD, 15, {"source": 1 << 20}, Error.OPERANDS),
            (LearnOpcode.STORE, 15, {"destination": 32}, Error.RESULTS),
        ):
            with pytest.raises(CommandError) as caught:
                transfer(opcode, bits, **fields)
            assert (caught.value.code, caught.value.detail) == (error, 0)
        np.testing.assert_array_equal(transfer(LearnOpcode.STORE, 15), whole)


def test_every_error_is_in_the_table():
    assert {*LearnError, *Error} <= (ERRORS | STEP_ERRORS).keys()


@pytest.mark.parametrize("optimizer", ["sgd", "rmsprop", "adam"])
def test_networks_begin(optimizer):
    """Targets become the online parameters, and every moment is zero."""
    sets = ParameterSets(
        LearnerConfig(algorithm="td3", observation=3, action=1, optimizer=optimizer)
    )
    sets.load(np.arange(1, sets.store().size + 1, dtype=np.float32).view(np.uint32))
    assert sets.store(("first", "second")).any()
    online = sets.store(("online",))
    sets.begin()
    assert (sets.store(("online",)) == online).all()
    assert (sets.store(("target",)) == online).all()
    assert not sets.store(("first", "second")).any()
