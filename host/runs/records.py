"""Writes the files of a run: checkpoint, policies, rows, summary.

A full disk gives a warning, but does not end the run: a file that could not be written is written
at the next occasion. Rows and events may fill the disk, so space is reserved for the best policy,
the result of the run.
"""

import io
import os
import time
from contextlib import contextmanager, suppress

from host import checkpoint
from host.agents.policy_file import load_policy, save_policy
from host.runs.run_folder import BEST, CHECKPOINT, LAST
from host.runs.run_log import plot_returns, write_summary
from hw.errors import MissingTool, RlfabricError, UsageError

__all__ = ["Records"]

#: one checkpoint is followed by so many times its own duration without another
_SHARE = 10


class Records:
    """Files of a run in the folder ``out``.

    Parameters
    ----------
    out : Path
        The run's folder.
    config : RunConfig
    session : Session
        The run, whose state is saved.
    warn : callable
        Called with a text when a file cannot be written; for the same file not again until it has
        been written once.

    Attributes
    ----------
    checkpoint, best, last : Path
        Files of the run's state, of its best policy, and of its policy at a failure.
    log : RunLog
        The log for ``row``; ``Rows.begin`` sets it.
    saved : int or None
        Environment steps of the last checkpoint that was written; None before the first.
    failed : set of str
        Names of the files for which the last attempt to write failed.
    """

    def __init__(self, out, config, session, warn):
        self.out, self._config, self._session, self._warn = out, config, session, warn
        self.checkpoint, self.best, self.last = out / CHECKPOINT, out / BEST, out / LAST
        self.log, self.saved, self.failed = None, None, set()
        self._policy = None  # bytes of the best policy, if they are not in its file yet
        self._space = out / f".space{checkpoint.PARTIAL}"
        self._next = time.monotonic() + config.checkpoint_interval_s

    @property
    def due(self):
        """Whether it is time for another checkpoint: ``checkpoint_interval_s`` seconds after the
        last one, or 10 times as long as the last one took to write, if that is longer."""
        return time.monotonic() >= self._next

    def keep_space(self):
        """Keeps space on the disk for the file of the best policy, until ``close``."""
        file = io.BytesIO()
        self._write_policy(file, None)
        size = 2 * len(file.getvalue())  # the score and the sizes in a zip vary
        with suppress(OSError, AttributeError), self._space.open("wb") as kept:
            os.posix_fallocate(kept.fileno(), 0, size)  # not on macOS

    def save(self, state):
        """Writes a checkpoint of ``state()``."""
        began = time.monotonic()
        tree = state()
        with self._tolerated(CHECKPOINT):
            checkpoint.save(self.checkpoint, "training", self._config.identity(), tree)
            self.saved = self._session.clock.steps
        self.flush()
        ended = time.monotonic()
        self._next = ended + max(self._config.checkpoint_interval_s, _SHARE * (ended - began))

    def keep_best(self, score):
        """Writes the present policy as the best one so far."""
        file = io.BytesIO()
        self._write_policy(file, score)
        self._policy = file.getvalue()
        self.flush()

    def check_policy(self):
        """UsageError unless the present policy, read back from the bytes of its file, acts as it
        was judged in the session's last evaluation."""
        file = io.BytesIO()
        self._write_policy(file, None)
        self._session.check_kept(file)

    def best_policy(self):
        """``load_policy`` of the best policy."""
        return load_policy(self.best if self._policy is None else io.BytesIO(self._policy))

    def row(self, values):
        """Writes ``values``, column -> number, as a row of progress.csv. A row that could not be
        written is written before the next one."""
        with self._tolerated("progress.csv"):
            self.log.write(values)
        self.flush()

    def flush(self):
        """Writes the best policy if it could not be written before."""
        if self._policy is not None:
            with self._tolerated(BEST):
                try:
                    self._write_best()
                except OSError:
                    if not self._space.exists():
                        raise
                    self._space.unlink()
                    self._write_best()
                    self.keep_space()  # where the older policy was
                self._policy = None

    def _write_best(self):
        checkpoint.atomic_write(self.best, lambda file: file.write(self._policy))

    def summary(self, values):
        """Writes summary.json."""
        self.flush()
        with self._tolerated("summary.json"):
            write_summary(self.out, values)

    def plot(self, **words):
        """Draws returns.png by ``host.runs.run_log.plot_returns``, and returns its path. If
        matplotlib is missing or the file cannot be written, it warns, and the path may not
        exist."""
        path = self.out / "returns.png"
        try:
            with self._tolerated(path.name):
                path = plot_returns(self.out, **words)
        except MissingTool as missing:
            self._warn(f"{path.name} is not drawn: {missing}")
        return path

    def leave(self, error, state):
        """Called after a failure, the exception ``error``: writes the present policy to last.npz
        and, unless ``state`` is None, a checkpoint of ``state()``. Adds notes to ``error`` that say
        where these files are, or why they could not be written; to the message of an RlfabricError,
        which is one line."""
        try:
            self._write_policy(self.last, None)
            _note(error, f"the policy as it was is in {self.last}")
        except (OSError, UsageError) as full:
            _note(error, f"the policy as it was could not be written to {self.last}: {full}")
        if state is not None:
            try:
                self.save(state)
            except Exception as second:  # the first failure is the one to be raised
                _note(error, f"a checkpoint could not be made: {second}")
        if self.saved is not None:
            _note(error, f"--resume goes on from step {self.saved}, in {self.checkpoint}")

    def lacking(self):
        """A text for the user: which files could not be written in the end, and of which step the
        last checkpoint is."""
        saved = "There is no checkpoint"
        if self.saved is not None:
            saved = f"The checkpoint is of step {self.saved}"
        return f"Not written in the end: {', '.join(sorted(self.failed))}. {saved}."

    def close(self):
        """Closes the log."""
        with suppress(OSError):  # the disk may be read-only by now
            self._space.unlink(missing_ok=True)
        with self._tolerated("progress.csv"):
            self.log.close()

    def _write_policy(self, file, score):
        config = self._config
        save_policy(file, self._session.policy, algo=config.algo, env=config.env, score=score)

    @contextmanager
    def _tolerated(self, name):
        try:
            yield
        except OSError as error:
            if name not in self.failed:
                self._warn(
                    f"{self.out / name} could not be written ({error.strerror or error}); the run "
                    "goes on, and tries it again"
                )
            self.failed.add(name)
        else:
            self.failed.discard(name)


def _note(error, text):
    """``error.add_note(text)`` of Python 3.11, on every Python. An RlfabricError gets the text in
    its message instead: Python would print notes after the line that names the cause."""
    if isinstance(error, RlfabricError):
        error.args = (f"{error}; {text}", *error.args[1:])
        return
    error.__notes__ = [*getattr(error, "__notes__", ()), text]
