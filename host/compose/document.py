"""An assignment as JSON."""

import json
from dataclasses import asdict
from importlib.metadata import version

__all__ = ["document", "text_of"]


def document(algo, assignment):
    """The Assignment for the algorithm called ``algo`` as a dict for JSON.

    Keys: ``version``, ``algo``, ``machine`` with ``devices`` and ``links``, ``times``, ``sizes``,
    ``transfers``, ``metric``, ``alternatives``, ``refused``, ``choice`` and ``portability``. What
    is unknown is None.
    """
    return {
        "version": version("rlfabric"),
        "algo": algo,
        "machine": asdict(assignment.machine),
        "times": [asdict(row) for row in assignment.times.rows],
        "sizes": asdict(assignment.sizes),
        "transfers": assignment.transfers,
        "metric": assignment.metric,
        "alternatives": [asdict(each) for each in assignment.alternatives],
        "refused": [each._asdict() for each in assignment.refused],
        "choice": asdict(assignment.choice),
        "portability": assignment.portability,
    }


def text_of(document):
    """The document as JSON with sorted keys; no path and no date is in it, so that equal inputs
    give equal bytes."""
    return json.dumps(document, indent=2, sort_keys=True) + "\n"
