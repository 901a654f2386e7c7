"""The config of a training run, from the options, --set and --config of the command line."""

import json

import boards
from host.agents.registry import find_named
from host.environments.environment_id import reward_threshold
from host.kernels import find_design
from host.kernels.exploration_file import chosen_fields, is_exploration
from host.modules import check_trusted
from host.runs.preset import default_learner, preset
from host.settings import flat, override, resolve
from hw.config import later_fields
from hw.errors import UsageError
from hw.suggest import written
from system.cache import say
from system.disk import user_path

__all__ = ["read_json", "read_summary", "request"]

#: prefix of settings for the kernel
_KERNEL = "kernel."

#: fields of a run that decide which defaults the others have
_FIRST = ("learner", "env")


def request(algo, *, options, settings, preset_name=None, file=None, imports=(), board=None):
    """``(config, kernel)``: the RunConfig of a run, and ``{field: value}`` of the fields in which
    the kernel that is generated for it differs from its default.

    Defaults of the run are those of ``host.runs.preset.preset`` for algorithm, learner,
    environment and preset. Fields in ``file`` replace them; ``options`` and ``settings`` replace
    both.

    Parameters
    ----------
    algo : str
        Name of the algorithm, or ``MODULE:NAME``, whose module is imported.
    options : dict
        Fields of the run's config that have an option of their own -> value; None: it was not
        given. If there is a ``threshold``, ``until_solved`` is set to True, unless ``settings``
        has it.
    settings : dict
        Any fields of the run and its agent -> value or text, as for ``host.settings.override``;
        ``kernel.<field>`` is a field of the kernel.
    preset_name : str, optional
        One of the algorithm's presets.
    file : path, optional
        JSON: a run's summary, the ``explore.json`` of an exploration, whose choice is the kernel's,
        or an object of fields as in ``settings``.
    imports : sequence of str
        Modules that ``file`` may name for its environment.
    board : str, optional
        The board for which a kernel is generated, if one is. The kernel then also gets the fields
        in which the summary's kernel differs from the default for this board.

    ValueError if a field is unknown or wrong, or given both as an option and in ``settings``.
    """
    algorithm = find_named(algo)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name in settings:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{name} must be given once, not by {option} and by --set")
    if "threshold" in given and "until_solved" not in settings:
        given.setdefault("until_solved", True)
    read = {} if file is None else read_json(user_path(file))
    summary = isinstance(read.get("config"), dict)
    explored = is_exploration(read)
    fields = read["config"] if summary else {} if explored else read
    asked = {**flat(fields), **settings, **given}
    if asked.get("algo", algo) != algo:
        raise UsageError(f"algo must be {algo}, as ALGO is, not {asked['algo']!r}")
    learner, env = (asked.get(name) for name in _FIRST)
    if not isinstance(env, str | None):
        raise UsageError(f"env must be the name of an environment, not {env!r}")
    if "env" not in given and "env" not in settings:
        check_trusted(env or "", imports, file)
    design = asked.get("design", "own")
    kernel = {name: value for name, value in asked.items() if name.startswith(_KERNEL)}
    own = {name: value for name, value in asked.items() if name not in kernel}
    for name in own:
        if name.removeprefix("agent.") in algorithm.left:
            raise UsageError(f"{name} must be left to the trainer, not be set")
    base = preset(algo, learner or _learner(algo, env), preset_name, env, design)
    if str(own.get("actors", 0)) != "0" and hasattr(base, "act"):
        own.setdefault("act", "cpu")  # actors choose their actions, whatever the default is
    config = override(base, own, hint=f"`rlfabric show {algo}` lists them")
    if config.until_solved and config.threshold is None and reward_threshold(config.env) is None:
        raise UsageError(f"threshold must be given to stop when solved, for {config.env} has none")
    kernel = {name.removeprefix(_KERNEL): value for name, value in kernel.items()}
    if summary and board is not None and read.get("kernel"):
        kernel = _recorded(read["kernel"], config, board) | kernel
    if explored:
        kernel = _explored(read, config, board, file) | kernel
    return config, kernel


def _explored(values, config, board, file):
    """``{field: value}`` of the kernel that an exploration chose, whose JSON ``values`` are from
    ``file``. ValueError if the run decides one of these fields, and otherwise."""
    chosen = chosen_fields(values, file, config.kernel, board or values["board"])
    default = find_design(config.kernel).config_type()
    for name, value in config.kernel_values().items():
        field, wanted = resolve(default, name), json.loads(json.dumps(value))
        if chosen.get(field, wanted) != wanted:
            raise UsageError(
                f"{field} must be {written(value)}, as the run decides, not "
                f"{written(chosen[field])} as in {file}"
            )
    return chosen


def _learner(algo, env):
    """The default learner; prints a line if the environment decides it."""
    learner = default_learner(algo, env)
    if learner != default_learner(algo):
        say(f"learner {learner}, since {env} gives images: no kernel of {algo} learns from them")
    return learner


def _recorded(kernel, config, board):
    """``{field: value}`` of a summary's kernel, without fields that the run or the board
    decides."""
    if kernel["name"] != config.kernel:
        return {}
    default = find_design(kernel["name"]).default(boards.get(board, kernel["name"]).numbers)
    decided = {resolve(default, name) for name in config.kernel_values()}
    usual = later_fields(default)  # which JSON leaves out
    present = usual | flat(json.loads(default.to_json()))
    recorded = usual | flat(kernel["config"])
    return {
        name: recorded[name]
        for name, value in present.items()
        if name not in decided and recorded.get(name, value) != value
    }


def read_summary(file, option):
    """The content of ``file``, a run's ``summary.json``, as a dict. ValueError if the file is
    anything else; its text begins with ``option``, the option that named the file."""
    values = read_json(file, option)
    if not isinstance(values.get("config"), dict) or "algo" not in values["config"]:
        raise UsageError(f"{option} must be a run's folder or its summary.json, not {file}")
    return values


def read_json(file, option="--config"):
    """The JSON object in ``file``. If there is none, ValueError, whose text begins with
    ``option``."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{option} must be a file of JSON, not {file} ({why})") from error
    if not isinstance(values, dict):
        raise UsageError(f"{option} must be a JSON object of fields, not the value in {file}")
    return values
