"""Release versions of modules and of the toolchain: code that a version pins is named in a key, other code is read.

Reading all of NumPy for a key would be slow and pointless; naming a user's helper would miss every edit of it. What is
named is the standard library and the libraries of `support.libraries`, which are never rewritten, wherever a
distribution has installed them, and what is compiled already: an extension has no text to read. Everything else may be
compiled with a kernel, so its source is in the key.

Of the toolchain a release number is enough for what others publish. Ours is read: in a checkout code changes and its
number does not.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

from triptych.support.libraries import is_library, is_standard, metadata_of

FRAMEWORK = __name__.partition(".")[0]


def is_framework(module: str) -> bool:
    """True for Triptych's own modules, whose state is not the user's to change."""
    return module.partition(".")[0] == FRAMEWORK


def release(module: str) -> str | None:
    """The release that pins the code of `module` ("numpy 2.1.0"), or None when its code has to be read."""
    if is_framework(module):
        return FRAMEWORK
    package = module.partition(".")[0]
    return None if module in _RUN else _release(package, _file_of(module), is_library(package))


def import_name(module: object) -> str:
    """The name by which a module can be imported, also where its file is run: as a script, by `python -m`, or by tools.

    So a program has one key, whichever process makes it. Its file is an ingredient of its own.
    """
    if not isinstance(module, str):  # classes may say anything of themselves
        return str(module)
    loaded = sys.modules.get(module)
    if (module not in _RUN and not module.startswith(LOOKED_AT)) or loaded is None:
        return module
    spec = getattr(loaded, "__spec__", None)
    file = Path(getattr(loaded, "__file__", None) or "")
    name = file.stem if spec is None or spec.name == module else str(spec.name)
    return name if file.suffix == ".py" and not name.endswith("__main__") else module


LOOKED_AT = "triptych_show_"
"""What names of modules begin with that a tool has loaded from their files."""
_HEAP_TYPE = 1 << 9
"""`type.__flags__` bit of classes made at run time; the others are compiled into an extension and cannot be read."""
_RUN = ("__main__", "__mp_main__")


def named(value: object) -> tuple[str, str, str] | None:
    """(module, qualified name, release) when these three find exactly this function or class again, else None.

    The name is looked up and compared: `functools.wraps` and `exec` make objects that carry somebody else's name.
    """
    module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(qualname, str):
        return None
    pinned = release(module)
    if pinned is None or not _finds(module, qualname, value):
        return None
    return module, qualname, pinned


def is_read(cls: type) -> bool:
    """True for classes known by their content, False for those known by name."""
    return class_name(cls) is None


def class_name(cls: type) -> tuple[str, str, str] | None:
    """(module, qualified name, release) of a class that is named instead of read."""
    name = named(cls)
    if name is None and not cls.__flags__ & _HEAP_TYPE:
        return cls.__module__, cls.__qualname__, release(cls.__module__) or ""
    return name


def has_pinned_code(function: FunctionType) -> bool:
    """True when a release pins the code, whatever the function is called: wrappers, and methods Python generates."""
    module = function.__globals__.get("__name__")
    loaded = sys.modules.get(module) if isinstance(module, str) else None
    return loaded is not None and vars(loaded) is function.__globals__ and release(loaded.__name__) is not None


def _finds(module: str, qualname: str, value: object) -> bool:
    found: object = sys.modules.get(module)
    for name in qualname.split("."):
        found = vars(found).get(name) if hasattr(found, "__dict__") else None
    return found is value


def _file_of(module: str) -> str:
    """Where the module comes from, without importing it."""
    loaded = sys.modules.get(module)
    if loaded is not None:
        file = getattr(loaded, "__file__", None)
        return file if isinstance(file, str) else ""  # a module's own `__getattr__` may say anything
    return _findable_file(module.partition(".")[0])


@lru_cache(maxsize=1024)
def _findable_file(package: str) -> str:
    """Remembered: looking through the import path costs more than the rest of a small key."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return ""
    return (spec.origin or "") if spec is not None else ""


@lru_cache(maxsize=1024)
def _release(package: str, file: str, is_published: bool) -> str | None:
    if is_standard(package, file) or (not file and package in sys.stdlib_module_names):
        return "python"
    if is_published or file.endswith(tuple(EXTENSION_SUFFIXES)):
        return _distribution_release(package, Path(os.path.realpath(file)))
    return None


def _distribution_release(package: str, file: Path) -> str:
    """A library that has no metadata beside it, as in a checkout of its own, says its number itself."""
    folder = next((parent.parent for parent in file.parents if parent.name == package), file.parent)
    written = re.search(r"^Version: *(\S+)", metadata_of(package, folder) or "", re.MULTILINE)
    version = written[1] if written else getattr(sys.modules.get(package), "__version__", "")
    return f"{package} {version}"


_ROOT = Path(__file__).parents[1]
_PROGRAMS = str(_ROOT / "diagnostics" / "catalogue")
"""Programs that show errors, which nothing imports."""


@cache
def own_source() -> str:
    """A digest of every module of this package: 30 ms, once in a process that keeps what it compiles."""
    whole, start = hashlib.sha256(), len(str(_ROOT)) + 1
    for path in sorted(own_files()):
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        whole.update(f"{path[start:]} {len(content)}\n".encode())
        whole.update(content)
    return whole.hexdigest()


def own_files(folder: str = str(_ROOT)) -> Iterator[str]:
    """The modules of this package, which are its Python files that somebody imports."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from own_files(entry.path) if entry.path != _PROGRAMS else ()
            elif entry.name.endswith(".py"):
                yield entry.path
