"""From a run's config to PLAY: launches, epsilon, segments, and what a card cannot."""

import numpy as np
import pytest

from host.algorithms.config import Clock
from host.environments.task_ids import register_task
from host.learner.card_learner import steps_of
from host.play.play_settings import PlaySettings, task_of
from host.runs.preset import preset
from hw.environment.tasks.cartpole import CartPole
from hw.learner.play.play_contract import PLAY_SETTINGS
from hw.learner.records import HYPERPARAMETERS

BASE = preset("dqn", "card").to_dict()


def configured(**changes):
    agent = BASE["agent"] | changes.pop("agent", {})
    return preset("dqn", "card").from_dict(BASE | {"collect": "card"} | changes | {"agent": agent})


def settings_of(**changes):
    config = configured(**changes)
    return PlaySettings(config.in_run(), HYPERPARAMETERS)


@pytest.mark.parametrize("interval, count, total", [(800, 8, 2000), (100, 8, 500), (7, 3, 40)])
def test_launches_end_where_the_run_is_evaluated(interval, count, total):
    """Also after a launch that was cut, and when the interval is no whole number of vector
    steps."""
    settings = settings_of(evaluation_interval_steps=interval, env_count=count, steps=total)

    def ends(cut):
        steps, found = 0, []
        while steps < total:
            steps += min(settings.launch_steps(steps), cut) * count
            found.append(steps)
        return found

    whole = ends(1 << 30)
    assert whole[0] == -(-interval // count) * count and whole[-1] == -(-total // count) * count
    passed = [steps for before, steps in zip([0, *whole], whole, strict=False)
              if steps // interval > before // interval or steps >= total]  # fmt: skip
    assert passed == whole
    assert set(whole) <= set(ends(2))


def test_schedules_begin_at_the_multiple_before():
    """However a launch was cut."""
    settings = settings_of(evaluation_interval_steps=100)
    assert [settings.begun(steps) for steps in (0, 99, 100, 136, 200)] == [0, 0, 100, 100, 200]


@pytest.mark.parametrize("agent", [
    dict(epsilon_steps=4000), dict(epsilon_start=0.5, epsilon_end=0.25, epsilon_steps=8),
    dict(epsilon_steps=0), dict(epsilon_start=0.3, epsilon_end=0.3, epsilon_steps=100),
])  # fmt: skip
def test_epsilon_is_the_schedule(agent):
    settings = settings_of(agent=agent)
    epsilon, decrement, end = settings.epsilon
    for step in range(600):
        wanted = settings.agent.epsilon_at(step * settings.count)
        assert abs(epsilon / 2**32 - wanted) <= (step + 2) / 2**32
        epsilon = max(epsilon - decrement, end)
        assert end <= epsilon < 1 << 32


def test_enough_is_stored_when_it_starts():
    """If no episode ends, n - 1 steps of each environment are in open windows."""
    for count, n, starts in ((8, 10, 1000), (3, 1, 100), (1, 16, 33)):
        settings = settings_of(env_count=count, learning_starts=starts, agent=dict(n_step=n))
        stored = (settings.starts - n + 1) * count
        assert starts <= stored < starts + count


def test_the_goal_is_the_threshold_of_sixteen_episodes():
    assert settings_of(env="CartPole-v1").goal(20) is None
    assert settings_of(env="CartPole-v1", until_solved=True).goal(20) == 475 * 16 << 20
    own = settings_of(env="CartPole-v1", until_solved=True, threshold=-0.1)
    assert own.goal(2) == -6, "a sum of -6.4 quarters is met by -6"
    numbers = own.settings(0, 0, 0, own.goal(2))
    assert (numbers["window"], numbers["goal"]) == (4, -6)
    assert own.settings(0, 0, 0)["window"] == 0
    assert settings_of(until_solved=True, threshold=0.1).goal(2) == 7, "6.4 quarters"
    assert settings_of(env="CartPole-v1", until_solved=True, threshold=0.0).goal(20) == 0


def test_epsilon_that_is_below_its_end():
    """After a GREEDY, or with another schedule than before: PLAY wants an end that is no larger."""
    assert settings_of().settings(0, 0, 5)["end"] == 5


def test_numbers():
    """Every field; what is counted from the run's begin."""
    config = dict(env_count=4, steps_per_launch=3, updates_per_launch=2, learning_starts=100)
    settings = settings_of(**config, agent=dict(n_step=5, gamma=0.75, reward_scale=0.5,
                                                target_interval=7, epsilon_steps=400))  # fmt: skip
    found = settings.settings(steps=40, updates=16, explore=1 << 30)
    assert [*found] == [field.name for field in PLAY_SETTINGS.fields]
    assert found == dict(
        period=3, iterations=2, starts=29, n=5, discount=3 << 29, scale=1 << 30, explore=1 << 30,
        decrement=round(0.95 * 2**32 / 100), end=round(0.05 * 2**32), target_interval=7, step=10,
        phase=1, target_phase=2, window=0, goal=0,
    )  # fmt: skip


OPTIMIZERS = [
    dict(optimizer="adam"), dict(optimizer="rmsprop"), dict(optimizer="sgd", momentum=0.5),
    dict(optimizer="adam", beta1=0.5, beta2=0.9, loss="mse", max_gradient_norm=3.0),
    dict(optimizer="adam", beta1=0.0, learning_rate_final=1e-4, learning_rate_steps=3000),
]  # fmt: skip


def expanded(segments, count):
    """A record an iteration."""
    return np.repeat(segments, segments["repeat"])[:count]


@pytest.mark.parametrize("agent", OPTIMIZERS)
def test_segments_are_the_steps_of_the_card_learner(agent):
    """Within a hundredth or two; targets too, by the rule of PLAY; however a launch is cut."""
    settings = settings_of(agent=agent | dict(target_interval=3, target_tau=0.25))
    record = HYPERPARAMETERS
    if settings.agent.max_gradient_norm is not None:
        from hw.learner.records import STEP as record

        settings = PlaySettings(settings.config, record)
    count, steps, updates = 4000, 2400, 0
    segments = settings.segments(steps, updates, count)
    assert segments["repeat"].sum() == count and len(segments) < 500
    own = expanded(segments, count)
    wanted = steps_of(settings.agent, Clock(updates=0, launched=2400), count, record)
    for name in record.dtype.names:
        if name == "seed":
            continue
        if name in ("blend", "keep"):
            due = (0 + np.arange(count) + 1) % 3 == 0
            np.testing.assert_array_equal(wanted[name][due], own[name][due])
            assert (wanted[name][~due] == (name == "keep")).all()
        elif name != "reserved":
            np.testing.assert_allclose(own[name], wanted[name], rtol=0.021, err_msg=name)
    if agent["optimizer"] == "adam" and "learning_rate_final" not in agent:
        names = ("rate", "floor")
        off = max(np.max(abs(wanted[name] / own[name] - 1)) for name in names)
        assert 0.009 < off <= 0.01001, "a record serves as long as its numbers are a hundredth off"
    for first, part in ((0, 1), (1, 9), (57, 600), (3000, 25)):
        cut = expanded(settings.segments(steps, first, part), part)
        for name in record.dtype.names:
            if name not in ("reserved", "seed"):
                np.testing.assert_array_equal(cut[name], own[name][first : first + part])
    if agent["optimizer"] != "adam":
        assert len(segments) == 1


def test_no_segment_is_as_good_as_one():
    """PLAY wants at least one."""
    found = settings_of().segments(0, 7, 0)
    assert len(found) == 1 and found["repeat"][0] == 1


@pytest.mark.parametrize("changes, message", [
    (dict(learner="cpu"), "learner must be card with collect card, not 'cpu'"),
    (dict(memory="tree"), "memory must be card with collect card, not 'tree'"),
    (dict(act="card"), "act must be cpu with collect card, not 'card'"),
    (dict(actors=2), "actors must be 0 with collect card, not 2"),
    (dict(launches_in_flight=2), "launches_in_flight must be 1 with collect card, not 2"),
    (dict(weights_interval=2), "weights_interval must be 1 with collect card, not 2"),
    (dict(first_priority="td_error"), "first_priority must be largest with collect card"),
    (dict(evaluation_on="training", env_count=1), "evaluation_on must be copies with collect card"),
    (dict(env_count=33), "env_count must be an integer in 1..32 with collect card, not 33"),
    (dict(agent=dict(n_step=17)), "n_step must be an integer in 1..16 with collect card, not 17"),
    (dict(env_count=2, steps=(2 << 32) + 1), "steps must be an integer in 1..8589934592 with coll"),
    (dict(capacity=64, learning_starts=40), "n_step must be an integer in 1..8 with collect card"),
    (dict(agent=dict(reward_clip=1.0)), "reward_clip must be None with collect card, not 1.0"),
    (dict(agent=dict(reward_scale=2.0)), "reward_scale must be in 2\\^-31..2 with collect card"),
    (dict(agent=dict(reward_scale=1e-10)), "reward_scale must be in 2\\^-31..2 with collect card"),
    (dict(agent=dict(epsilon_start=0.0)), "epsilon_end must be at most epsilon_start \\(0.0\\)"),
])  # fmt: skip
def test_what_a_card_cannot_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        configured(**changes)


def test_continuous_actions():
    base = preset("ddpg", "card")
    with pytest.raises(ValueError, match="^algo must be dqn with collect card, not 'ddpg'$"):
        base.from_dict(base.to_dict() | {"collect": "card", "launches_in_flight": 1})


@pytest.mark.parametrize("count, updates, longest", [
    (1, 1, 65_535), (8, 1, 8191), (1, 1000, 64 * 3), (2, 4096, 42),
])  # fmt: skip
def test_the_longest_launch(count, updates, longest):
    """Vector steps of 16 bits; all its episodes and REPORTs have places in their rings."""
    settings = settings_of(
        env_count=count, steps_per_launch=3, updates_per_launch=updates,
        evaluation_interval_steps=1 << 24, steps=1 << 24,
    )  # fmt: skip
    assert settings.longest == settings.launch_steps(0) == longest
    assert longest * count <= 65_535 and settings.iterations(longest) <= 65_535
    for phase in range(3):  # periods that end in five vector steps
        assert (phase + 5) // 3 * updates <= settings.iterations(5)


def test_the_longest_run_and_the_longest_episode():
    """Vector steps of 32 bits; lengths of 16 in the ring."""
    config = configured(env_count=2, steps=2 << 32)
    settings = PlaySettings(config.in_run(), HYPERPARAMETERS)
    last = config.steps - settings.launch_steps(0) * 2
    PLAY_SETTINGS.pack([*settings.settings(last, 0, 0).values()])
    for limit in (65_535, 65_536):
        register_task(f"own/Long-v{limit}", type("Long", (CartPole,), {"limit": limit}))
    assert task_of("own/Long-v65535")[1] == 65_535
    rule = "^limit of own/Long-v65536 must be an integer in 1..65535 with collect card, not 65536$"
    with pytest.raises(ValueError, match=rule):
        task_of("own/Long-v65536")


def test_tasks():
    """gymnasium's id and the task's own are one task."""
    place, limit = task_of("CartPole-v1")
    assert place == task_of("rlfabric/CartPole-v1")[0] and limit == 500
    assert place.endswith(f"cartpole:{CartPole.__name__}")
    with pytest.raises(ValueError, match=r"^env must .* with a task .*, not 'Acrobot-v1'$"):
        configured(env="Acrobot-v1").kernel_values()
