"""What a task is: state, actions, a reset and a step, written over symbolic numbers."""

import math
from dataclasses import dataclass

from hw.arith.fixed import FixedFormat
from hw.environment.trace import HIGH, Condition, Number, Trace, fraction_of
from hw.errors import UsageError

__all__ = ["WORD_WIDTH", "Task", "Traced", "TracedTask", "trace"]

WORD_WIDTH = 32
#: discrete actions of a task, at most
_MOST_ACTIONS = 1 << 16


class Task:
    """A base class of tasks. A subclass has these attributes and methods; its ``step`` is traced
    once, so it computes with ``where`` instead of ``if``.

    Attributes
    ----------
    formats : dict of str to FixedFormat
        The state's numbers, each with its name: signed formats of 32 bits.
    actions : int or dict of str to (float, float)
        The number of discrete actions, which ``step`` gets as a number 0, 1, ...; or bounds of
        each continuous action, which ``step`` gets as a tuple.
    observation : dict of str to (float, float)
        Bounds of each number that ``observe`` returns, as the observation space has them.
    limit : int
        Steps after which an episode is truncated.
    threshold : float or None
        The mean return from which on the task counts as solved.
    drawn_as : str or None
        The id of an environment of gymnasium whose picture of ``state`` is the task's picture.
    """

    formats: dict | None = None
    actions: int | dict | None = None
    observation: dict | None = None
    limit: int | None = None
    threshold: float | None = None
    drawn_as: str | None = None

    def reset(self, random):
        """The first state: a list of numbers, of ``random(low, high)`` or Python's."""
        raise NotImplementedError

    def step(self, state, action, random):
        """``(state, reward, terminated)`` after ``action``: a list of numbers, a number, and a
        Condition, True or False. ``state`` is a tuple of numbers, ``random`` as of ``reset``."""
        raise NotImplementedError

    def observe(self, state):
        """The numbers that an agent sees of ``state``; without this method, all of them."""
        return state


@dataclass(frozen=True)
class Traced:
    """One function of a task as operations.

    trace : the operations.
    state, observation : Numbers, in the task's order.
    reward, terminated : Numbers; None of the function ``reset``. The word of ``terminated`` is 1
        or 0.
    """

    trace: Trace
    state: tuple
    observation: tuple
    reward: Number | None = None
    terminated: Number | None = None


@dataclass(frozen=True)
class TracedTask:
    """A task and its two functions as operations.

    name : of the task's class.
    task : the Task.
    action_fractions : fraction bits of each action's word; a discrete action has some too.
    step, reset : Traced.
    """

    name: str
    task: Task
    action_fractions: tuple
    step: Traced
    reset: Traced


def trace(task):
    """The TracedTask of ``task``, an object of a subclass of Task. UsageError, with the name of the
    field or the line of the task, if the machine cannot do it."""
    name = type(task).__name__
    _check(name, task)
    begun = Trace()
    begun_state = _stored(name, task, begun, task.reset(begun.random))
    reset = Traced(begun, begun_state, _observed(name, task, begun, begun_state))
    stepped = Trace()
    state = tuple(
        stepped.number(
            "STATE", (), each.fraction, each.low * each.resolution, each.high * each.resolution, i
        )
        for i, each in enumerate(task.formats.values())
    )
    action, fractions = _action(task, stepped)
    returned = task.step(state, action, stepped.random)
    if not isinstance(returned, tuple) or len(returned) != 3:
        raise UsageError(f"{name}.step must return state, reward, terminated, not {returned!r}")
    following, reward, terminated = returned
    following = _stored(name, task, stepped, following)
    if isinstance(terminated, bool):
        terminated = stepped.constant(int(terminated)).at(0)
    elif isinstance(terminated, Condition):
        terminated = terminated.word()
    else:
        raise UsageError(f"{name}.step must return a condition third, not {terminated!r}")
    step = Traced(
        stepped,
        following,
        _observed(name, task, stepped, following),
        _number(name, "reward", stepped, reward),
        terminated,
    )
    return TracedTask(name, task, fractions, step, reset)


def _check(name, task):
    if not isinstance(task.limit, int) or not 0 < task.limit <= HIGH:
        raise UsageError(f"{name}.limit must be a time limit in 1..{HIGH} steps, not {task.limit}")
    for field, value in (("formats", task.formats), ("observation", task.observation)):
        if not isinstance(value, dict) or not value:
            raise UsageError(f"{name}.{field} must be a dict with a name for each number")
    for field, form in task.formats.items():
        signed = isinstance(form, FixedFormat) and form.signed and form.width == WORD_WIDTH
        if not signed:
            raise UsageError(
                f"{name}.formats[{field!r}] must be a signed format of {WORD_WIDTH} bits, not "
                f"{form!r}"
            )
    actions = task.actions
    if isinstance(actions, dict) and actions:
        for field, (low, high) in actions.items():
            if not low < high or not math.isfinite(high - low):
                raise UsageError(f"{name}.actions[{field!r}] must be bounds, not {low}..{high}")
    elif not isinstance(actions, int) or not 1 <= actions <= _MOST_ACTIONS:
        raise UsageError(
            f"{name}.actions must be a number in 1..{_MOST_ACTIONS} or a dict of bounds, not "
            f"{actions!r}"
        )


def _action(task, stepped):
    """What ``step`` gets as action, and fraction bits of the words."""
    discrete = isinstance(task.actions, int)
    bounds = [(0, task.actions - 1)] if discrete else list(task.actions.values())
    fractions = tuple(_action_fraction(float(low), float(high)) for low, high in bounds)
    numbers = tuple(
        stepped.number("ACTION", (), fraction, float(low), float(high), i)
        for i, (fraction, (low, high)) in enumerate(zip(fractions, bounds, strict=True))
    )
    return numbers[0] if discrete else numbers, fractions


def _action_fraction(low, high):
    """The most fraction bits of a word that holds both bounds."""
    fraction = fraction_of(low, high)
    return fraction - (high * 2.0**fraction > HIGH)


def _number(name, what, trace, value):
    if isinstance(value, Number):
        return value.at(value.fraction)
    if isinstance(value, int | float) and math.isfinite(value):
        constant = trace.constant(value)
        return constant.at(constant.fraction)
    raise UsageError(f"{name} must give a number as {what}, not {value!r}")


def _stored(name, task, trace, values):
    """The Numbers ``values`` in the state's formats."""
    values = list(values)
    if len(values) != len(task.formats):
        raise UsageError(f"{name} must give a state of {len(task.formats)} numbers: {values!r}")
    result = []
    for (field, form), value in zip(task.formats.items(), values, strict=True):
        try:
            number = _number(name, f"state {field!r}", trace, value).at(form.fraction)
        except UsageError as error:
            raise UsageError(f"{name}: state {field!r} must be {form!r} ({error})") from None
        bounds = form.low * form.resolution, form.high * form.resolution
        result.append(trace.number("STORED", (number,), form.fraction, *bounds))
    return tuple(result)


def _observed(name, task, trace, state):
    """The Numbers that ``observe`` returns of a state, whose bounds are those of its formats."""
    seen = list(task.observe(state))
    if len(seen) != len(task.observation):
        raise UsageError(
            f"{name}.observe must return {len(task.observation)} numbers, not {len(seen)}"
        )
    return tuple(
        _number(name, f"observation {field!r}", trace, each)
        for field, each in zip(task.observation, seen, strict=True)
    )
