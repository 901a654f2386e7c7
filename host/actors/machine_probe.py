"""What a machine of a cluster has of this project. The function travels as code, not by name: it
runs where the project is not installed, too, so it imports nothing of it."""

__all__ = ["probe"]


def probe(package, distribution):
    """A dict of texts: ``python``, ``numpy``, the ``version`` of ``distribution``, the ``form`` in
    which ``package``, such as "host", is there, and a ``digest`` of its sources; ``missing`` is the
    error if it is not there."""
    import hashlib
    import importlib.util
    import platform
    from importlib.metadata import PackageNotFoundError, version
    from pathlib import Path

    found = {"python": platform.python_version()}
    for name, what in (("numpy", "numpy"), (distribution, "version")):
        try:
            found[what] = version(name)
        except PackageNotFoundError:
            found[what] = "absent"
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError as error:
        return found | {"missing": str(error)}
    if spec is None:
        return found | {"missing": f"No module named {package!r}"}
    root = Path(next(iter(spec.submodule_search_locations)))
    digest = hashlib.sha256()
    for folder in ("host", "hw", "system", "sim", "boards"):
        for file in sorted((root.parent / folder).rglob("*.py")):
            digest.update(str(file.relative_to(root.parent)).encode() + file.read_bytes())
    form = "a checkout" if (root.parent / "constraints.txt").exists() else "a wheel"
    return found | {"form": form, "digest": digest.hexdigest()[:12]}
