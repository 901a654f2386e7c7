"""A run's actors: who is asked, who answers in time, who is replaced, when the run ends."""

import pytest

from host.actors.messages import ActorLoss
from host.actors.pool import ActorsFailed, Raised
from hw.errors import UsageError
from tests.host.actors.fake_transport import made, received

KILLED, SILENT = ActorLoss("killed"), "silent"


def test_answers():
    pool, transport, lines = made()
    assert not pool.started and not pool.waits
    pool.start()
    pool.start()
    assert pool.started and len(transport.made) == 2 and pool.alive == [0, 1] and len(pool) == 2
    pool.call(1, "step", 7)
    pool.call(1, "step", 8)
    assert (pool.asked(0), pool.asked(1)) == (0, 2) and pool.waits
    assert pool.receive() == [(1, ("step", 7))] and pool.receive() == [(1, ("step", 8))]
    assert not pool.waits and not lines and pool.lost == 0
    pool.close()
    assert all(worker.killed for worker in transport.made)


def test_replaced():
    """What a lost actor was asked is void; the new one has the next generation, and is asked."""
    pool, transport, lines = made(strikes={(1, 0): {1: KILLED}})
    pool.start()
    pool.call(1, "step", 1)
    pool.call(1, "step", 2)
    assert pool.receive() == [(1, None)]
    assert pool.generations == [0, 1] and pool.lost == 1 and pool.alive == [0, 1]
    assert transport.made[1].killed and not transport.made[0].killed
    assert pool.asked(1) == 0 and pool.waits, "it is being opened"
    pool.call(1, "step", 3)
    assert pool.asked(1) == 1 and received(pool, 1) == [(1, ("step", 3))]
    [(index, who, loss, text)] = lines
    assert (index, who, loss) == (1, "worker (1, 0)", KILLED)
    assert text == ("actor 1 (worker (1, 0)) was lost: its process was killed; replaced (1 of 3)")
    assert transport.made[2].calls == [("open",), ("step", 3)]


def test_a_new_actor_alone_is_waited_for():
    """As before a checkpoint: nobody has been asked since."""
    pool, _, _ = made(1, strikes={(0, 0): {1: KILLED}})
    pool.start()
    pool.call(0, "step")
    assert pool.receive() == [(0, None)] and pool.waits
    assert pool.receive() == [] and not pool.waits and pool.alive == [0]


def test_too_many_of_one():
    strikes = {(0, generation): {1: KILLED} for generation in range(9)}
    pool, _, lines = made(strikes=strikes, losses=2)
    pool.start()
    for _ in range(2):
        pool.call(0, "step")
        received(pool, 1)
    pool.call(0, "step")
    with pytest.raises(
        ActorsFailed, match=r"actor 0 was lost .* more than 2 times an hour .--actor-"
    ):
        received(pool, 1)
    assert len(lines) == 3 and lines[-1][3].endswith("the run ends") and pool.alive == [1]
    assert not pool.waits


def test_too_many_in_all():
    """Three for each actor, whichever is lost."""
    strikes = {(i, generation): {1: KILLED} for generation in range(9) for i in range(2)}
    pool, _, lines = made(strikes=strikes, losses=100)
    pool.start()
    for turn in range(6):
        pool.call(turn % 2, "step")
        received(pool, 1)
    pool.call(0, "step")
    with pytest.raises(ActorsFailed, match="more than 6 actors were lost in an hour"):
        received(pool, 1)
    assert pool.lost == 7


def test_the_same_error_again():
    """Of an environment, wherever it is raised: in another step of another one too. Its traceback
    is the run's, on request."""

    def raised(place):
        text = f"environment {place} raised ValueError: no (step {place} of its episode)"
        return ActorLoss("raised", text, "Traceback\nValueError: no")

    places = [(i, generation) for generation in range(9) for i in range(2)]
    strikes = {place: {1: raised(number)} for number, place in enumerate(places)}
    pool, _, _ = made(strikes=strikes)
    pool.start()
    for index in (0, 1):
        pool.call(index, "step")
        assert received(pool, 1) == [(index, None)]
    pool.call(0, "step")
    with pytest.raises(ActorsFailed, match=r"^actor 0 was lost \(its .*ValueError: no.*\)$") as it:
        received(pool, 1)
    assert "\n" not in str(it.value) and isinstance(it.value.__cause__, Raised)
    assert str(it.value.__cause__) == "\nTraceback\nValueError: no"


def test_different_errors_do_not_add_up():
    def raised(text):
        return ActorLoss("raised", text, f"Traceback\n{text}")

    strikes = {(0, generation): {1: raised(f"error {generation}")} for generation in range(3)}
    pool, _, _ = made(strikes=strikes)
    pool.start()
    for _ in range(3):
        pool.call(0, "step")
        assert received(pool, 1) == [(0, None)]


def test_fixed_order_replaces_none():
    pool, transport, lines = made(strikes={(0, 0): {1: KILLED}}, fixed=True)
    pool.start()
    pool.call(0, "step")
    with pytest.raises(ActorsFailed, match="with actor_order fixed none is replaced"):
        pool.receive()
    assert len(transport.made) == 2 and "the run ends" in lines[0][3]
    raised = ActorLoss("raised", "ValueError: no", "Traceback")
    pool, _, _ = made(strikes={(0, 0): {1: raised}}, fixed=True)
    pool.start()
    pool.call(0, "step")
    with pytest.raises(ActorsFailed, match=r"ValueError: no\)$") as it:
        pool.receive()
    assert str(it.value.__cause__) == "\nTraceback"


def test_no_place_for_a_new_one():
    """The run goes on with fewer after 30 seconds, but not with none."""
    strikes = {(0, 0): {1: KILLED}, (0, 1): {0: SILENT}, (1, 0): {2: KILLED}, (1, 1): {0: SILENT}}
    pool, transport, lines = made(strikes=strikes)
    pool.start()
    pool.call(0, "step")
    assert received(pool, 1) == [(0, None)] and pool.alive == [0, 1]
    pool.call(1, "step", 1)
    assert received(pool, 1) == [(1, ("step", 1))] and transport.now < 1
    assert received(pool, 1) == [(0, None)] and 30 <= transport.now < 32
    assert pool.alive == [1] and pool.asked(0) == 0
    assert "1 of 2 are left" in lines[-1][3]
    pool.call(1, "step", 2)
    assert received(pool, 1) == [(1, None)]
    with pytest.raises(ActorsFailed, match="an actor must be left, not none"):
        received(pool, 1)


def test_refused_at_the_start():
    cases = [
        (
            ActorLoss("env", "ModuleNotFoundError: my"),
            UsageError,
            "env must be an environment that",
        ),
        (
            ActorLoss("algo", "no such"),
            UsageError,
            r"algo must be importable by name .* \(no such\)",
        ),
    ]
    for loss, kind, text in cases:
        with pytest.raises(kind, match=text):
            made(strikes={(1, 0): {0: loss}})[0].start()
    pool, transport, _ = made(strikes={(1, 0): {0: SILENT}})
    said = r"actor 1 must be there within 60 s of the start \(--actor-start\), not still making"
    with pytest.raises(ActorsFailed, match=said):
        pool.start()
    assert 60 <= transport.now < 62 and not pool.alive, "so that a checkpoint waits for nobody"
    pool, transport, _ = made(strikes={(1, 0): {-1: SILENT}}, start=7.0)
    with pytest.raises(ActorsFailed, match=r"actor 1 .* within 7 s .* not without a process"):
        pool.start()
    assert 7 <= transport.now < 9


def test_replaced_at_the_start():
    """A process that is killed while it makes its environments is one loss as any other."""
    pool, transport, lines = made(strikes={(1, 0): {0: KILLED}})
    pool.start()
    assert pool.generations == [0, 1] and len(lines) == 1 and pool.alive == [0, 1]
    with pytest.raises(ActorsFailed, match="more than 0 times"):
        made(strikes={(1, 0): {0: KILLED}}, losses=0)[0].start()


def test_an_opening_may_take_as_long_as_others_did():
    """Three times the longest so far, ``limit``, ``start``, and half a minute at least."""
    for seconds, told, wanted in (
        (1.0, {}, 30.0),
        (15.0, {}, 45.0),
        (1.0, dict(limit=50.0), 50.0),
        (1.0, dict(start=400.0), 400.0),
    ):
        strikes = {(0, 0): {1: KILLED}, (0, 1): {1: KILLED}, (0, 2): {0: SILENT}}
        pool, transport, lines = made(strikes=strikes, **told)
        transport.seconds = seconds
        pool.start()
        transport.seconds = 0.0
        for _ in range(2):  # the second one opens at once, an hour later
            transport.now += 3000.0
            pool.call(0, "step")
            assert received(pool, 1) == [(0, None)]
        began = transport.now
        assert received(pool, 1) == [(0, None)]
        assert wanted <= transport.now - began < wanted + 2
        assert f"still making its environments after {wanted:.0f} s" in lines[-1][3]
        assert f"after {wanted:.0f} s; 1 of 2 are left" in lines[-1][3]


def test_an_actor_that_opens_has_no_request_yet():
    """With a process and without environments; it may be asked all the same."""
    pool, _, _ = made(strikes={(0, 0): {1: KILLED}, (0, 1): {0: SILENT}})
    pool.start()
    pool.call(0, "step")
    received(pool, 1)
    for asked in range(3):
        pool.call(1, "step")
        assert received(pool, 1) == [(1, ("step",))] and pool.asked(0) == asked
        pool.call(0, "step")


def test_a_place_that_was_given_up_is_tried_again():
    """Each minute, without a line; nobody is asked until it is there, which a line tells."""
    strikes = {(0, 0): {1: KILLED}, (0, 1): {-1: SILENT}, (0, 2): {0: KILLED}, (0, 3): {0: SILENT}}
    pool, transport, lines = made(strikes=strikes)
    pool.start()
    pool.call(0, "step")
    received(pool, 2)
    assert pool.alive == [1] and "without a process" in lines[-1][3]
    given_up, told = transport.now, len(lines)
    while pool.alive == [1]:
        transport.now += 1.0
        pool.call(1, "step")
        assert received(pool, 1) == [(1, ("step",))]
        assert pool.asked(0) == 0 and transport.now < given_up + 400
    assert pool.generations == [4, 0] and pool.lost == 1
    assert given_up + 180 <= transport.now <= given_up + 230
    assert [worker.killed for worker in transport.made] == [True, False, True, True, True, False]
    [(index, who, loss, text)] = lines[told:]
    assert (index, who, text) == (0, "worker (0, 4)", "actor 0 is there again")
    pool.call(0, "step", 5)
    assert received(pool, 1) == [(0, ("step", 5))]


def test_losses_age():
    """One an hour of one actor, always with the same error, ends no run."""
    raised = ActorLoss("raised", "OSError: no", "Traceback")
    strikes = {(0, generation): {1: raised} for generation in range(20)}
    pool, transport, lines = made(strikes=strikes)
    pool.start()
    for _ in range(8):
        pool.call(0, "step")
        assert received(pool, 1) == [(0, None)]
        transport.now += 1850.0
    assert pool.lost == 8 and lines[-1][3].endswith("replaced (2 of 3)")
    transport.now -= 1850.0
    pool.call(0, "step")
    with pytest.raises(ActorsFailed, match="OSError: no"):
        received(pool, 1)


def test_losses_of_all_actors_age():
    """Six of two actors in an hour, and then as many again."""
    strikes = {(i, generation): {1: KILLED} for generation in range(20) for i in range(2)}
    pool, transport, _ = made(strikes=strikes, losses=100)
    pool.start()
    for _ in range(2):
        for turn in range(6):
            pool.call(turn % 2, "step")
            assert received(pool, 1) == [(turn % 2, None)]
        transport.now += 3601.0
    assert pool.lost == 12


def test_the_same_error_as_often_as_losses_allow():
    raised = ActorLoss("raised", "OSError: no", "Traceback")
    strikes = {(i, generation): {1: raised} for generation in range(20) for i in range(4)}
    pool, _, _ = made(4, strikes=strikes, losses=6)
    pool.start()
    for turn in range(5):
        pool.call(turn % 4, "step")
        received(pool, 1)
    pool.call(1, "step")
    with pytest.raises(ActorsFailed, match="OSError: no"):
        received(pool, 1)


def test_answers_that_came_with_the_last_loss_are_returned():
    """Of all actors, whichever was looked at first; later ones, too, and without another error."""
    strikes = {(0, 0): {1: KILLED}, (3, 0): {2: KILLED}}
    pool, _, lines = made(4, strikes=strikes, losses=0)
    pool.start()
    for index in range(4):
        pool.call(index, "step", index)
    pool.call(3, "step", 4)
    found = [(0, None), *((index, ("step", index)) for index in (1, 2, 3))]
    assert pool.receive() == found
    with pytest.raises(ActorsFailed, match="actor 0 was lost"):
        pool.receive()
    assert pool.receive() == [(3, None)] and not pool.waits and len(lines) == 1
    assert pool.alive == [1, 2]


def test_the_error_of_a_loss_is_raised_once():
    """By whoever needs the actor first."""
    pool, _, _ = made(strikes={(0, 0): {1: KILLED}}, losses=0)
    pool.start()
    for index in range(2):
        pool.call(index, "step")
    assert pool.receive() == [(0, None), (1, ("step",))]
    for said in ("actor 0 was lost .* more than 0 times", "actor 0 must be there"):
        with pytest.raises(ActorsFailed, match=said):
            pool.call(0, "step")
    pool.call(1, "step")
    assert pool.receive() == [(1, ("step",))]


def test_ray_ends():
    """One line for all; nothing is asked or waited for after it."""
    ray = ActorLoss("ray", "raylet has ended")
    pool, transport, lines = made(strikes={(i, 0): {1: ray} for i in range(2)})
    pool.start()
    for index in range(2):
        pool.call(index, "step")
    with pytest.raises(ActorsFailed, match=r"^Ray must go on as long .* \(raylet has ended\)$"):
        pool.receive()
    assert len(lines) == 1 and lines[0][2] == ray and lines[0][3].endswith("; the run ends")
    assert not pool.alive and not pool.waits and pool.lost == 1 and len(transport.made) == 2
    with pytest.raises(ActorsFailed, match="actor 1 must be there"):
        pool.call(1, "step")


def test_nobody_is_late_because_the_run_was_away():
    """An evaluation of ten minutes; the answers behind it come when they are asked for."""
    pool, transport, lines = made()
    pool.start()
    transport.seconds = 3.0
    for index in range(2):
        pool.call(index, "step")
    transport.now += 600.0
    for answer in pool._places:  # they come one by one, as the socket has space for them
        answer.tickets[0] = (answer.tickets[0][0], transport.now + 1.0 + answer.index)
    assert received(pool, 2) == [(0, ("step",)), (1, ("step",))] and not lines
    pool.call(0, "step")
    pool.call(1, "step")
    transport.made[1].strikes = {3: SILENT}
    transport.now += 4.0
    pool.call(1, "step")
    assert pool.receive() == [(0, ("step",)), (1, ("step",))]
    assert pool.receive() == [(1, None)] and lines[0][2].kind == "hung"


def test_going_on():
    """A resumed run counts on; its actors have seeds that no earlier one had."""
    pool, transport, _ = made()
    pool.go_on([4, 2], 5)
    pool.start()
    assert [worker.name for worker in transport.made] == [(0, 5), (1, 3)] and pool.lost == 5


def test_nobody_is_waited_for_without_a_call():
    pool, _, _ = made()
    pool.start()
    with pytest.raises(RuntimeError, match="must be asked"):
        pool.receive()
