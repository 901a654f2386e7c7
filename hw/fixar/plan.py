"""An iteration as a table of passes, and where in the cells each pass reads and writes.

A pass is one layer in one direction: forward (FW), errors back (DX), or weight gradients (DW). The
paper's order (FIXAR III): the critic is updated, then the actor through the updated critic.
"""

import enum
from dataclasses import dataclass
from itertools import accumulate

from hw.fixar.precision import activation_slot, error_slot

__all__ = ["Kind", "Pass", "Regions", "Result", "Version", "acting", "plan"]


class Kind(enum.IntEnum):
    """The computation of a pass. FW: the layer's outputs, with tiles of weights. DX: errors of the
    layer's inputs, with transposed tiles of weights. DW: gradients of the weights, with tiles of
    errors."""

    FW, DX, DW = range(3)


class Version(enum.IntEnum):
    """The actions in the action's lanes when the frame is read. NONE: zeros. REPLAYED: the
    experiences'. TARGET: the target actor's, for s'. POLICY: the actor's, for s."""

    NONE, REPLAYED, TARGET, POLICY = range(4)


class Result(enum.IntEnum):
    """Where a pass's numbers go.

    HIDDEN: through relu, to the X cells that the next layer reads. TANH: through tanh, to the
    action's cells. Q, NEXT_Q: the critic's values of s and of s', for the TD errors. VALUE: the
    critic's value of the policy's action, where backpropagation to the actor starts. ERROR: errors
    at the outputs of the layer below, to E cells. SLOPE: errors of the actor's actions, times the
    slope of tanh, to E cells. UPDATE: gradients, to the optimizers.
    """

    HIDDEN, TANH, Q, NEXT_Q, VALUE, ERROR, SLOPE, UPDATE = range(8)


@dataclass(frozen=True)
class Pass:
    """A row of the plan. Words are those that a sample has in its cells, as in ``Regions``.

    kind : Kind.
    network, layer : 0 for the critic, 1 for the actor; its TileLayer.
    target : whether the weights are the target network's.
    source : first word of the stream, in X cells (FW, DW) or E cells (DX).
    frame, version : with ``frame``, X cells are merged with the action lanes of ``version``.
    errors : DW: first word of the E cells that tiles are made of.
    mask : DX: first word of the X cells whose relu masks the errors.
    destination : first word of the cells that are written; for TANH, the version.
    result : Result.
    tiles : SLOPE: tiles of the result, which has only the actions; else 0.
    source_slot : the slot whose shift the stream has: of activations, or in a DX of errors.
    error_slot : DW: the slot of errors whose shift the tiles have.
    result_slot : the slot of the result's shift and range.
    observes : after this pass the TD errors begin.
    decides : after this pass the iteration waits for ``update``.
    """

    kind: Kind
    network: int
    layer: object
    result: Result
    target: bool = False
    source: int = 0
    frame: bool = False
    version: Version = Version.NONE
    errors: int = 0
    mask: int = 0
    destination: int = 0
    tiles: int = 0
    source_slot: int = 0
    error_slot: int = 0
    result_slot: int = 0
    observes: bool = False
    decides: bool = False


class Regions:
    """First words of the regions that a sample has in X and E cells.

    X (``words`` in all): ``states``, the observations of s and of s', with which actions are merged
    when they are read; then ``hidden``, the inputs of each layer but the first, of the critic and
    of the actor. E (``error_words`` in all): ``errors[k]``, the errors at the outputs of layer k,
    the last layer first, of one network at a time.
    """

    def __init__(self, config):
        critic, actor = config.networks["critic"], config.networks["actor"]
        frame = critic[0].input_tiles
        hidden = [layer.input_tiles for layer in critic[1:]]
        self.states = (0, frame)
        starts = list(accumulate([2 * frame, *hidden, *hidden]))
        count = len(hidden)
        self.hidden = {"critic": starts[:count], "actor": starts[count : 2 * count]}
        self.words = starts[-1]
        outputs = actor[-1].output_tiles
        starts = list(accumulate([outputs, *hidden]))
        # Errors at the outputs of layer k; of the last layer they come first.
        self.errors = [*starts[:count], 0]
        self.error_words = starts[-1]
        #: Words of a version of the action.
        self.action_words = outputs


def plan(config):
    """The passes of an iteration, first to last; an ACT uses the ``acting`` passes."""
    return _Planner(config).passes


def acting(config):
    """The ``range`` of the plan's passes that an ACT needs: the actor's forward passes."""
    count = len(config.hidden) + 1
    return range(3 * count, 4 * count)


class _Planner:
    def __init__(self, config):
        self.config, self.regions = config, Regions(config)
        self.names = list(config.networks)
        self.last = len(config.hidden)
        self.passes = passes = []
        passes += self._forward("actor", 1, Version.NONE, Result.TANH, Version.TARGET, target=True)
        passes += self._forward("critic", 1, Version.TARGET, Result.NEXT_Q, target=True)
        passes += self._forward("critic", 0, Version.REPLAYED, Result.Q, observes=True)
        passes += self._forward("actor", 0, Version.NONE, Result.TANH, Version.POLICY, decides=True)
        passes += self._backward("critic", Version.REPLAYED)
        passes += self._forward("critic", 0, Version.POLICY, Result.VALUE)
        passes += [self._errors("critic", k) for k in reversed(range(self.last + 1))]
        passes += self._backward("actor", Version.NONE)

    def _slot(self, name, position):
        return activation_slot(self.config, name, position)

    def _source(self, name, position, state, version):
        """The fields for the X cells that a layer reads."""
        if position == 0:
            return dict(source=self.regions.states[state], frame=True, version=version)
        return dict(source=self.regions.hidden[name][position - 1])

    def _forward(self, name, state, version, result, destination=0, *, target=False, **flags):
        for position, layer in enumerate(self.config.networks[name]):
            last = position == self.last
            yield Pass(
                kind=Kind.FW,
                network=self.names.index(name),
                layer=layer,
                target=target,
                result=result if last else Result.HIDDEN,
                destination=destination if last else self.regions.hidden[name][position],
                source_slot=self._slot(name, position),
                result_slot=self._slot(name, 0 if last else position + 1),
                **self._source(name, position, state, version),
                **(flags if last else {}),
            )

    def _errors(self, name, position):
        """The pass that takes errors through layer ``position`` of ``name`` to the layer below."""
        slope = position == 0
        below = ("actor", self.last) if slope else (name, position - 1)
        return Pass(
            kind=Kind.DX,
            network=self.names.index(name),
            layer=self.config.networks[name][position],
            result=Result.SLOPE if slope else Result.ERROR,
            source=self.regions.errors[position],
            mask=0 if slope else self.regions.hidden[name][position - 1],
            destination=self.regions.errors[self.last if slope else position - 1],
            tiles=self.regions.action_words if slope else 0,
            source_slot=error_slot(self.config, name, position),
            result_slot=error_slot(self.config, *below),
        )

    def _backward(self, name, version):
        """The passes of errors and gradients, from the last layer to the first. A layer's errors go
        through its weights before the weights change."""
        for position in reversed(range(self.last + 1)):
            if position:
                yield self._errors(name, position)
            yield Pass(
                kind=Kind.DW,
                network=self.names.index(name),
                layer=self.config.networks[name][position],
                result=Result.UPDATE,
                errors=self.regions.errors[position],
                source_slot=self._slot(name, position),
                error_slot=error_slot(self.config, name, position),
                **self._source(name, position, 0, version),
            )
