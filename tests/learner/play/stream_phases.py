"""Phases of a unit with streams: words that go in, words that come out."""

import json

from packed import packed, port_shapes

__all__ = ["GAPS", "Phases"]

GAPS = [(0, 0), (0.3, 0.7)]


class Phases:
    """Phases for ``unit``, each after all words of the one before. Values are as ``packed`` takes
    them."""

    def __init__(self, unit):
        self.unit, self.phases = unit, []
        self._shapes = port_shapes(unit)

    def add(self, inputs=(), outputs=(), levels=(), final=(), cut=0):
        """``inputs``, ``outputs`` : ``{stream: payloads}``. ``levels``, ``final`` : ``{port:
        value}``, held from now on, and shown in the end. ``cut`` : clocks until a reset ends it."""

        def bits(name, value):
            return packed(self._shapes[name], value)[0]

        def streams(words):
            return {
                name: [bits(f"{name}__payload", each) for each in payloads]
                for name, payloads in dict(words).items()
            }

        def ports(values):
            return {name: bits(name, value) for name, value in dict(values).items()}

        self.phases.append(
            dict(inputs=streams(inputs), outputs=streams(outputs), levels=ports(levels),
                 final=ports(final), cut=cut)
        )  # fmt: skip

    def run(self, simulate, folder, *, gaps=GAPS, **case):
        """Simulates them, for each of ``gaps`` of sources and of sinks. ``first`` and ``paces``
        name words of inputs, and clocks between them, in the first phase without gaps."""
        path = folder / "phases.json"
        path.write_text(json.dumps(self.phases))
        ends = {"valid": [], "ready": []}
        directions = {
            "__".join(map(str, path)): member.flow.name
            for path, member, _ in self.unit.signature.flatten(self.unit)
        }
        for name, flow in directions.items():
            if name.endswith("__valid"):
                ends["valid" if flow == "In" else "ready"].append(name.removesuffix("__valid"))
        # Inputs that no phase drives.
        streams = ("__valid", "__ready", "__payload")
        idle = [n for n, flow in directions.items() if flow == "In" and not n.endswith(streams)]
        simulate(
            self.unit, "learner.play.stream_phases_bench", phases=str(path), gaps=gaps,
            inputs=ends["valid"], outputs=ends["ready"], idle=idle, **case,
        )  # fmt: skip
