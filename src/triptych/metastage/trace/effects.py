"""Side effects of library calls beyond their arguments: which are known to be pure, which reach the world outside.

Tables by name for what is known, and for the rest Python's audit events: while a call is watched, an operation on
files, processes or the network is stopped before it happens.
"""

from __future__ import annotations

import builtins
import datetime
import functools
import io
import operator
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

PURE_MODULES = frozenset({"math", "cmath", "_operator", "operator", "itertools", "_struct", "unicodedata", "keyword"})
IN_PLACE = frozenset(
    {name for name in dir(operator) if name.startswith("i") and not name.startswith(("is", "inv", "ind", "item"))}
    | {"setitem", "delitem", "call", "methodcaller"}
)
PURE_BUILTINS: frozenset[Any] = frozenset(
    {abs, all, any, ascii, bin, bool, bytes, callable, chr, complex, dict, divmod, enumerate, filter, float, format}
    | {frozenset, getattr, hasattr, hash, hex, id, int, isinstance, issubclass, iter, len, list, map, max, min, object}
    | {oct, ord, pow, print, property, range, repr, reversed, round, set, slice, sorted, staticmethod, str, sum, super}
    | {tuple, type, zip, functools.partial, functools.reduce, object.__new__}
)
"""Pure if what they are given is: methods of the user's classes that they call are watched."""

LAZY = (
    map,
    filter,
    zip,
    enumerate,
    reversed,
    iter,
    isinstance,
    issubclass,
    type,
    id,
    callable,
    print,
    hasattr,
    getattr,
)
"""Builtins that take an iterator without advancing it."""

_CLOCKS = "a clock"
LOG = "a log"
_CHANCE = "random numbers"
_WORLD: dict[str, str] = {
    **dict.fromkeys(("os", "posix", "nt", "shutil", "tempfile", "glob", "fcntl", "mmap"), "the file system or process"),
    **dict.fromkeys(("subprocess", "multiprocessing", "concurrent", "threading", "_thread"), "processes or threads"),
    **dict.fromkeys(("signal", "_signal", "atexit", "faulthandler", "gc", "resource"), "the process"),
    **dict.fromkeys(("socket", "_socket", "select", "ssl", "urllib", "http", "asyncio", "_asyncio"), "the network"),
    **dict.fromkeys(("logging", "warnings", "_warnings", "traceback", "syslog"), LOG),
    **dict.fromkeys(("time", "sched"), _CLOCKS),
    **dict.fromkeys(("random", "_random", "secrets", "numpy.random", "torch.random"), _CHANCE),
    **dict.fromkeys(("sqlite3", "_sqlite3", "dbm", "shelve", "webbrowser", "ctypes", "_ctypes"), "the world outside"),
}
_HARMLESS = frozenset(
    {"fspath", "get_ident", "current_thread", "getLogger", "getpid", "cpu_count", "getenv", "getcwd", "gettempdir"}
    | {"isEnabledFor", "getEffectiveLevel", "struct_time", "get_native_id", "fsencode", "fsdecode", "strerror"}
)
"""Functions of those modules that change nothing and answer alike as long as the process is the same."""

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "exception": 40, "critical": 50}

_NAMED: dict[Any, str] = {
    builtins.input: "the terminal",
    builtins.open: "a file",
    builtins.exec: "anything",
    builtins.eval: "anything",
    sys.exit: "the process",
    sys.setrecursionlimit: "the interpreter",
    sys.settrace: "the interpreter",
    sys.setprofile: "the interpreter",
}
_METHODS: dict[type, tuple[frozenset[str], str]] = {
    datetime.datetime: (frozenset({"now", "today", "utcnow"}), _CLOCKS),
    datetime.date: (frozenset({"today"}), _CLOCKS),
}
_FILES = (io.TextIOWrapper, io.BufferedIOBase, io.RawIOBase)
_TORCH_CHANCE = frozenset(
    {"bernoulli", "dropout", "initial_seed", "manual_seed", "multinomial", "normal", "poisson", "rand"}
    | {"rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state"}
)


def reaches(function: object) -> str:
    """What of the world outside a call of library code reaches, in words; empty if nothing is known of it."""
    named = _NAMED.get(function) if isinstance(function, BuiltinFunctionType) else None
    if named is not None:
        return named
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _FILES) and not isinstance(owner, io.BytesIO) and name not in ("fileno", "isatty", "readable"):
        return "a file"
    if isinstance(owner, type):
        names, what = _METHODS.get(owner, (frozenset(), ""))
        if name in names:
            return what
    module = _module(function, owner)
    if name in _HARMLESS or module.startswith(("posixpath", "ntpath", "os.path")):
        return ""
    if module in ("torch", "torch._C", "builtins") and name in _TORCH_CHANCE and "torch" in sys.modules:
        return _CHANCE
    if module == os.name and name in ("urandom", "getrandom"):
        return _CHANCE
    if module == "uuid" and name in ("uuid1", "uuid4"):
        return _CHANCE
    parts = module.split(".")
    return next((_WORLD[known] for end in (2, 1) if (known := ".".join(parts[:end])) in _WORLD), "")


def asks_logger(function: object) -> bool:
    """Whether a call asks a logger for its level: the answer is kept in a cache that is nobody else's business."""
    if not isinstance(function, FunctionType) or function.__module__ != "logging":
        return False
    return function.__qualname__ in ("Logger.isEnabledFor", "Logger.getEffectiveLevel")


def log_level(function: FunctionType, args: tuple[Any, ...]) -> int | None:
    """At what level a call of `Logger.info` and its like writes; None of any other function."""
    owner, _, name = function.__qualname__.partition(".")
    if function.__module__ != "logging" or owner != "Logger":
        return None
    level = args[1] if name == "log" and len(args) > 1 else _LEVELS.get(name)
    return level if isinstance(level, int) else None


def freezes(function: object) -> str:
    """What a call reads that is different each time, so that evaluating it once is never what was meant."""
    what = reaches(function)
    return what if what in (_CLOCKS, _CHANCE) and getattr(function, "__name__", "") not in ("seed", "sleep") else ""


def _module(function: object, owner: object) -> str:
    if owner is not None and not isinstance(owner, ModuleType | type):
        return str(type(owner).__module__)
    home = owner.__module__ if isinstance(owner, type) else getattr(owner, "__name__", "")
    module = getattr(function, "__module__", None) or home
    if isinstance(function, MethodDescriptorType):
        module = function.__objclass__.__module__
    return module if isinstance(module, str) else ""


_ALIKE = frozenset(
    {"builtins", "math", "cmath", "_operator", "operator", "itertools", "functools", "_functools", "dataclasses"}
    | {
        "enum",
        "typing",
        "types",
        "collections",
        "_collections",
        "copy",
        "string",
        "re",
        "numbers",
        "fractions",
        "numpy",
    }
    | {"struct", "_struct", "bisect", "_bisect", "heapq", "_heapq", "statistics", "inspect", "textwrap", "array"}
    | {"abc", "_abc", "contextlib", "weakref", "triptych"}
)
"""Packages whose functions answer by their arguments alone."""
_NOT_ALIKE = frozenset(
    {"load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap", "DataSource"}  # NumPy's files
    | {"id", "hash", "__hash__", "vars", "dir", "globals", "locals", "print", "__import__", "__subclasses__"}
    | {"geterr", "seterr", "errstate", "seterrcall", "geterrcall", "get_printoptions", "set_printoptions", "setbufsize"}
    | {"getbufsize", "printoptions", "getweakrefs", "getweakrefcount"}
    | {"getsource", "getsourcelines", "getsourcefile", "getfile", "getdoc", "getcomments", "getmodule", "getmembers"}
    | {"currentframe", "stack", "trace", "getframeinfo", "getouterframes", "getinnerframes", "methodcaller"}
)
"""Names of theirs that answer from the process: its hashes, its files, its settings."""


def answers_alike(function: object) -> bool:
    """Whether a call is known to give the same in another process for the same arguments, and to do nothing else."""
    if reaches(function):
        return False
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    package = _module(function, owner).partition(".")[0]
    if not isinstance(function, type) and not name:  # an instance that can be called
        package = type(function).__module__.partition(".")[0]
    return package in _ALIKE and name not in _NOT_ALIKE


def is_pure(function: object) -> bool:
    """Whether a call is known to change nothing by itself."""
    if isinstance(function, BuiltinFunctionType | type) and function in PURE_BUILTINS:
        return True
    if isinstance(function, BuiltinFunctionType | type) and function.__module__ in PURE_MODULES:
        return function.__name__ not in IN_PLACE
    owner = getattr(function, "__self__", None)
    return type(owner) in (str, bytes, int, float, complex, tuple, range, frozenset, slice)


def advances(function: object) -> bool:
    """Whether a call may advance the iterators that it is given; some only wrap them."""
    if getattr(function, "__module__", None) == "itertools":
        return False
    return not any(function is lazy for lazy in LAZY)


# operations on the world, as Python's audit events tell of them ---------------------------------------------------
_FORBIDDEN = frozenset(
    {"os.chdir", "os.chmod", "os.chown", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.link"}
    | {"os.listdir", "os.lockf", "os.mkdir", "os.posix_spawn", "os.putenv", "os.remove", "os.rename", "os.rmdir"}
    | {"os.spawn", "os.symlink", "os.system", "os.truncate", "os.unsetenv", "os.utime", "shutil.copyfile"}
    | {"shutil.move", "shutil.rmtree", "signal.pthread_kill", "socket.bind", "socket.connect", "socket.sendto"}
    | {"sqlite3.connect", "subprocess.Popen", "tempfile.mkdtemp", "tempfile.mkstemp", "urllib.Request"}
    | {"builtins.input"}
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class WorldTouchedError(BaseException):
    """Stops an operation on the world that a watched call starts; becomes an error at the user's line.

    Not an `Exception`: library code must not take it for a failure that it knows how to handle."""


class _Watched(threading.local):
    on_touch: Callable[[str], None] | None = None


_WATCHED = _Watched()


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _WATCHED.on_touch is None:
        return
    if event in _FORBIDDEN or (event == "open" and _writes(args)):
        shown = f"`{event}`" + (f" of {args[0]!r}" if args and isinstance(args[0], str) else "")
        _WATCHED.on_touch(shown)


def _writes(args: tuple[Any, ...]) -> bool:
    path, _, flags = args
    return bool(flags & _WRITING) and not str(path).endswith(".pyc") and "__pycache__" not in str(path)


@functools.cache
def _listen() -> None:
    sys.addaudithook(_audit)  # for good: Python has no way to take one back


@contextmanager
def untouched_world() -> Iterator[None]:
    """Stop operations on files, processes and the network with a WorldTouchedError."""
    _listen()

    def stop(what: str) -> None:
        raise WorldTouchedError(what)

    with _told(stop):
        yield


@contextmanager
def touchable_world() -> Iterator[None]:
    """Allow them, for what belongs to no watched call."""
    with _told(None):
        yield


@contextmanager
def _told(on_touch: Callable[[str], None] | None) -> Iterator[None]:
    outer, _WATCHED.on_touch = _WATCHED.on_touch, on_touch
    try:
        yield
    finally:
        _WATCHED.on_touch = outer
