"""Layouts that units of several folders of the learner share."""

from amaranth.lib import data

__all__ = ["scalars_layout"]


def scalars_layout(config):
    """The scalars of a super-sample, a structure for each lane: index and action, and weight,
    reward and discount as binary32."""
    names = ("index", "weight", "action", "reward", "discount")
    return data.ArrayLayout(data.StructLayout(dict.fromkeys(names, 32)), config.lanes)
