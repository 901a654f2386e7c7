"""TensorBoard's files of events, written without torch.

tensorboardX imports torch where it is installed, for parts that are not used here. That takes two
seconds of processor time and 150 MB, which a run on a card has no other use for.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path

from system.disk import naming

__all__ = ["EventFile"]


class _NoTorch(MetaPathFinder):
    """Refuses torch to the thread that has made it; other threads may import it meanwhile."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("No module named 'torch'", name=name)


@contextmanager
def _without_torch() -> Iterator[None]:
    """Within its block an import of torch in this thread fails, as if it was not installed, unless
    it has been imported before."""
    finder = _NoTorch()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


with _without_torch():
    from tensorboardX.event_file_writer import EventsWriter
    from tensorboardX.proto.event_pb2 import Event, SessionLog
    from tensorboardX.summary import scalar


class EventFile:
    """Writes TensorBoard events in the caller's thread, so that the caller gets an OSError if the
    disk fails. An event that could not be written is written with the next one.

    ``tensorboardX.SummaryWriter`` is not used, because it has a thread of its own, which ends at
    the first error of the disk; the run would then wait for this thread for ever.

    Parameters
    ----------
    folder : path
        Where the file is made.
    purge_step : int, optional
        TensorBoard does not show events of older files in the folder from this step on.
    """

    def __init__(self, folder, purge_step=None):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with naming(folder):
            self._writer = EventsWriter(str(folder / "events"))
            if purge_step is not None:
                start = SessionLog(status=SessionLog.START)
                self._write(Event(session_log=start, step=purge_step))
            self._writer.flush()

    def add_scalar(self, tag, value, step):
        self._write(Event(summary=scalar(tag, value), step=step))

    def flush(self):
        self._writer.flush()

    def close(self):
        self._writer.close()

    def _write(self, event):
        event.wall_time = time.time()
        self._writer.write_event(event)
