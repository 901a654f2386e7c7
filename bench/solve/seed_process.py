"""A seed of a side in a process of its own: ``python -m bench.solve.seed_process JSON``.

The JSON has ``asked`` (``bench.solve.sides.request``), ``seed`` and ``limit_s``. The last line on
stdout is the result, a JSON value.
"""

import json
import sys
from contextlib import closing
from importlib import import_module

from bench.solve.trial import trial
from hw.errors import MissingTool
from hw.extras import install

__all__ = ["perform"]

#: program -> module, class and extras; a module is imported where its program runs
PROGRAMS = {
    "rlfabric": ("own_side", "Own", "torch"),
    "sb3": ("sb3_side", "Library", "torch,peers"),
    "rltools": ("rltools_side", "RLtools", "rltools"),
}


def perform(asked, seed, limit_s):
    """The result of a seed, as of ``bench.solve.trial.trial``.

    ``asked`` is a request with the algorithm's name, ``algo``, by whose rules the environments of
    evaluations are made. MissingTool if the program is not installed.
    """
    from host.agents.evaluation import Copies, evaluate
    from host.agents.registry import find

    module, name, extras = PROGRAMS[asked["program"]]
    try:
        program = getattr(import_module(f"bench.solve.{module}"), name)(asked, seed)
    except ImportError as error:
        raise MissingTool(
            f"{asked['program']} must be installed to solve beside it ({install(extras)}), not "
            f"missing: {error}"
        ) from error
    rule = asked["rule"]
    with closing(Copies(rule["env"], rule["episodes"], find(asked["algo"]))) as copies:

        def played(policy, seed):
            return evaluate(policy, copies, seed=seed, limit=rule["limit"])

        return trial(program, rule, played, limit_s=limit_s)


def main():
    """Performs the seed whose JSON is on the command line, and prints its result."""
    print(json.dumps(perform(**json.loads(sys.argv[1]))))


if __name__ == "__main__":
    from host.terminal.exit_codes import report

    try:
        main()
    except (KeyboardInterrupt, Exception) as error:
        sys.exit(report(error))
