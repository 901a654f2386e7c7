"""The modules of a Verilog text in a canonical form: equal for equal netlists.

The names of inner signals and the order of statements do not count; ports, their order, widths,
attributes, parameters and the names of instances do. Signals begin with a label made of their
declaration, and each round gives a signal a label of all statements in which it stands, in which
every signal has its label of the round before (colour refinement). When no round tells more signals
apart, the module is its ports and the multiset of its statements.
"""

import hashlib
import re

__all__ = ["modules"]

_MODULE = re.compile(
    r"^((?:\(\*.*\*\)\n)*)module (\S+?)\s*\((.*?)\);\n(.*?)^endmodule", re.M | re.S
)
#: A module with parameters, which was written by hand: it is compared as a text.
_BY_HAND = re.compile(r"^module (\w+)\s*#\(.*?^endmodule", re.M | re.S)
#: A name: plain, or escaped up to the next space.
_NAME = re.compile(r"\\\S+|(?<![\w$'.])[A-Za-z_][\w$]*")
_DECLARED = re.compile(
    r"^  (?:(?:input|output|inout) )?(?:wire|reg|input|output)\b[^;]*?(\\\S+|[\w$]+)"
    r"(?: \[[^\]]*\])?(?: = [^;]*)?;"
)
_COMMENT = re.compile(r"/\*.*?\*/|^ *//[^\n]*\n", re.M | re.S)
#: A statement ends with the line before the next line of this indent.
_BEGIN = re.compile(r"^(?=  [^ \n)}]|  \(\*)", re.M)
_ROUNDS = 12


def modules(text):
    """Yields ``(name, digest)`` of each module of the Verilog ``text``; 12 hex digits."""
    text = _COMMENT.sub("", text)
    for attributes, name, ports, body in _MODULE.findall(text):
        yield name, _digest(attributes + _canonical(ports, body))[:12]
    for module in _BY_HAND.finditer(text):
        yield module[1], _digest(" ".join(module[0].split()))[:12]


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _statements(body):
    """Statements of a module: what begins with two spaces, and the deeper lines behind it."""
    found = []
    for part in _BEGIN.split(body):
        first = part.lstrip(" ")[:8]
        continues = found and (
            first.startswith(("end", "else", ");")) or found[-1].rstrip().endswith("*)")
        )
        if continues:
            found[-1] += part
        elif part.strip():
            found.append(part)
    return found


def _canonical(ports, body):
    ports = [name.strip() for name in ports.replace("\n", " ").split(",")]
    statements = _statements(body)
    labels = {}
    for statement in statements:
        line = statement.rstrip().splitlines()[-1] if statement.lstrip()[:2] == "(*" else statement
        if match := _DECLARED.match(line):
            labels.setdefault(match[1], "")
    for number, name in enumerate(ports):
        labels[name] = f"port{number}:{name}"
    texts = [_NAME.split(each) for each in statements]
    names = [_NAME.findall(each) for each in statements]
    own = [[name for name in each if name in labels] for each in names]
    told = len(set(labels.values()))
    for _ in range(_ROUNDS):
        seen = {name: [] for name in labels}
        for number, each in enumerate(own):
            if each:
                written = _digest(_written(texts[number], names[number], labels))
                for place, name in enumerate(each):
                    seen[name].append(f"{written}{place}")
        labels = {
            name: _digest(label + "".join(sorted(seen[name])))[:16]
            for name, label in labels.items()
        }
        before, told = told, len(set(labels.values()))
        if told == before:
            break
    written = sorted(_written(text, each, labels) for text, each in zip(texts, names, strict=True))
    return "\n".join([" ".join(ports), *written])


def _written(text, names, labels):
    parts = [text[0]]
    for name, rest in zip(names, text[1:], strict=True):
        parts += [labels.get(name, name), rest]
    return "".join(parts)
