"""usage: ratchets.py [write]

Counts what should become less in each folder, and prints it with the numbers of
tests/reference/ratchets.json; `write` keeps those that have fallen. tests/test_ratchets.py lets
none of them rise.

words        : expressions in docstrings that an engineer would not use, see PATTERNS
small files  : Python files of fewer than 60 lines; such a file joins its caller
same names   : file names that stand more than once in the folder
getattr      : calls of getattr in hw, where members are wired by connect
lines a test : lines of the folder tests divided by its test functions
"""

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

__all__ = ["FILE", "PATTERNS", "docstrings", "hits", "measure", "risen"]

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "reference" / "ratchets.json"
FOLDERS = ("hw", "system", "sim", "boards", "host", "bench", "rlfabric", "scripts", "tests")

SMALL = 60
_DOCUMENTED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_TEST = re.compile(r"^ *(?:async )?def test_", re.M)
#: Expressions that amaranth's and stable-baselines3's docstrings have once or twice in 1 000 words.
PATTERNS = {
    "that of": r"\b(?:that|those) of\b",
    "clause as noun": r"\b(?:of|to|by|with|in|for|and|is|are|from|than) what "
    r"(?:it|is|are|was|he|they|a|the|each|lies|stands|comes)\b"
    r"|(?:^|[.;:] )What (?:it|is|are|was|a|the|each|lies|stands|comes)\b",
    "of which": r"\b(?:with|in|of|from|by|to|for|at|on) which\b",
    "of them": r"\bof (?:them|these|it)\b",
    "alone, beside": r"\b(?:alone|besides?)\b",
    "so many": r"\b(?:so|as) many\b(?! \w+s\b)",
    "is there": r"\b(?:is|are|has come|have come) there\b|\bthere (?:is|are)\b",
    "behind": r"\bbehind\b",
}


def docstrings(text):
    """Docstrings of a module and of all that it defines."""
    ahead = [ast.parse(text)]
    while ahead:
        node = ahead.pop()
        ahead += [each for each in node.body if isinstance(each, _DOCUMENTED)]
        if found := ast.get_docstring(node):
            yield found


def hits(text):
    """The number of ``PATTERNS`` in a docstring."""
    return sum(len(re.findall(each, text, re.MULTILINE)) for each in PATTERNS.values())


def measure(root=ROOT):
    """``{"what: folder": number}``."""
    result = {}
    for folder in FOLDERS:
        paths = sorted((root / folder).rglob("*.py"))
        texts = {path: path.read_text(encoding="utf-8") for path in paths}
        own = [path for path in paths if path.name[:2] != "__"]
        if folder == "tests":
            functions = sum(len(_TEST.findall(text)) for text in texts.values())
            lines = sum(text.count("\n") for text in texts.values())
            result["lines a test: tests"] = round(lines / functions, 2)
        else:
            found = (hits(each) for text in texts.values() for each in docstrings(text))
            result[f"words: {folder}"] = sum(found)
        result[f"small files: {folder}"] = sum(texts[path].count("\n") < SMALL for path in own)
        names = Counter(path.name for path in own)
        result[f"same names: {folder}"] = sum(count > 1 for count in names.values())
        if folder == "hw":
            calls = (text.count("getattr(") for text in texts.values())
            result["getattr: hw"] = sum(calls)
    return result


def risen(before, now):
    """Lines for the numbers that are larger than before."""
    return [
        f"{name}: {before.get(name, 0)} -> {number}"
        for name, number in now.items()
        if number > before.get(name, 0)
    ]


def main(words):
    now, before = measure(), json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name, number in now.items():
        print(f"{name}: {before.get(name, 'new')} -> {number}")
    if words == ["write"]:
        kept = {name: min(number, before.get(name, number)) for name, number in now.items()}
        FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    elif words:
        print(__doc__.splitlines()[0], file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
