"""What ``rlfabric compose`` does without times: tasks from options, profiles, the plan's file."""

import json
from dataclasses import replace
from pathlib import Path

from host.algorithms.autodiff import check_device
from host.algorithms.registry import find_named
from host.commands.request import request
from host.compose import power, primitives, profile
from host.compose.assign import Sizes
from host.compose.card_clocks import own_settings
from host.compose.pearl import equation7
from host.compose.plan_file import plan_document
from host.compose.plans import plan_of, plans_of
from host.compose.search import compose
from host.compose.task import Task, with_ratio
from host.train.folder import plain_name
from hw.errors import MissingTool, UsageError
from sim.cache import say

__all__ = ["composed", "default_out", "profiled", "task_of"]

#: Fields of a run that a composition decides.
_DECIDED = ("learner", "memory", "design", "device")


def task_of(algo, *, ratio=None, uniform=False, **asked):
    """``(task, plans)``: the Task of a request, and its plans, those that cannot run among them.

    ``asked`` are the arguments of ``request``. ``ratio`` : environment steps for each gradient
    step, None for the algorithm's own. ``uniform`` : as of Task. An algorithm that several designs
    train has a plan for each of them.
    """
    for name in _DECIDED:
        if name in asked["settings"]:
            raise UsageError(f"{name} must be left to compose, not be set")
    config, kernel = request(algo, **asked)
    if config.LEARNS_FROM != "replay":
        for name, given in (("ratio", ratio is not None), ("uniform", uniform)):
            if given:
                raise UsageError(f"{name} must be without {algo}, which has no replay memory")
    task = Task(_sized(config, ratio), uniform, kernel)
    plans = plans_of(task)
    for design in find_named(algo).designs:
        other, _ = request(algo, **asked | {"options": asked["options"] | {"design": design}})
        variant = replace(task, config=_sized(other, ratio))
        plans += [plan_of(variant, rm, "card") for rm in ("cpu", "card")]
    return task, plans


def _sized(config, ratio):
    return config if ratio is None else with_ratio(config, ratio)


def default_out(task):
    """The folder of a composition when the user names none."""
    return Path("runs") / plain_name("compose", task.config.algo, task.config.env)


def identity(task, card):
    """What a profile is of, as JSON values."""
    config = json.loads(task.config.to_json())
    return {"config": config, "uniform": task.uniform, "kernel": task.kernel, "card": card}


def profiled(task, plans, path, *, card="model", board="u200"):
    """Measures every plan that runs here, and writes the file of the profile to ``path``."""
    tried = {}
    for plan in plans:
        if plan.refused:
            continue
        try:
            check_device(plan.config.device)
        except (UsageError, MissingTool) as error:
            say(f"profile: not {plan.name}: {error}")
            continue
        tried[plan.name] = plan.config, own_settings(task, plan)
    with power.measured_watts(power.meters()) as watts:
        found = profile.measured(tried, card=card, board=board)
    for name, each in found.items():
        if each.p90 > 2 * each.p50:
            say(f"profile: {name} varies: a tenth of its launches takes over {each.p90:.0f} us, "
                f"half of them at most {each.p50:.0f}")  # fmt: skip
    devices = {plan.config.device for plan in plans if plan.name in found} | {"cpu"}
    alone = _primitives(task, sorted(devices)) if task.family == "replay" else {}
    profile.save(path, identity(task, card), found, watts=watts, primitives=alone)


def _primitives(task, devices):
    """Times of PEARL's primitives alone: kind of device -> microseconds."""
    found = {"cpu": primitives.memory_us(task, _inserts(task))}
    for device in devices:
        found.setdefault(device, {})["learn_us"] = primitives.learner_us(task, device)
    return found


def _inserts(task):
    return max(1, round(task.steps / task.config.updates_per_launch))


def composed(task, plans, machine, read, *, metric="throughput", board=None):
    """The plan's document, and the Composition: see ``plan_document`` and ``host.compose.search``.

    ``read`` : the content of a profile's file, as ``profile.load`` gives it. Its watts are those of
    the machine's devices whose own are unknown.
    """
    machine = _powered(machine, read.get("watts", {}))
    profiles, seven = read["plans"], {}
    some = next(iter(profiles.values()))
    sizes = Sizes(batch=task.batch, inserts=task.steps / some.updates, words=task.words)
    found = compose(task, plans, machine, profiles, sizes, metric=metric)
    if task.family == "replay":
        seven = equation7(task, plans, machine, read.get("primitives", {}), sizes)
    told = dict(metric=metric, equation7=seven, board=board)
    return plan_document(task, machine, found, sizes, **told), found


def _powered(machine, watts):
    devices = tuple(
        replace(
            each, watts=watts[each.kind], source=f"{each.source}; watts measured in the profile"
        )
        if each.watts is None and watts.get(each.kind)
        else each
        for each in machine.devices
    )
    return replace(machine, devices=devices)
