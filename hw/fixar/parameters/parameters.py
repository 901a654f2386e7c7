"""All parameters of FIXAR: tiles for the arrays, updates, and the image of LOAD and STORE."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fixar.layouts import rows_layout
from hw.fixar.parameters.image import Image
from hw.fixar.parameters.layouts import bias_layout, sums_layout, tile_request_layout
from hw.fixar.parameters.memories import WEIGHTS, Memories
from hw.fixar.parameters.tile_loader import TileLoader
from hw.fixar.parameters.weight_update import WeightUpdate
from hw.learner.config import PARAMETER_SETS
from hw.learner.records import HYPERPARAMETERS

__all__ = ["Parameters"]


class Parameters(wiring.Component):
    """The memories with the three units that use their ports: tile loader, update, image.

    Tiles, updates and images share one read port. Tiles that are asked for while an update or an
    image is ``busy`` wait. Whoever starts an update or an image waits until all bands of the tiles
    that were asked for have left, and never starts an update beside an image.

    Parameters
    ----------
    config : FixarConfig
    sum_width : int
        Bits of a core's sum of gradients.
    data_width : int
        Bits of a beat of images.
    ultra_ram : bool
        Whether deep memories may be made of UltraRAM.

    Members
    -------
    tiles : In(stream of tile_request_layout), rows : Out(stream of rows_layout)
        Requests for tiles of weights; the bands of these tiles, as operands, in order.
    bias : Out(bias_layout)
        A word of biases, for requests with ``bias``.
    sums : In(sums_layout)
        A word of sums of gradients, with the address of its weights: updates them.
    network : In(1), hyperparameters : In(HYPERPARAMETERS)
        Which network's coefficients an update uses, 0 for the critic; the coefficients of both.
    clipped_gradients, clipped_weights : Out(range(side + 1))
        How many numbers of an update were clipped; each is reported once.
    busy : Out(1)
        An update or an image is under way, from the clock after ``sums``, ``load`` or ``store`` on.
    load, store : In(1), sets : In(4)
        One clock: begin to move an image, with a bit for each set: online, target, first, second.
    image_i : In(stream of beats), image_o : Out(stream of beats)
        The image to load; the image that is stored.
    """

    def __init__(self, config, sum_width, data_width, ultra_ram=True):
        self.config, self.sum_width, self.data_width = config, sum_width, data_width
        self.ultra_ram = ultra_ram
        beats = stream.Signature(unsigned(data_width))
        super().__init__(
            {
                "tiles": In(stream.Signature(tile_request_layout(config))),
                "rows": Out(stream.Signature(rows_layout(config))),
                "bias": Out(bias_layout(config)),
                "sums": In(sums_layout(config, sum_width)),
                "network": In(1),
                "hyperparameters": In(HYPERPARAMETERS.shape),
                "clipped_gradients": Out(range(config.side + 1)),
                "clipped_weights": Out(range(config.side + 1)),
                "busy": Out(1),
                "load": In(1),
                "store": In(1),
                "sets": In(len(PARAMETER_SETS)),
                "image_i": In(beats),
                "image_o": Out(beats),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memories = memories = Memories(self.config, self.ultra_ram)
        m.submodules.loader = loader = TileLoader(self.config)
        m.submodules.update = update = WeightUpdate(self.config, self.sum_width)
        m.submodules.image = image = Image(self.config, self.data_width)

        connect(m, loader.rows, flipped(self.rows))
        connect(m, flipped(self.image_i), image.i)
        connect(m, image.o, flipped(self.image_o))
        free = ~self.busy & ~self.sums.valid & ~self.load & ~self.store
        m.d.comb += [
            self.busy.eq(update.busy | image.busy),
            loader.i.payload.eq(self.tiles.payload),
            loader.i.valid.eq(self.tiles.valid & free),
            self.tiles.ready.eq(loader.i.ready & free),
            self.bias.eq(loader.bias),
            update.i.eq(self.sums),
            update.network.eq(self.network),
            update.hyperparameters.eq(self.hyperparameters),
            self.clipped_gradients.eq(update.clipped_gradients),
            self.clipped_weights.eq(update.clipped_weights),
            image.load.eq(self.load),
            image.store.eq(self.store),
            image.sets.eq(self.sets),
        ]

        with m.If(image.busy):
            m.d.comb += [
                memories.weights_enable.eq(image.enable),
                memories.weights_address.eq(image.address),
                memories.moments_enable.eq(image.enable),
                memories.moments_address.eq(image.address),
                memories.write_weights_address.eq(image.address),
                memories.write_moments_address.eq(image.address),
                memories.write.eq(image.write),
            ]
        with m.Else():
            m.d.comb += [
                memories.weights_enable.eq(loader.enable),
                memories.weights_address.eq(
                    Mux(update.busy, update.weights_address, loader.address)
                ),
                memories.moments_enable.eq(1),
                memories.moments_address.eq(update.moments_address),
                memories.write_weights_address.eq(update.write_weights_address),
                memories.write_moments_address.eq(update.write_moments_address),
                memories.write.eq(update.write),
            ]
        for name in PARAMETER_SETS:
            new = getattr(update, f"write_{name}")
            word = getattr(memories, name)
            m.d.comb += [
                getattr(memories, f"write_{name}").eq(Mux(image.busy, image.word, new)),
                getattr(update, name).eq(word),
                getattr(image, name).eq(word),
            ]
        for name in WEIGHTS:
            m.d.comb += getattr(loader, name).eq(getattr(memories, f"{name}_words"))
        return m
