"""The folder of a run: its name, its lock, and the files that an earlier run has left in it."""

import re
import shutil
from contextlib import contextmanager
from pathlib import Path

from host import checkpoint
from hw.errors import UsageError
from hw.names import check_no_links
from system.cache import say
from system.disk import user_path
from system.lock import Held, locked

__all__ = ["BEST", "CHECKPOINT", "LAST", "LOSSES", "clear", "default_folder", "plain_name"]
__all__ += ["policy_of", "run_folder"]

CHECKPOINT, BEST, LAST = "checkpoint.npz", "best.npz", "last.npz"
#: a line for each actor that was lost
LOSSES = "actors.csv"

_LOCK = ".lock"
#: files that show that a folder has a run
_RUN = (CHECKPOINT, BEST, LAST, "progress.csv", "summary.json")


def default_folder(config, card, preset=None):
    """The Path of a run's folder when the user names none: ``runs/`` and, with dashes between them,
    algorithm, environment, preset (if there is one), learner, card and seed. Changes by ``--set``
    are not in the name: such runs differ only in the number that ``run_folder`` appends."""
    words = (config.algo, config.env, preset, config.learner, card, str(config.seed))
    return Path("runs") / plain_name(*words)


def plain_name(*words):
    """A folder's name: those ``words`` that are not empty, with dashes between them, and for each
    run of characters that are no letters, digits, dots or underscores."""
    return "-".join(re.sub(r"[^\w.]+", "-", word).strip("-") for word in words if word)


def policy_of(run):
    """The Path of the best policy's file in the folder ``run``, whether it exists or not; ``run``
    itself, if it is no folder."""
    run = user_path(run)
    return run / BEST if run.is_dir() else run


@contextmanager
def run_folder(out, *, numbered=False, resume=False, overwrite=False):
    """A context manager whose value is the Path of a run's folder. The folder is made if it is not
    there, and no other run can use it until the block ends.

    Parameters
    ----------
    out : path
        The folder, or the first of the numbered ones.
    numbered : bool
        False: the folder is ``out``. True: it is one of ``out``, ``out-2``, ``out-3``, ...; for a
        new run the one after the last that exists, for a resumed run the last that has a
        checkpoint.
    resume, overwrite : bool
        Whether an earlier run in the folder is continued, or replaced; not both.

    ValueError if the folder cannot be written or has links, if another run is under way in it, or
    if it has an earlier run which is neither continued nor replaced. CheckpointError if there is
    nothing to resume. In these cases nothing is left. A new folder into which the block
    writes nothing is removed at its end.
    """
    out = user_path(out)
    if resume and overwrite:
        raise UsageError("overwrite must be without resume, not with it")
    if resume:
        folder = _latest(out) if numbered else out
        checkpoint.check_exists(folder / CHECKPOINT)
    elif numbered:
        folder = _next(out)
    else:
        folder = out
    existed = folder.is_dir() and not (numbered and not resume)
    for each in (folder, folder / "tensorboard"):
        check_no_links(each)
    checkpoint.check_writable(folder)
    try:
        with locked(folder / _LOCK):
            if not (resume or overwrite):
                _refuse_earlier(folder)
            if overwrite and _has_run(folder):
                say(f"the run in {folder} is overwritten; its policy stays in best.previous.npz")
            for litter in folder.glob(f".*{checkpoint.PARTIAL}"):
                litter.unlink(missing_ok=True)
            yield folder
    except Held as held:
        raise UsageError(
            f"out must be a folder in which no run is under way, not {folder}: {held.holder}"
        ) from None
    finally:
        if not existed and {path.name for path in folder.iterdir()} == {_LOCK}:
            shutil.rmtree(folder, ignore_errors=True)


def clear(folder):
    """Prepares ``folder``, a Path, for a new run: checkpoint.npz and best.npz are renamed to
    ``*.previous.npz``; last.npz, actors.csv, summary.json and returns.png are removed.
    ``progress.csv`` and TensorBoard's events are left for the new run's log, which replaces
    them."""
    for name in (CHECKPOINT, BEST):
        file = folder / name
        if file.exists():
            file.replace(file.with_suffix(".previous.npz"))
    for name in (LAST, LOSSES, "summary.json", "returns.png"):
        (folder / name).unlink(missing_ok=True)


def _has_run(folder):
    return any((folder / name).exists() for name in _RUN)


def _refuse_earlier(folder):
    if _has_run(folder):
        raise UsageError(
            f"out must be a folder without a run, not {folder}: --resume continues the run in it, "
            "--overwrite replaces it"
        )


def _numbers(out):
    """number -> folder, of existing runs called ``out``."""
    pattern = re.compile(rf"{re.escape(out.name)}(?:-([2-9]|[1-9][0-9]+))?")
    places = out.parent.iterdir() if out.parent.is_dir() else ()
    matches = [(pattern.fullmatch(path.name), path) for path in places]
    return {int(match[1] or 1): path for match, path in matches if match}


def _numbered(out, number):
    return out if number == 1 else out.with_name(f"{out.name}-{number}")


def _next(out):
    """A new folder, numbered after those that exist."""
    number = max(_numbers(out), default=0) + 1
    checkpoint.check_writable(out.parent)
    while True:
        folder = _numbered(out, number)
        try:
            folder.mkdir()
            return folder
        except FileExistsError:  # a run that was started together with this one has it
            number += 1


def _latest(out):
    """The folder with the highest number that has a checkpoint; ``out`` if none has."""
    found = [number for number, path in _numbers(out).items() if (path / CHECKPOINT).exists()]
    return _numbered(out, max(found, default=1))
