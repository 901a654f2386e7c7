"""Finds modules of generated Verilog that are the same except for their names: mapping one of them
is enough.

Amaranth writes a module for each instance of a component, named by its path.
"""

import re
from collections import Counter
from dataclasses import replace

__all__ = ["Alike", "module_texts"]

_MODULE = re.compile(r"^module (\\\S+|\w+).*?^endmodule\n", re.M | re.S)
_PATH = re.compile(r"\\\S+")


def module_texts(verilog):
    """``{name: text}`` of the modules of ``verilog``; escaped names have their backslash."""
    return {found[1]: found[0] for found in _MODULE.finditer(verilog)}


class Alike:
    """A design's Verilog without the modules that repeat another one.

    Two modules are alike if they differ in nothing but names that are paths (``\\top.core``): their
    own, and those of the modules inside them. Other modules stay as they are.

    Parameters
    ----------
    verilog : str
        The whole design.

    Attributes
    ----------
    verilog : str
        The design in which one of the modules that are alike stands for all of them.
    """

    def __init__(self, verilog):
        texts = module_texts(verilog)
        stands = {name: name for name in texts if name.startswith("\\")}
        # The head has the name, and the ports in any order; they are declared after it.
        bodies = {name: text.partition(";\n")[2] for name, text in texts.items()}
        inside = {
            name: Counter(word for word in _PATH.findall(body) if word in stands)
            for name, body in bodies.items()
        }
        # Two modules are alike if their parts are: modules without parts come first.
        found = 0
        while True:
            first = {}
            for name in stands:
                stands[name] = first.setdefault(self._renamed(bodies[name], stands), name)
            if len(first) == found:
                break
            found = len(first)
        self._stands, self._inside = stands, inside
        dropped = {name for name, other in stands.items() if name != other}
        self.verilog = _MODULE.sub(
            lambda one: "" if one[1] in dropped else self._renamed(one[0], stands), verilog
        )

    @staticmethod
    def _renamed(text, names):
        return _PATH.sub(lambda word: names.get(word[0], word[0]), text)

    def standing_for(self, name):
        """The name of the module that stands for the module ``name``: its own, if none is alike."""
        return self._stands.get(name, name)

    def restored(self, found):
        """``{name: boards.area.Module}`` of all modules of the whole design.

        ``found`` is such a dict of the modules that are in the attribute ``verilog``. A module that
        is missing there because yosys has removed it is missing in the result.
        """
        result = dict(found)
        for name, counts in self._inside.items():
            name = name.removeprefix("\\")
            mapped = found.get(self._stands.get("\\" + name, name).removeprefix("\\"))
            if mapped is None:  # yosys has removed it, since nothing reads its outputs
                continue
            left, inside = Counter(mapped.inside), Counter()
            for own, number in counts.items():
                other = self._stands[own].removeprefix("\\")
                moved = min(number, left[other])
                left[other] -= moved
                inside[own.removeprefix("\\")] += moved
            result[name] = replace(mapped, inside=left + inside)
        return result
