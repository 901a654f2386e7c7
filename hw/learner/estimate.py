"""Resources of a kernel with a learner, and smaller configs to try if it does not fit.

Multipliers, memory blocks and registers are counted as the units have them. Lookup tables are as
yosys maps them to UltraScale+, module by module: they follow from the widths of adders, comparators
and multiplexers.
"""

from dataclasses import replace
from functools import lru_cache

from amaranth import Shape

from hw.area import area
from hw.arith import estimate as arith
from hw.environment.machine import Machine
from hw.estimate import products, selector, times, together
from hw.learner.block import estimate as block
from hw.learner.block.layer_config import KINDS
from hw.learner.commands import LEARNING
from hw.learner.config import PARAMETER_SETS
from hw.learner.control.step_check import StepCheck
from hw.learner.layouts import scalars_layout
from hw.learner.network.gradient_norm import GradientNorm
from hw.learner.network.loss import Loss
from hw.learner.network.merge import Merge
from hw.learner.network.outputs import Outputs
from hw.learner.network.smooth import Smooth
from hw.learner.parameters.estimate import layer_parameters, network_optimizer
from hw.learner.parameters.parameter_image import sections, set_bytes
from hw.learner.parameters.square_sum import SquareSum
from hw.learner.placed_layers import merges, placed
from hw.learner.play.episodes import Episodes
from hw.learner.play.explore import Explore
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.learner.play.windows import Windows
from hw.learner.records import (
    HYPERPARAMETERS,
    LEARNER_STATUS,
    STEP,
    WORDS,
    action_granules,
    observation_granules,
    record_granules,
)
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.samples.sample_reader import DEPTH, words_a_clock
from hw.learner.step_clocks import scalars_ahead, slots_of
from hw.nn import estimate as nn
from hw.replay.commands import BUFFERS
from hw.replay.config import GRANULE_WIDTH
from hw.replay.estimate import core_parts
from hw.replay.estimate import jobs as replay_jobs
from hw.replay.records import ITEM
from hw.shell import estimate as shell
from hw.stream import estimate as stream
from hw.stream.ram import Ram, shallow_memory, style_of
from hw.suggest import suggest as changes_that_fit

__all__ = ["batch_memories", "estimate", "parts", "player", "suggest", "td_errors"]

#: Kernels that differ in their learner alone have the same parts around the core.
_shell_parts = lru_cache(maxsize=256)(shell.parts)


def parts(config):
    """``{unit: Estimate}`` of the whole kernel of a LearnerKernelConfig."""
    learner, width = config.learner, config.engine.data_width
    replay = {f"replay {name}": part for name, part in core_parts(config.replay_kernel).items()}
    layers = sum(map(len, learner.networks.values()))
    shifted = sum(learner.plan.shift_of(name) is not None for name in learner.networks)
    coefficients = nn.coefficients(learner.layer_config.optimizer_config)
    return {
        **_shell_parts(config.replay_kernel, BUFFERS, LEARNER_STATUS),
        **replay,
        "replay core": together([replay["replay core"], replay_jobs(width)]),
        "commands": shell.dispatcher(LEARNING, config, products=_products(learner)),
        **_layers(learner),
        "loss": together(
            [
                *(each for sweep in range(learner.plan.sweeps) for each in _loss(learner, sweep)),
                *_merges(learner),
                *_smooths(learner),
            ]
        ),
        "samples": together(_samples(learner, width)),
        "results": together([*_outputs(learner, width), *td_errors(width, learner.batch)]),
        "image": _image_transfer(learner, width),
        # A beat of a report or a list is written; the rest is addresses, counts and two records.
        "iteration": together(
            [
                area("learner.control.iteration", width=width),
                stream.delay(8 * (learner.step_record.size - HYPERPARAMETERS.size), 2),
                *([StepCheck.estimate(learner)] if learner.step_record is STEP else []),
            ]
        ),
        **({"play": player(config)} if config.play else {}),
        # Beats are an image's or observations, or come from the host or the replay core.
        "core": together(
            [
                times(len(learner.alike), coefficients),
                times(shifted, area("arith.float32.power_of_two"), stream.delay(32, 1)),
                *(_norms(learner) if learner.clip_norm else ()),
                area("learner.learner_core", width=width, layers=layers),
            ]
        ),
    }


def _products(learner):
    """DSP blocks of reading commands: bytes of an iteration, of all of them and of their lists;
    of observations and actions, by their granules; of sets, if the factor is not too short."""
    size = set_bytes(learner)
    image = size // (size & -size) >= 64
    return 3 + image + products(observation_granules(learner), action_granules(learner))


def _layers(learner):
    """Estimates of the units of all layers."""
    shared, count = learner.layer_config, words_a_clock(learner)
    units = {name: [] for name in ("forward", "backward", "parameters", "buffers")}
    for own, slots in zip(placed(learner), slots_of(learner), strict=True):
        groups, chain = own.groups, own.groups if own.position else 0
        if not own.position and learner.plan.links[own.network]:
            chain = len(set().union(*learner.plan.taken(own.network)))
        units["forward"].append(block.forward(shared, own.shape, groups))
        units["backward"].append(
            block.backward(shared, own.shape, own.backward_groups, **own.backward_options)
        )
        units["parameters"].append(layer_parameters(shared, own.shape, own.input_gradient))
        ring = block.activation_buffer(
            shared,
            own.shape,
            groups=groups,
            backward_groups=own.backward_groups,
            slots=slots,
            feed=0 if own.position else count,
            chain=chain,
        )
        units["buffers"].append(ring)
    for layers in learner.networks.values():
        units["parameters"].append(network_optimizer(shared, len(layers)))
    return {name: together(each) for name, each in units.items()}


def _norms(learner):
    """The ``GradientNorm`` of each network."""
    shared, networks = learner.layer_config, learner.networks.values()
    shapes = [SquareSum.sum_shape(shared, layer) for layers in networks for layer in layers]
    widest = max(shapes, key=lambda shape: shape.width)
    for layers in networks:
        yield GradientNorm.estimate(shared, widest, len(layers))


def _width(learner, kind):
    return Shape.cast(learner.arithmetic.shape(kind)).width


def _loss(learner, sweep):
    """The ``Loss`` of a sweep."""
    plan, lanes, wide = learner.plan, learner.lanes, not learner.arithmetic.saturates
    rule, number = plan.losses[sweep], _width(learner, "activation")
    slots, _ = Loss.slots_of(learner, sweep)
    ahead = Loss.ahead_of(Loss.stage(learner, sweep))
    yield Loss.pipeline_of(learner, sweep).estimate(learner.arithmetic)
    for place, name in enumerate(Loss.networks_of(learner, sweep)):
        # Of a sample, its numbers and, with the first network's, scalars are kept, then move to
        # place 0.
        sample = len(rule.numbers[name]) * number
        sample += 0 if place else scalars_layout(learner).elem_shape.size
        error = _width(learner, "gradient") + plan.networks[name].outputs.bit_length()
        # The largest of the outputs, if an algorithm looks for it.
        largest = number if learner.discrete else 0
        kept = dict(number=number, sample=sample, error=error, largest=largest)
        yield times(lanes, area("learner.network.loss.lane", wide=wide, **kept))
        yield area("learner.network.loss", moved=(lanes - 1) * sample, wide=wide)
        yield stream.queue(lanes * sample, slots)
        if plan.errors(name)[sweep]:
            yield stream.queue(lanes * error, ahead)
    if sweep == 0:
        yield stream.queue(8 * ITEM.size, ahead * lanes)


def _merges(learner):
    """The ``Merge`` of each network whose takers return errors together."""
    for name, layers in learner.networks.items():
        if merges(learner, name):
            paths, takers = max(learner.plan.errors(name)), len(learner.plan.takers(name))
            yield Merge.estimate(learner.layer_config, layers[-1].output_word, paths, takers)


def _smooths(learner):
    """The ``Smooth`` of each network whose outputs other networks take with noise."""
    for name, layers in learner.networks.items():
        if any(learner.plan.smoothed(name)):
            paths = learner.plan.count(name)
            yield Smooth.estimate(learner.layer_config, layers[-1], paths)


def batch_memories(learner, width):
    """The memories of a ``BatchMemory``: both halves, for all lanes."""
    return times(learner.lanes, Ram.estimate(width, 2 * BatchMemory.row_count(learner, width)))


def _samples(learner, width):
    """The ``BatchMemory`` and the ``SampleReader``."""
    lanes, count, size = learner.lanes, words_a_clock(learner), 1 + record_granules(learner)
    number, scalars = _width(learner, "activation"), scalars_layout(learner).size
    position = (WORDS * size - 1).bit_length()
    yield batch_memories(learner, width)
    yield area("arith.float32.reciprocal")
    yield area(
        "learner.samples.batch_memory",
        read=lanes * 32 * count * selector(width // (32 * count)),
        # A granule's words are checked, its index and its weight compared with the others'.
        parts=width // GRANULE_WIDTH,
        products=products(size, observation_granules(learner)),
    )
    yield times(lanes * count, arith.quantize(learner.arithmetic, "activation"))
    queue = stream.queue(scalars, max(2, scalars_ahead(learner)))
    yield times(len(learner.plan.ends), queue)
    yield stream.queue(position + lanes * count * (number + 1), DEPTH)
    clipped = lanes * learner.arithmetic.saturates
    yield area("learner.samples.sample_reader", lanes=lanes, clipped=clipped, scalars=scalars)


def _outputs(learner, width):
    """The ``Outputs``."""
    shape = learner.networks[learner.acts][-1]
    depth, number = Outputs.SAMPLES * shape.output_words, _width(learner, "activation")
    beside = learner.lanes * shape.output_word
    sizes = (learner.lanes, beside, WORDS * action_granules(learner), depth, depth)
    counters = sum((size - 1).bit_length() for size in sizes) + learner.batch.bit_length() + 9
    # A number is a lane's, or a zero.
    chosen = number * selector(max(2, beside))
    yield Ram.estimate(beside * number, depth, style_of(depth))
    yield arith.to_float(learner.arithmetic, "activation")
    yield stream.pack(32, 1, width // 32)
    yield area("learner.network.outputs", chosen=chosen, counters=counters)


def td_errors(width, batch):
    """Parts of a ``TdErrorQueue`` with these arguments."""
    items = width // (8 * ITEM.size)
    beats = -(-batch // items)
    counters = batch.bit_length() + beats.bit_length()
    yield stream.pack(8 * ITEM.size, 1, items)
    yield stream.queue(width, beats)
    yield area("learner.control.td_error_queue", counters=counters)


def _image_transfer(learner, width):
    """The ``ImageTransfer``."""
    layers = [section.layer for section in sections(learner, PARAMETER_SETS[:1])]
    sizes = len({layer.image_word for layer in layers})
    return area(
        "learner.parameters.image_transfer",
        width=width,
        # A beat is loaded, or moves on by a word of one of three sizes at most.
        moved=(2 if sizes > 2 else 1) * width,
        layers=len(layers),
        sizes=sizes,
        most=max(layer.numbers for layer in layers).bit_length() - 1,
        count=len(layers).bit_length(),
    )


@lru_cache(maxsize=1024)
def estimate(config):
    """``Estimate`` of the whole kernel of a LearnerKernelConfig: all five resources."""
    return together(parts(config).values())


def suggest(config, fits):
    """Texts of changes to ``config`` with which it would fit, as ``hw.suggest.suggest`` gives them;
    none if no change helps. ``fits(config)`` says whether a config fits."""
    return changes_that_fit(
        _smaller(config.learner), lambda changes: fits(_changed(config, **changes))
    )


def _smaller(learner):
    """The fields that can be smaller, with their smaller values, largest first."""

    def halves(value):
        return [value >> k for k in range(1, value.bit_length())]

    return {
        "lanes": halves(learner.lanes),
        "multipliers": halves(learner.multipliers) if learner.words is None else [],
        "update_units": [*halves(learner.update_units), *[0] * (learner.update_units > 0)],
        "loss_unit": ["program"] * (learner.loss_unit == "pipeline" and learner.has_loss_program),
        "batch": [b for b in halves(learner.batch) if b >= 8 and b % learner.lanes == 0],
        "hidden": [
            tuple(min(w, width) for w in learner.hidden)
            for width in halves(max(learner.hidden))
            if width >= 8
        ],
        "kind": KINDS[KINDS.index(learner.arithmetic.kind) + 1 :],
        "optimizer": ["sgd"] * (learner.optimizer != "sgd"),
    }


def _changed(config, kind=None, **changes):
    """The config with these changes. ValueError if no shape fits so few multipliers."""
    learner = config.learner
    if kind:
        changes["arithmetic"] = replace(learner.arithmetic, kind=kind)
    return replace(config, learner=replace(learner, **changes))


def player(config):
    """Resources of the ``Player`` of a LearnerKernelConfig, with all that ``PlayingCore`` adds to
    ``LearnerCore``."""
    play, learner, width = config.play, config.learner, config.engine.data_width
    experiences = play.environments * play.longest * record_granules(learner)
    shown = play.environments << (learner.observation - 1).bit_length()
    return together(
        [
            area("learner.play.player", environments=play.environments, width=width),
            Machine.estimate(play.machine),
            Explore.estimate(play.explore(learner)),
            Windows.estimate(play.windows(learner)),
            Episodes.estimate(play.episodes),
            ScaledToFloat.estimate(ScaledConfig(width=32)),
            shallow_memory(32, shown),
            stream.queue(GRANULE_WIDTH, experiences),
        ]
    )
