"""The command ``rlfabric export``: a run's best policy as ONNX, C or a program of torch."""

from pathlib import Path
from typing import Annotated

import typer

from host.terminal.options import Imports, Verbose
from hw.errors import UsageError
from system.disk import user_path

__all__ = ["export", "export_group"]

export_group = typer.Typer()

#: format -> suffix of its file
SUFFIXES = {"onnx": ".onnx", "c": ".c", "torch": ".pt2"}


@export_group.command("export")
def export_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder, or a policy's file.")],
    form: Annotated[
        str, typer.Option("--format", help="`onnx`, `c` or `torch`.", metavar="FORMAT")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The file. [default: policy.onnx, policy.c or policy.pt2 in RUN]"),
    ] = None,
    imports: Imports = None,
    verbose: Verbose = False,
):
    """Write the best policy of a run in another form, which needs no rlfabric: its greedy action
    for an observation, as the environment takes it.

    A policy of a fixed-point kernel becomes fixed point in C, with the kernel's bits; all others
    are float32.

    Examples:

    - `rlfabric export runs/demo --format onnx`

    - `rlfabric export runs/demo --format c --out firmware/policy.c`

    - `rlfabric export runs/demo --format torch`
    """
    files, numbers = export(run, form, out, imports=imports or ())
    print(f"{' and '.join(map(str, files))}: numbers are {numbers}")


def export(run, form, out=None, *, imports=()):
    """Writes the best policy of the run ``run``, a folder or a policy's file, as ``form``: onnx, c
    or torch. Returns ``(paths of the files, the numbers in words)``.

    UsageError for another form, for no policy, and for one whose layers are not known;
    CheckpointError for a damaged file; MissingTool without the form's library. Nothing is written
    then.
    """
    from host.agents.policy_file import load_policy
    from host.checkpoint import atomic_write
    from host.runs.run_folder import policy_of

    if form not in SUFFIXES:
        raise UsageError(f"format must be one of {', '.join(SUFFIXES)}, not {form!r}")
    file = policy_of(run)
    if not file.is_file():
        raise UsageError(f"RUN must be a run's folder or a policy's file, not {str(run)!r}")
    out = user_path(out) if out else file.with_name(f"policy{SUFFIXES[form]}")
    if out.suffix != SUFFIXES[form]:
        raise UsageError(f"out must end in {SUFFIXES[form]}, not {out.name!r}")
    policy, info = load_policy(file, imports)
    if not policy.spec.discrete and not policy.spec.low:
        raise UsageError("RUN must be of this release of rlfabric, not older: it has no low")
    described, spec = _described(policy), policy.spec
    # What a file says goes into a comment of C.
    title = "".join(
        c if c.isalnum() or c in " -_.:" else "?"
        for c in f"Greedy policy of {info['algo']} for {info['env']}. Written by rlfabric."
    )
    numbers = "float32"
    if form == "c":
        from host.export.c_file import c_files
        from host.export.fixed import fixed_layers

        fixed, numbers = fixed_layers(file.parent, policy, described)
        texts = c_files(out.stem, described, spec, title, fixed)
        contents = {out.with_suffix(suffix): text.encode() for suffix, text in texts.items()}
    elif form == "onnx":
        from host.export.onnx_file import onnx_file

        contents = {out: onnx_file(described, spec, title)}
    else:
        from host.export.torch_file import torch_file

        contents = {out: torch_file(described, spec, title)}
    out.parent.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        atomic_write(path, lambda opened, content=content: opened.write(content))
    return list(contents), numbers


def _described(policy):
    """``policy.described()``. UsageError if a subclass has changed how it acts since then."""
    kinds = type(policy).__mro__
    described = policy.described()

    def place(name):
        return next(at for at, kind in enumerate(kinds) if name in vars(kind))

    changed = [name for name in ("act", "choose", "predict") if place(name) < place("described")]
    if changed:
        raise UsageError(
            f"RUN must have a policy that is described with its {changed[0]}, not "
            f"{kinds[0].__name__}: an export needs its layers (Policy.described)"
        )
    return described
