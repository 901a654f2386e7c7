"""What TensorBoard would read of a run's event files, from the record format's definition."""

from tensorboardX.proto.event_pb2 import Event
from tensorboardX.record_writer import masked_crc32c

__all__ = ["all_events", "scalars"]


def all_events(out):
    """Every event of all event files of the run in ``out``."""
    for path in sorted((out / "tensorboard").glob("events*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            length = int.from_bytes(data[at : at + 8], "little")
            body = data[at + 12 : at + 12 + length]
            assert int.from_bytes(data[at + 12 + length : at + 16 + length], "little") == (
                masked_crc32c(body)
            )
            yield Event.FromString(body)
            at += 16 + length


def scalars(out):
    """``(step, tag, value)`` of all scalars."""
    return [
        (event.step, v.tag, v.simple_value)
        for event in all_events(out)
        for v in event.summary.value
    ]
