"""Layouts that units of several folders of the learner share."""

from amaranth.lib import data

__all__ = ["scalars_layout"]


def scalars_layout(config):
    """The scalars of a super-sample: for each lane the index of its experience in the replay
    memory, its action as the 32 bits of the record, and weight, reward and discount as binary32."""
    names = ("index", "weight", "action", "reward", "discount")
    return data.ArrayLayout(data.StructLayout(dict.fromkeys(names, 32)), config.lanes)
