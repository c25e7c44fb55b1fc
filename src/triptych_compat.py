"""Start of a process under `TRIPTYCH_COMPAT`: `cutlass` becomes Triptych when a program first imports it.

`triptych_compat.pth` has Python run this in every process that starts with the variable, whatever the process does: so
it imports nothing. What is other for programs that were written for a GPU are the packages below; importing one of them
imports `triptych.compat`, which then finds it.
"""

import sys

PACKAGES = ("cutlass", "cuda", "torch")


class Waiting:
    """First in `sys.meta_path` until one of the packages is imported, or `triptych.compat` is asked itself."""

    # object: what Python's import system gives and takes; its types are not worth an import here.
    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """Nothing for other names; for these, what the import system finds once compat is active."""
        if name not in PACKAGES:
            return None
        leave()
        __import__("triptych.compat.activation", fromlist=["_"]).activate_if_asked()
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)  # type: ignore[arg-type]
            if spec is not None:
                return spec
        return None


def wait() -> None:
    """Wait for an import; Python may read the file that calls this twice."""
    if not is_waiting():
        _finders().insert(0, Waiting())


def is_waiting() -> bool:
    return any(isinstance(finder, Waiting) for finder in _finders())


def leave() -> None:
    """Wait no longer."""
    finders = _finders()
    finders[:] = [finder for finder in finders if not isinstance(finder, Waiting)]


def _finders() -> list[object]:
    return sys.meta_path  # type: ignore[return-value]  # a finder is what has `find_spec`
