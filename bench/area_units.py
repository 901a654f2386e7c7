"""Units whose maps decide the rows of hw/area.json, each with its own estimate."""

from functools import partial

from amaranth import Cat, Module, Shape, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bench.area_kernels import LEARNERS
from hw.area import area
from hw.arith import estimate as arith
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.arith.float32.add import Float32Add
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.log2 import Log2, Log2Config
from hw.arith.power import Power, PowerConfig
from hw.arith.quantize import Quantize, QuantizeConfig
from hw.arith.tanh import Tanh, TanhFixed
from hw.arith.to_float import ToFloat, ToFloatConfig
from hw.designs import DESIGNS
from hw.environment.machine import Machine
from hw.environment.machine_ports import MachineConfig
from hw.estimate import together
from hw.gae import estimate as gae
from hw.gae.array.pe import PE
from hw.gae.config import GaeConfig
from hw.learner import estimate as learner_estimate
from hw.learner.block import estimate as block
from hw.learner.block.backward import Backward
from hw.learner.block.forward import Forward
from hw.learner.block.layer_config import LayerConfig
from hw.learner.config import LearnerKernelConfig
from hw.learner.estimate import player
from hw.learner.network.loss import Loss
from hw.learner.parameters.estimate import layer_parameters, network_optimizer
from hw.learner.parameters.image_transfer import ImageTransfer
from hw.learner.parameters.layer_parameters import LayerParameters
from hw.learner.parameters.network_optimizer import NetworkOptimizer
from hw.learner.placed_layers import placed
from hw.learner.play.config import PlayConfig
from hw.learner.play.episodes import Episodes, EpisodesConfig
from hw.learner.play.explore import Explore, ExploreConfig
from hw.learner.play.player import Player
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.learner.play.weighted_sum import WeightedSum
from hw.learner.play.windows import Windows, WindowsConfig
from hw.nn import estimate as nn
from hw.nn.activation import ACTIVATIONS
from hw.nn.batch_sum import BatchSum
from hw.nn.fixed_coefficients import FixedCoefficients
from hw.nn.optimizer_config import OPTIMIZERS, OptimizerConfig
from hw.nn.optimizers import optimizer_of
from hw.nn.td_loss import TdLoss
from hw.nn.td_program import TdProgram
from hw.replay import estimate as replay_estimate
from hw.replay.priority import PriorityUnit
from hw.replay.tree.forwarding_memory import ForwardingMemory
from hw.shell import estimate as shell
from hw.shell.axi import EngineConfig
from hw.shell.control import Control
from hw.shell.description import standard_arguments
from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect
from hw.shell.read_engine import ReadEngine
from hw.shell.sequencer import Sequencer
from hw.shell.stripes import StripedRead, StripedWrite
from hw.shell.width_conversion import Downsizer, Upsizer
from hw.shell.write_engine import WriteEngine
from hw.stream import estimate as stream
from hw.stream.pack import Pack, Unpack
from hw.stream.queue import Queue
from hw.stream.ready_register import ReadyRegister
from hw.stream.split import Split
from hw.stream.transpose import Transpose

__all__ = ["UNITS"]


_FIXED, _FLOAT = Arithmetic(kind="fixed"), Arithmetic()


def _machine(environments):
    config = MachineConfig(environments=environments)
    return Machine(config), Machine.estimate(config)


def _estimated(kind, config):
    return kind(config), kind.estimate(config)


def _play():
    """Units of PLAY."""
    for environments, actions in ((8, 2), (8, 18), (8, 255), (64, 4), (32, 7)):
        config = ExploreConfig(environments=environments, actions=actions)
        yield f"explore_{environments}_{actions}", partial(_estimated, Explore, config)
    for sizes in ((8, 4, 1, 16), (8, 4, 1, 4), (64, 8, 1, 16), (16, 3, 1, 8)):
        names = ("environments", "observation", "action", "longest")
        config = WindowsConfig(**dict(zip(names, sizes, strict=True)))
        yield "windows_{}_{}_{}_{}".format(*sizes), partial(_estimated, Windows, config)
    for environments in (8, 64):
        config = EpisodesConfig(environments=environments)
        yield f"episodes_{environments}", partial(_estimated, Episodes, config)
    for environments, width in ((8, 128), (8, 512), (16, 256), (64, 512)):
        config = LearnerKernelConfig(
            play=PlayConfig(environments=environments, longest=4),
            engine=EngineConfig(data_width=width),
        )
        yield f"player_{environments}_{width}", lambda c=config: (Player(c), player(c))
    for width in (32, 48, 68, 96):
        config = ScaledConfig(width=width)
        yield f"scaled_to_float_{width}", partial(_estimated, ScaledToFloat, config)
    for longest in (4, 8, 16):
        yield f"weighted_sum_{longest}", partial(_estimated, WeightedSum, longest)


def _engines():
    for name, config in {
        "wide": EngineConfig(depth=200, burst_beats=16, bursts=100),
        "narrow": EngineConfig(data_width=128, depth=16, burst_beats=8, bursts=4),
        "middle": EngineConfig(data_width=128, depth=64, burst_beats=16, bursts=16),
    }.items():
        yield f"read_engine_{name}", lambda c=config: (ReadEngine(c), shell.read_engine(c))
        yield f"write_engine_{name}", lambda c=config: (WriteEngine(c), shell.write_engine(c))


def _interconnects():
    for number, config in enumerate(
        (
            InterconnectConfig(data_width=256, ports=3, depth=(64, 32, 32), burst_beats=32),
            InterconnectConfig(data_width=128, ports=2, depth=16, burst_beats=8),
            InterconnectConfig(data_width=128, ports=6, depth=16, burst_beats=8, bursts=4),
        )
    ):
        yield (
            f"read_interconnect_{number}",
            lambda c=config: (ReadInterconnect(c), shell.read_interconnect(c)),
        )
        yield (
            f"write_interconnect_{number}",
            lambda c=config: (WriteInterconnect(c), shell.write_interconnect(c)),
        )
    for arguments in ((256, 4, 16, 20), (128, 2, 8, 8), (128, 1, 8, 8)):
        for make, need in (
            (StripedRead, shell.striped_read),
            (StripedWrite, shell.striped_write),
        ):
            yield (
                f"{make.__name__}_{arguments[1]}",
                lambda make=make, need=need, a=arguments: (unit := make(*a), need(unit.config)),
            )


def _sequencer(width, size):
    unit = Sequencer(data_width=width, status_bytes=size, config_hash=3**40, pointers=range(5))
    return unit, shell.sequencer(width, size)


def _control(name):
    arguments = standard_arguments(DESIGNS[name].core.BUFFERS)
    return Control(arguments), shell.control(arguments)


def _conversion(make, need, wide, narrow):
    return make(wide, narrow), need(wide, narrow)


def _memory(width, depth, style):
    unit = ForwardingMemory(width=width, depth=depth, style=style, clear_width=depth.bit_length())
    return unit, replay_estimate.forwarding_memory(width, depth, style)


def _pe(lookahead, code_width, result_width):
    config = GaeConfig(lookahead=lookahead, code_width=code_width, result_width=result_width)
    return PE(config), gae.pe(config)


def _constant(make, row):
    return make(), area(row)


def _made(make, *arguments, need):
    return make(*arguments), need(*arguments)


class _Operation(wiring.Component):
    """``function(m, *operands)`` of signed operands, with registers, as a unit of its own."""

    def __init__(self, function, *widths):
        self._function = function
        self._operands = {f"i{k}": In(signed(width)) for k, width in enumerate(widths)}
        super().__init__(self._operands | {"o": Out(64)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self._function(m, *(getattr(self, name) for name in self._operands)))
        return m


def _requantize(width, *source, kind):
    def function(m, value):
        return Cat(*_FIXED.requantize(m, value, *source, kind=kind, name="value"))

    return _Operation(function, width), arith.requantize(_FIXED, width, *source, kind=kind)


def _derived_by_tanh(fraction):
    own = Arithmetic(kind="fixed", activation=SQ(8, fraction))
    widths = (Shape.cast(own.shape(kind)).width for kind in ("gradient", "activation"))
    unit = _Operation(lambda m, dx, x: own.derived_by_tanh(m, dx, x, name="value"), *widths)
    return unit, arith.derived_by_tanh(own)


def _activation(name, arithmetic):
    function, width = ACTIVATIONS[name], Shape.cast(arithmetic.shape("activation")).width
    unit = _Operation(lambda m, x: function.apply(m, arithmetic, x, name="value"), width)
    return unit, nn.activation(name, arithmetic)


def _derivative(name, arithmetic):
    function = ACTIVATIONS[name]
    widths = (Shape.cast(arithmetic.shape(kind)).width for kind in ("gradient", "activation"))
    unit = _Operation(lambda m, dx, x: function.derive(m, arithmetic, dx, x, name="value"), *widths)
    return unit, nn.derivative(name, arithmetic)


def _optimizer(kind, arithmetic):
    config = OptimizerConfig(optimizer=kind, arithmetic=arithmetic)
    unit = optimizer_of(arithmetic)(config, arithmetic.gradient_sum_shape(64))
    return unit, nn.optimizer(config)


def _coefficients(kind):
    config = OptimizerConfig(optimizer=kind, arithmetic=_FIXED)
    return FixedCoefficients(config, _FIXED.gradient_sum_shape(64)), nn.coefficients(config)


def _layers(name, kernel):
    """Units of the layers, the loss and the transfer of a kernel's learner."""
    learner, width = kernel.learner, kernel.engine.data_width
    shared = learner.layer_config
    yield f"{name}_loss", lambda: (Loss(learner), learner_estimate.parts(kernel)["loss"])
    yield (
        f"{name}_image",
        lambda: (ImageTransfer(learner, width), learner_estimate.parts(kernel)["image"]),
    )
    for k, layer in enumerate(placed(learner)):
        shape, options = layer.shape, layer.backward_options
        yield (
            f"{name}_{k}_forward",
            lambda shape=shape, sources=layer.weight_sources: (
                Forward(shared, shape, sources),
                block.forward(shared, shape, len(sources)),
            ),
        )
        yield (
            f"{name}_{k}_backward",
            lambda arguments=(shared, shape, layer.backward_groups), options=options: (
                Backward(*arguments, **options),
                block.backward(*arguments, **options),
            ),
        )
        yield (
            f"{name}_{k}_parameters",
            lambda shape=shape, wanted=layer.input_gradient: (
                LayerParameters(shared, shape, input_gradient=wanted),
                layer_parameters(shared, shape, wanted),
            ),
        )


def _network_optimizers():
    for optimizer, layers in (("rmsprop", 3), ("adam", 2)):
        config = LayerConfig(optimizer=optimizer, update_units=0, arithmetic=_FIXED)
        yield (
            f"network_optimizer_{optimizer}_{layers}",
            lambda config=config, layers=layers: (
                NetworkOptimizer(config, layers),
                network_optimizer(config, layers),
            ),
        )


#: Folder of hw -> {name: function that gives a unit and its Estimate}.
UNITS = {
    "stream": {
        **{
            f"queue_{width}_{depth}": partial(_made, Queue, width, depth, need=stream.queue)
            for width, depth in (
                (64, 16), (100, 20), (130, 64), (8, 256), (72, 700), (33, 4), (9, 2), (65, 256),
                (5, 1), (129, 1), (20, 8), (16, 32), (40, 48),
            )
        },
        **{
            f"ready_register_{width}": lambda width=width: (
                ReadyRegister(width),
                area("stream.ready_register", width=width),
            )
            for width in (33, 100)
        },
        **{
            f"split_{width}_{parts}": partial(_made, Split, width, parts, count, need=stream.split)
            for width, parts, count in (
                (64, 8, 16), (64, 16, 16), (64, 2, 32), (64, 4, 24), (32, 20, 24), (128, 1, 24),
            )
        },
        **{
            "pack_{}_{}_{}".format(*each): partial(_made, Pack, *each, need=stream.pack)
            for each in ((128, 2, 1), (128, 5, 4), (32, 8, 8), (32, 5, 4))
        },
        **{
            "unpack_{}_{}".format(*each): partial(_made, Unpack, *each, need=stream.unpack)
            for each in ((128, 1), (128, 2), (128, 4), (32, 3))
        },
        **{
            "transpose_{}_{}".format(*each): partial(_made, Transpose, *each, need=stream.transpose)
            for each in ((16, 4), (32, 8), (20, 2))
        },
    },
    "arith": {
        **{
            row.replace(".", "_"): partial(_constant, make, f"arith.{row}")
            for row, make in {
                "float32.add": Float32Add,
                "float32.multiply": Float32Multiply,
                "float32.reciprocal": Float32Reciprocal,
                "tanh.float32": Tanh,
            }.items()
        },
        **{
            f"power_{tag}": lambda tag=tag: (
                Power(PowerConfig(tag_width=tag)),
                area("arith.power", tag=tag),
            )
            for tag in (1, 12)
        },
        **{
            f"log2_{width}": lambda width=width: (
                Log2(Log2Config(width=width)),
                area("arith.log2", **replay_estimate.log2_widths(width)),
            )
            for width in (8, 13, 24, 28, 33, 44, 48)
        },
        **{
            f"quantize_{width}": lambda width=width: (
                Quantize(QuantizeConfig(target=SQ(8, width - 8))),
                area("arith.quantize", width=width),
            )
            for width in (18, 24, 32)
        },
        **{
            f"to_float_{width}": lambda width=width: (
                ToFloat(ToFloatConfig(source=SQ(8, width - 8))),
                area("arith.to_float", width=max(width, 26)),
            )
            for width in (18, 27, 32)
        },
        "tanh_fixed": lambda: (TanhFixed(SQ(8, 10)), area("arith.tanh.fixed")),
        **{
            f"requantize_{width}_{kind}": partial(
                _requantize, width, "weight", kind, kind=kind
            )
            for width in (42, 46, 51)
            for kind in ("activation", "gradient")
        },
        **{
            f"derived_by_tanh_{fraction}": partial(_derived_by_tanh, fraction)
            for fraction in (8, 10)
        },
    },
    "shell": {
        **dict(_engines()),
        **dict(_interconnects()),
        **{
            f"upsizer_{wide}_{narrow}": partial(_conversion, Upsizer, shell.upsizer, wide, narrow)
            for wide, narrow in ((512, 128), (256, 128), (128, 32))
        },
        **{
            f"downsizer_{wide}_{narrow}": partial(
                _conversion, Downsizer, shell.downsizer, wide, narrow
            )
            for wide, narrow in ((512, 256), (256, 128), (128, 32))
        },
        **{
            f"sequencer_{width}_{size}": partial(_sequencer, width, size)
            for width, size in ((512, 128), (128, 192), (128, 64), (256, 256))
        },
        **{f"control_{name}": partial(_control, name) for name in ("gae", "replay", "a3c")},
    },
    "replay": {
        "priority": lambda: (PriorityUnit(), area("replay.priority_unit", width=24)),
        **{
            "memory_{}_{}_{}".format(*each): partial(_memory, *each)
            for each in (
                (20, 1, "distributed"), (48, 1, "distributed"),
                (64, 16, "distributed"), (40, 64, "distributed"), (200, 8, "distributed"),
                (24, 256, "block"), (120, 512, "block"), (300, 256, "block"),
            )
        },
    },
    "gae": {
        "pe_{}_{}_{}".format(*each): partial(_pe, *each)
        for each in (
            (1, 8, 8), (2, 8, 8), (3, 8, 8), (1, 16, 8), (2, 16, 8), (3, 16, 8), (1, 32, 8),
            (2, 32, 8), (3, 32, 8), (2, 8, 16), (2, 8, 32), (2, 16, 16), (2, 16, 32), (2, 32, 32),
        )
    },
    "nn": {
        "batch_sum": lambda: (BatchSum(), together([area("nn.batch_sum"), arith.add(_FLOAT)])),
        "td_loss_fixed": lambda: (TdLoss(_FIXED), TdLoss.estimate(_FIXED)),
        "td_loss_float": lambda: (TdLoss(_FLOAT), TdLoss.estimate(_FLOAT)),
        "td_program_fixed": lambda: (TdProgram(_FIXED), TdProgram.estimate(_FIXED)),
        "td_program_float": lambda: (TdProgram(_FLOAT), TdProgram.estimate(_FLOAT)),
        **{
            f"{make.__name__[1:]}_{name}_{arithmetic.kind}": partial(make, name, arithmetic)
            for make in (_activation, _derivative)
            for name in ("relu", "leaky_relu")
            for arithmetic in (_FIXED, _FLOAT)
        },
        **{
            f"optimizer_{kind}_{arithmetic.kind}": partial(_optimizer, kind, arithmetic)
            for kind in OPTIMIZERS
            for arithmetic in (_FIXED, _FLOAT)
        },
        **{f"coefficients_{kind}": partial(_coefficients, kind) for kind in OPTIMIZERS},
    },
    "learner": {
        **{
            unit: make
            for name, kernel in LEARNERS.items()
            for unit, make in _layers(name, kernel)
        },
        **dict(_play()),
        **dict(_network_optimizers()),
    },
    "environment": {f"machine_{count}": partial(_machine, count) for count in (8, 12, 16, 32, 64)},
}  # fmt: skip
