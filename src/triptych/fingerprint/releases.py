"""Object-stage, module name -> release: code that a version number pins is named in a key, other code is read.

Reading all of NumPy for a key would be slow and pointless; naming a user's helper would miss every edit of it.
A distribution that requires Triptych, or a module that imports it, holds kernels or a language: its functions are made
to be traced and configured, so it is read like a user's.
"""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from weakref import WeakKeyDictionary

FRAMEWORK = __name__.partition(".")[0]


def is_framework(module: str) -> bool:
    """True for Triptych's own modules, whose state is not the user's to change."""
    return module.partition(".")[0] == FRAMEWORK


def release(module: str) -> str | None:
    """The release that pins the code of `module` ("numpy 2.1.0"), or None when its code has to be read."""
    if is_framework(module):
        return FRAMEWORK
    loaded = sys.modules.get(module)
    package = module.partition(".")[0]
    # A hook of ours in `sys` or `threading` does not make them a user's code.
    is_reader = loaded is not None and package not in sys.stdlib_module_names and _imports_framework(loaded)
    return None if module in _RUN or is_reader else _release(package, _file_of(module))


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


def has_pinned_code(function: FunctionType) -> bool:
    """True when a release pins the code, whatever the function is called: wrappers, and methods Python generates."""
    module = function.__globals__.get("__name__")
    loaded = sys.modules.get(module) if isinstance(module, str) else None
    return loaded is not None and vars(loaded) is function.__globals__ and release(loaded.__name__) is not None


_READERS: WeakKeyDictionary[ModuleType, bool] = WeakKeyDictionary()
"""Whether modules import the framework. A program's own modules end with the program, and so does what is in them."""


def _imports_framework(module: object) -> bool:
    if not isinstance(module, ModuleType):  # anything may lie in `sys.modules`
        return _has_names_of_framework(module)
    if module not in _READERS:
        _READERS[module] = _has_names_of_framework(module)
    return _READERS[module]


def _has_names_of_framework(module: object) -> bool:
    entries = tuple(vars(module).values())
    homes = [vars(entry).get("__name__") for entry in entries if type(entry) is ModuleType]
    homes += [entry.__module__ for entry in entries if issubclass(type(entry), FunctionType | type)]
    # Classes made by Cython have a descriptor in this place.
    return any(is_framework(home) for home in homes if isinstance(home, str))


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
def _release(package: str, file: str) -> str | None:
    if not os.path.isabs(file):
        # Built-in and frozen modules have no file.
        return "python" if package in sys.stdlib_module_names else None
    path = Path(os.path.realpath(file))
    for folder in _site_folders():
        if path.is_relative_to(folder):
            return _distribution_release(package, folder)
    return "python" if any(path.is_relative_to(folder) for folder in _standard_folders()) else None


@lru_cache(maxsize=1)
def _site_folders() -> tuple[Path, ...]:
    known = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    return tuple({Path(os.path.realpath(folder)): None for folder in [*known, *site.getsitepackages()]})


@lru_cache(maxsize=1)
def _standard_folders() -> tuple[Path, ...]:
    return tuple(Path(os.path.realpath(sysconfig.get_path(name))) for name in ("stdlib", "platstdlib"))


def _distribution_release(package: str, folder: Path) -> str | None:
    """Reads the metadata files directly: importing `importlib.metadata` costs more than the whole key."""
    metadata = _metadata_of(package, folder)
    if metadata is None or _requires_framework(metadata):
        return None
    version = re.search(r"^Version: *(\S+)", metadata, re.MULTILINE)
    return f"{package} {version[1]}" if version else None


def _metadata_of(package: str, folder: Path) -> str | None:
    records = sorted(folder.glob("*.dist-info"))
    own = [info for info in records if _spelling(info.name.partition("-")[0]) == _spelling(package)]
    for info in own or [info for info in records if _installs(info, package)]:
        try:
            return (info / "METADATA").read_text(encoding="utf-8")
        except OSError:
            continue
    return None


def _installs(info: Path, package: str) -> bool:
    """Distributions such as PyYAML install a package of another name (`yaml`): their record lists it."""
    try:
        lines = (info / "RECORD").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return any(line.startswith((f"{package}/", f"{package}.")) for line in lines)


def _spelling(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _requires_framework(metadata: str) -> bool:
    return re.search(rf"^Requires-Dist: *{FRAMEWORK}\b(?!-)", metadata, re.MULTILINE | re.IGNORECASE) is not None
