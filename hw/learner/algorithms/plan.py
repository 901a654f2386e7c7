"""The plan of an algorithm: its networks, and the passes of a sample through them, sweep by sweep.

A pass is a sample's way through one network. The passes of a sweep run side by side, each on a data
path of its network. Sweeps follow each other over the same batch; a network that a sweep trains is
updated before the next sweep begins.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from amaranth import *

from hw.errors import UsageError
from hw.learner.records import SHIFTED

__all__ = ["Feed", "Link", "Network", "Pass", "Plan", "Take", "mask", "of_sweep"]

#: HYPERPARAMETERS have a pair of each rate.
_RATES = 2


class Network(NamedTuple):
    """A network of an algorithm.

    inputs, outputs, activation : sizes, and the activation of the output layer.
    free : how many outputs, the last ones, are only biases: parameters that no input changes, such
        as the logarithms of a policy's deviations. Their weights are padding.
    rate : which of each pair in HYPERPARAMETERS its update takes: 0 or 1.
    """

    inputs: int
    outputs: int
    activation: str
    free: int = 0
    rate: int = 0


class Feed(NamedTuple):
    """A field of the experience becomes inputs: the numbers of the field ``name``, from input
    ``first`` on. DDPG's critic takes the action that is stored in the experience by a Feed, and the
    actor's outputs by a Take."""

    name: str
    first: int


class Take(NamedTuple):
    """The outputs of the pass ``source``, which is in the same sweep, become the last inputs, from
    input ``first`` on."""

    source: str
    first: int


class Pass(NamedTuple):
    """A sample's way through a network.

    network : its name.
    weights : "online" or "target".
    feeds : a tuple with a Feed for each field of the experience that is among the inputs.
    take : a Take, if outputs of another pass are among them too; else None.
    errors : whether errors go back through it.
    trains : whether these errors give gradients of the weights.
    sweep : number of its sweep, from 0.
    smoothed : whether noise is added to its outputs before other passes take them (``Smooth``).
    """

    network: str
    weights: str
    feeds: tuple
    take: Take | None = None
    errors: bool = False
    trains: bool = False
    sweep: int = 0
    smoothed: bool = False


class Link(NamedTuple):
    """How a network takes outputs of another one, ``source``, in whichever passes it does: from
    input ``first`` on."""

    source: str
    first: int


@dataclass(frozen=True)
class Plan:
    """The networks of an algorithm and their passes.

    networks : ``{name: Network}``, in the order of the parameter image.
    passes : ``{name: Pass}``. Those of a network with errors that train come first on its data
        paths, then others with errors, then the rest, as they stand here.
    losses : a LossRule for each sweep.
    acts : name of the pass whose outputs decide what the agent does.

    ``check`` has the rules that a plan must keep.
    """

    networks: dict
    passes: dict
    losses: tuple
    acts: str

    @property
    def sweeps(self):
        """How many sweeps a batch takes."""
        return len(self.losses)

    @cached_property
    def paths(self):
        """``{network: tuple of tuples}``: for each sweep the names of the network's passes, in the
        order of its data paths; () where it does not run."""
        found = {}
        for name in self.networks:
            own = {key: one for key, one in self.passes.items() if one.network == name}
            ranked = sorted(own, key=lambda key: (not own[key].trains, not own[key].errors))
            found[name] = tuple(
                tuple(key for key in ranked if own[key].sweep == sweep)
                for sweep in range(self.sweeps)
            )
        return found

    def count(self, network):
        """Data paths of a network: the most passes that it has in a sweep."""
        return max(map(len, self.paths[network]))

    def errors(self, network):
        """For each sweep, through how many of a network's passes errors go back."""
        return tuple(
            sum(self.passes[name].errors for name in names) for names in self.paths[network]
        )

    def trained_in(self, network):
        """The sweep that trains a network."""
        (sweep,) = (
            one.sweep for one in self.passes.values() if one.network == network and one.trains
        )
        return sweep

    def weights(self, network):
        """For each sweep the weights of each data path of a network: "online", "target" or, of a
        path without a pass there, None."""
        count = self.count(network)
        return tuple(
            tuple([self.passes[name].weights for name in names] + [None] * (count - len(names)))
            for names in self.paths[network]
        )

    def smoothed(self, network):
        """For each sweep a bit for each data path of a network that is smoothed."""
        return tuple(
            mask(self.passes[name].smoothed for name in names) for names in self.paths[network]
        )

    @property
    def smooths(self):
        """Whether a pass is smoothed."""
        return any(one.smoothed for one in self.passes.values())

    def shift_of(self, network):
        """The index in the STEP's ``shift`` for the errors of a network; None if they are not
        shifted."""
        shifts = self.losses[self.trained_in(network)].shifts
        if not shifts:
            return None
        first = next(name for name, k in shifts.items() if k == shifts[network])
        return [*self.networks].index(first)

    @cached_property
    def shifts(self):
        """The indices in the STEP's ``shift`` that the plan uses, in order."""
        return tuple(sorted({self.shift_of(name) for name in self.networks} - {None}))

    @cached_property
    def links(self):
        """``{network: Link or None}``."""
        found = dict.fromkeys(self.networks)
        for one in self.passes.values():
            if one.take:
                found[one.network] = Link(self.passes[one.take.source].network, one.take.first)
        return found

    def takers(self, network):
        """The networks that take the outputs of ``network``."""
        return tuple(name for name, link in self.links.items() if link and link.source == network)

    def taken(self, network):
        """For each sweep ``{data path: data path of the source}`` of a network's passes that take
        outputs of another network."""
        source = self.links[network].source
        return tuple(
            {
                path: sources.index(self.passes[name].take.source)
                for path, name in enumerate(names)
                if self.passes[name].take
            }
            for names, sources in zip(self.paths[network], self.paths[source], strict=True)
        )

    def returned(self, network):
        """For each sweep ``{data path of the source: data path}``: through which passes of a
        network errors go back to those that they take."""
        source = self.links[network].source
        return tuple(
            {before: path for path, before in taken.items() if path < errors and before < sources}
            for taken, errors, sources in zip(
                self.taken(network), self.errors(network), self.errors(source), strict=True
            )
        )

    def feeds(self, network):
        """``{field: (first, masks)}`` of a network: the input that the field's first number is, and
        for each sweep a bit for each data path that takes the field."""
        found = {}
        for sweep, names in enumerate(self.paths[network]):
            for path, name in enumerate(names):
                for feed in self.passes[name].feeds:
                    _, masks = found.setdefault(feed.name, (feed.first, [0] * self.sweeps))
                    masks[sweep] |= 1 << path
        return {name: (first, tuple(masks)) for name, (first, masks) in found.items()}

    def _fields(self, network, sweep):
        """The fields that a network's passes of a sweep read, a set."""
        return {name for name, (_, masks) in self.feeds(network).items() if masks[sweep]}

    @cached_property
    def order(self):
        """The names of the networks in a sample's order: each comes after the one whose outputs it
        takes."""
        names = []
        while len(names) < len(self.networks):
            names += [
                name
                for name, link in self.links.items()
                if name not in names and (link is None or link.source in names)
            ]
        return tuple(names)

    @property
    def ends(self):
        """The networks whose outputs the losses take, in a sample's order."""
        return tuple(name for name in self.order if not self.takers(name))

    def check(self, algorithm, fields, action):
        """Raise UsageError for a plan that the learner does not support.

        algorithm : name of the algorithm, for the message.
        fields : ``{name: size}`` of the fields of an experience that passes may read.
        action : outputs that the pass ``acts`` must have, not counting free ones.
        """
        # All networks first: a pass may take outputs of a later one.
        for rule in (self._wrong_name, partial(self._wrong, fields=fields)):
            for name, one in self.passes.items():
                if wrong := rule(name, one):
                    raise UsageError(f"pass {name} of {algorithm} must {wrong}")
        if wrong := self._wrong_networks():
            raise UsageError(f"the plan of {algorithm} must have {wrong}")
        acts = self.passes.get(self.acts)
        if (
            acts is None
            or acts.weights != "online"
            or [feed.name for feed in acts.feeds] != ["obs"]
            or acts.take
            or self.networks[acts.network].outputs - self.networks[acts.network].free != action
        ):
            raise UsageError(
                "acts must be a pass with online weights that reads observations and gives as many "
                "numbers as there are actions, without the free ones, not "
                f"{self.acts!r} of {algorithm}"
            )

    def _takes(self, name):
        """Whether a pass takes the outputs of the pass ``name``."""
        return any(one.take and one.take.source == name for one in self.passes.values())

    def _wrong_name(self, name, one):
        """The text for a pass whose network the plan lacks; else None."""
        if one.network in self.networks:
            return None
        return f"be of {', '.join(self.networks) or 'a network'}, not of {one.network}"

    def _wrong(self, name, one, fields):
        """The rule that a pass breaks, as a text; None if it keeps all."""
        network, take = self.networks[one.network], one.take
        if one.weights not in ("online", "target"):
            return f"have weights online or target, not {one.weights!r}"
        if one.sweep not in range(self.sweeps):
            return f"run in one of {self.sweeps} sweeps, each with a loss, not in {one.sweep!r}"
        if one.errors and one.weights != "online":
            return "have online weights, since it has errors"
        if one.trains and not one.errors:
            return "have errors, since it trains"
        if one.errors and not (
            one.trains or (take and take.source in self.passes and self.passes[take.source].errors)
        ):
            return "train or take outputs of a pass with errors, since it has errors"
        if one.smoothed and (one.errors or not self._takes(name)):
            return "be taken by another pass and have no errors, since it is smoothed"
        if not one.feeds or any(feed.name not in fields for feed in one.feeds):
            return f"read some of {', '.join(fields)}, not {one.feeds!r}"
        places = [
            place for name, first in one.feeds for place in range(first, first + fields[name])
        ]
        if take:
            source = self.passes.get(take.source)
            if source is None or source.sweep != one.sweep or source.network == one.network:
                return (
                    "take outputs of a pass of another network in the same sweep, not of "
                    f"{take.source!r}"
                )
            outputs = self.networks[source.network].outputs
            if take.first + outputs != network.inputs:
                return f"take outputs as its last inputs, not from {take.first!r} on"
            places += range(take.first, network.inputs)
        if sorted(places) != [*range(network.inputs)]:
            return f"have each of its {network.inputs} inputs once, not {sorted(places)}"
        return None

    def _wrong_networks(self):
        """The rule that the networks, their links or the sweeps break, as a text; else None."""
        for name, network in self.networks.items():
            own = [one for one in self.passes.values() if one.network == name]
            if network.rate not in range(_RATES):
                return f"rates of 0..{_RATES - 1}, not {network.rate!r} of {name}"
            if network.free not in range(network.outputs):
                return f"0..{network.outputs - 1} free outputs, not {network.free!r} of {name}"
            # A free output is the parameter itself, which has no bounds.
            if network.free and network.activation != "linear":
                return f"linear outputs of {name}, since some are free, not {network.activation}"
            if sum(one.trains for one in own) != 1:
                return f"one pass of {name} that trains"
            if sum(map(bool, self.smoothed(name))) > 1:
                return f"smoothed passes of {name} in one sweep"
            if len({feed for one in own for feed in one.feeds}) > len(self.feeds(name)):
                return f"each field at the same inputs of {name} in all its passes"
        return self._wrong_links() or self._wrong_sweeps()

    def _wrong_links(self):
        takes = {}
        for one in self.passes.values():
            if one.take:
                source = self.passes[one.take.source].network
                takes.setdefault(one.network, set()).add((source, one.take.first))
        for name, links in takes.items():
            if len(links) > 1:
                return f"one network whose outputs {name} takes, at the same inputs"
            for sweep, names in enumerate(self.paths[name]):
                if names and not any(self.passes[key].take for key in names):
                    return f"a take of {name} in each sweep in which it runs, and not in {sweep}"
        seen, left = set(), [name for name in self.networks if name not in takes]
        while left:
            seen.update(left)
            left = [name for name in takes if name not in seen and self.links[name].source in seen]
        if seen != {*self.networks}:
            return f"no cycle, as of {', '.join(sorted({*self.networks} - seen))}"
        for name in self.networks:
            takers = self.takers(name)
            if len({self.networks[taker][:4] for taker in takers}) > 1:
                return f"networks of equal sizes that take what {name} gives"
            if len(takers) > 1 and any(self.takers(taker) for taker in takers):
                return f"no network that takes what one of {', '.join(takers)} gives"
        return None

    def _wrong_sweeps(self):
        for sweep, rule in enumerate(self.losses):
            running = [name for name in self.networks if self.paths[name][sweep]]
            if not any(self.trained_in(name) == sweep for name in running):
                return f"a pass that trains in sweep {sweep}"
            trained = {name for name in running if self.trained_in(name) == sweep}
            if rule.shifts and {*rule.shifts} != trained:
                return f"shifts of {', '.join(sorted(trained))} in sweep {sweep}, or none"
            ends = [name for name in self.ends if name in running]
            if {*rule.numbers} != {*ends}:
                return f"a loss of {', '.join(ends)} in sweep {sweep}, not of {[*rule.numbers]}"
            for name in running:
                takers = [taker for taker in self.takers(name) if taker in running]
                if self.takers(name) and not takers:
                    return f"a pass in sweep {sweep} that takes what {name} gives"
                back = [{*self.returned(taker)[sweep]} for taker in takers]
                if takers and {*range(self.errors(name)[sweep])} != set().union(*back):
                    return f"errors for each pass of {name} in sweep {sweep} that has some"
                added = [taker for taker in takers if self.returned(taker)[sweep]]
                for other in added[1:]:
                    if self._fields(other, sweep) != self._fields(added[0], sweep):
                        return f"the same fields for {added[0]} and {other}, whose errors are added"
        if self.shifts and self.shifts[-1] >= SHIFTED:
            return f"shifts of the first {SHIFTED} networks only"
        return None


def mask(bits):
    """The integer with these ``bits``, the lowest one first."""
    return sum(bit << place for place, bit in enumerate(bits))


def of_sweep(sweep, values):
    """The one of ``values``, a number or Value for each sweep, that is for ``sweep``, a Value. If
    all are the same number, it is a Const."""
    first, *rest = values
    if all(isinstance(value, int) for value in values) and len({*values}) == 1:
        return Const(first)
    chosen = Value.cast(first)
    for number, value in enumerate(rest, 1):
        chosen = Mux(sweep == number, value, chosen)
    return chosen
