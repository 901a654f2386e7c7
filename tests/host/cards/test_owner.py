"""One kernel, one buffer: who has a kernel's state, and what another is told."""

import numpy as np
import pytest
from learner.modelled import DQN, adam, experiences, filled
from learner.modelled import opened as opened_learner
from replay.kernels import NARROW, generate, opened

from host.cards import CardError, open_card
from host.learner.learning_replay import LearningReplay
from host.replay.prioritized_buffer import PrioritizedReplayBuffer

FIELDS = {"reward": (np.float32, ())}


def buffer(kernel, **options):
    return PrioritizedReplayBuffer(kernel, FIELDS, **{"capacity": 20, **options})


def uses(first):
    """Everything that touches the kernel's state."""
    yield lambda: first.add(reward=[1.0])
    yield lambda: first.sample(1)
    yield lambda: first.step(sample=(1, 0.4))
    yield lambda: first.update_priorities([0], [1.0])
    yield lambda: first.set_priorities([0], [1.0])
    yield lambda: first.priorities()
    yield lambda: first.state_dict()


def test_a_second_buffer_is_refused():
    """And the first goes on as if nothing had been asked for."""
    with opened("model", NARROW) as kernel:
        first = buffer(kernel)
        first.add(reward=np.arange(8))
        launches = first.launches
        with pytest.raises(
            ValueError,
            match=r"^kernel must be free for PrioritizedReplayBuffer\(capacity=9, .*, not hold the "
            r"state of PrioritizedReplayBuffer\(capacity=20, fields=\['reward'\]\): one kernel, "
            r"one buffer\. close\(\) that one, or open another card",
        ):
            buffer(kernel, capacity=9)
        assert first.launches == launches
        assert sorted(first.sample(8)["reward"]) == list(range(8))


@pytest.mark.parametrize("takes", ["takeover", "close"])
def test_what_has_lost_the_kernel_says_so(takes):
    """At every use, and the other is as if there had been no first."""
    with opened("model", NARROW) as kernel, opened("model", NARROW) as fresh:
        first = buffer(kernel)
        first.add(reward=np.arange(8))
        state = first.state_dict()
        if takes == "close":
            first.close()
            with pytest.raises(RuntimeError, match=r"which was given up by close\(\)"):
                first.sample(1)
        second, other = buffer(kernel, capacity=9, takeover=takes == "takeover"), buffer(fresh)
        second.add(reward=np.arange(5, 10))
        other.add(reward=np.arange(5, 10))
        launches = second.launches
        for use in (*uses(first), lambda: first.load_state_dict(state)):
            with pytest.raises(
                RuntimeError,
                match=r"^PrioritizedReplayBuffer\(capacity=20, .* must have the kernel's state, "
                r"which is that of PrioritizedReplayBuffer\(capacity=9, .* by now: one kernel, one "
                r"buffer; open another card",
            ):
                use()
        assert second.launches == launches
        for _ in range(3):
            np.testing.assert_array_equal(second.sample(5)["reward"], other.sample(5)["reward"])
        first.close()  # it has nothing to give up
        second.sample(1)


def test_what_nobody_holds_has_no_kernel():
    """A name that is used again, as in a notebook where the old one is gone, and a failed start."""
    with opened("model", NARROW) as kernel:
        own = buffer(kernel)
        del own
        with pytest.raises(ValueError, match="seed|SeedSequence|non-negative"):
            buffer(kernel, seed=-1)
        own = buffer(kernel)
        own.add(reward=[1.0])


def test_learners_are_buffers_too():
    with opened_learner(DQN) as kernel:
        first = filled(kernel, DQN)
        with pytest.raises(ValueError, match=r"^kernel must be free for LearningReplay\("):
            LearningReplay(kernel, capacity=40)
        filled(kernel, DQN, takeover=True)
        second = filled(kernel, DQN, takeover=True)
        for use in (
            lambda: first.learn(adam(1, 0.01), batch_size=16),
            lambda: first.learn(adam(1, 0.01), batch_size=16, experiences=experiences(DQN, 3)),
            first.store,
            first.state_dict,
        ):
            with pytest.raises(RuntimeError, match=r"^LearningReplay\(.* must have the kernel's"):
                use()
        second.learn(adam(1, 0.01), batch_size=16)


def test_a_kernel_that_another_load_replaced():
    """Loaded twice on one card it is one kernel: the first handle must not reach the second's."""
    with open_card("model") as card:
        first = buffer(card.load(generate(NARROW)))
        second = buffer(card.load(generate(NARROW)))
        second.add(reward=[1.0])
        with pytest.raises(CardError, match="must be the one that its card loaded last"):
            first.add(reward=[2.0])
        assert second.sample(1)["reward"] == 1


@pytest.mark.parametrize("call", ["learn", "store", "state_dict"])
def test_parameters_come_first(call):
    """In the words of the buffer, and before anything reaches the card."""
    with opened_learner(DQN) as kernel:
        own = LearningReplay(kernel, capacity=40)
        own.add(**experiences(DQN, 20))
        launches = own.launches
        arguments = dict(learn=dict(steps=adam(1, 0.1), batch_size=16)).get(call, {})
        with pytest.raises(
            ValueError,
            match=r"^parameters must be loaded first \(initialize, or load\), not missing$",
        ):
            getattr(own, call)(**arguments)
        assert own.launches == launches and len(own) == 20
