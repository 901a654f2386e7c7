"""What enters and leaves every launch of a kernel, as digests: to compare one card with another."""

import hashlib

__all__ = ["Recorder", "assert_same_launches"]


class Recorder:
    """A ``host.cards.Kernel`` that keeps digests of all that enters and leaves a launch.

    Parameters
    ----------
    kernel : host.cards.Kernel
    masked : callable
        A status block to a copy without what a twin does not know.

    Attributes
    ----------
    launches : list of dict of str to digest
    """

    twin = None  # so that programs run, on card model too

    def __init__(self, kernel, masked):
        self.kernel, self.masked = kernel, masked
        self.description, self.launches = kernel.description, []
        self.buffer, self.check, self.claims = kernel.buffer, kernel.check, kernel.claims

    def launch(self, **arguments):
        record = {
            "arguments": repr(
                sorted((name, value) for name, value in arguments.items() if isinstance(value, int))
            ).encode(),
            "program": bytes(arguments["program"].view),
            "operands": bytes(arguments["operands"].view),
        }
        self.kernel.launch(**arguments)
        for name in ("results", "status"):
            arguments[name].from_device()
            record[name] = arguments[name].view
        record["status"] = self.masked(record["status"])
        self.launches.append(
            {
                name: hashlib.blake2b(data, digest_size=8).hexdigest()
                for name, data in record.items()
            }
        )


def assert_same_launches(got, expected):
    """Two ``Recorder.launches``."""
    assert len(got) == len(expected)
    for number, (one, other) in enumerate(zip(got, expected, strict=True)):
        for name in other:
            assert one[name] == other[name], f"{name} of launch {number} differs"
