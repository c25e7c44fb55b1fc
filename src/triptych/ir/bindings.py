"""Bindings of native packages, loaded on first use: MLIR (torch-mlir), LLVM (llvmlite), calls (apache-tvm-ffi).

Each function imports its package on first use and returns it. MLIR is loaded without NumPy and without its generated
dialect classes, which nobody here uses: measured 60 ms to the first context instead of 630 to 800 ms.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import threading
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from triptych.ir.errors import MissingPackageError
from triptych.ir.handles import Context, Module
from triptych.support.forking import Brief, let_forks_wait_for
from triptych.support.interrupts import check_signals, defer_signals
from triptych.support.stacks import on_large_stack

_LOADING = Brief()

_STUBBED_DIALECTS = (
    *("affine", "arith", "builtin", "cf", "complex", "func", "gpu", "index", "llvm", "math", "memref"),
    *("scf", "ub", "vector"),
)
"""Dialects whose operations are created by name only, so their 0.3 to 1.4 MB of generated classes stay unloaded.

A target adds those of its machine.
"""

_PACKAGES = {"torch_mlir": "torch-mlir", "llvmlite": "llvmlite", "tvm_ffi": "apache-tvm-ffi"}


@cache
def mlir() -> Any:
    """`torch_mlir.ir`: contexts, modules, operations, types, attributes."""
    return on_large_stack(_load_mlir)  # 256 KiB, which a caller's thread may have, are too few for the library


def _load_mlir() -> Any:
    with _LOADING:
        name = "torch_mlir.ir"
        module = _import(name) if name in sys.modules else _import_without_numpy(name)
        _mark_dialects_loaded()
        llvm_types()  # before the first type is asked for: from then on the bindings give LLVM's types their classes
        return module


@cache
def llvm_types() -> Any:
    """The classes of the LLVM dialect's types (0.5 ms; the generated operations beside them stay unloaded)."""
    return _import("torch_mlir._mlir_libs._mlirDialectsLLVM")


@cache
def pass_manager() -> Any:
    """The MLIR `PassManager` class."""
    mlir()
    return _import("torch_mlir.passmanager").PassManager


def load_irdl(module: Module) -> None:
    """Make the dialects that a module of IRDL operations declares known to its context."""
    _import("torch_mlir._mlir_libs._mlirDialectsIRDL").load_dialects(module)


@cache
def mlir_library() -> Path:
    """The shared library that exports the whole MLIR and LLVM C interface."""
    mlir()
    folder = Path(_import("torch_mlir._mlir_libs").__file__).parent
    names = ("libTorchMLIRAggregateCAPI.so", "libTorchMLIRAggregateCAPI.dylib", "TorchMLIRAggregateCAPI.dll")
    found = [folder / name for name in names if (folder / name).exists()]
    if not found:
        raise MissingPackageError(f"torch-mlir has none of {', '.join(names)}", found=str(folder))
    return found[0]


@cache
def llvm() -> Any:
    """`llvmlite.binding`: loading of finished object files in this process. It is under one lock of its own."""
    with _LOADING:
        module = _import("llvmlite.binding")
        let_forks_wait_for(module.ffi.lib._lock._lock)
        return module


@cache
def tvm_ffi() -> Any:
    """The `tvm_ffi` package: the native call path from Python into compiled code."""
    return _import("tvm_ffi")


@cache
def folder_of(package: str) -> Path:
    """The folder to put on `sys.path` to import `package`, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise _missing(package)
    return Path(spec.origin).parent.parent


@cache
def versions() -> dict[str, str]:
    """Installed version of every native package (empty when absent): part of what decides generated code."""
    return {distribution: _version(package, distribution) for package, distribution in _PACKAGES.items()}


def _version(package: str, distribution: str) -> str:
    """By the folder of its metadata beside the package; asking for it in the general way imports 30 modules."""
    spec = importlib.util.find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        name = distribution.replace("-", "_")
        found = [*Path(next(iter(spec.submodule_search_locations))).parent.glob(f"{name}-*.dist-info")]
        if len(found) == 1:
            return found[0].name.removeprefix(f"{name}-").removesuffix(".dist-info")
    metadata = importlib.import_module("importlib.metadata")  # 20 ms of imports that most processes never need
    try:
        return str(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return ""


def _import(name: str) -> Any:
    try:
        with _LOADING:
            module = defer_signals(lambda: importlib.import_module(name))
    except ImportError as error:
        raise _missing(name.partition(".")[0]) from error
    check_signals()
    return module


def _missing(package: str) -> MissingPackageError:
    distribution = _PACKAGES.get(package, package)
    return MissingPackageError(
        f"the package {distribution} is needed to compile and cannot be imported",
        found=f"no importable module {package}",
        instead=f"pip install {distribution}",
    )


def _import_without_numpy(name: str) -> ModuleType:
    """Import one module for which NumPy seems absent: 100 ms less, and no other module or thread sees a difference."""
    _import(name.rpartition(".")[0])
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise _missing(name.partition(".")[0])
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import_statement_without_numpy}
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, ImportError):
            raise _missing(name.partition(".")[0]) from error
        raise
    setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)
    return module


def _import_statement_without_numpy(name: str, *arguments: Any, **keywords: Any) -> Any:
    if name == "numpy" and name not in sys.modules:
        raise ImportError("NumPy is not needed here")
    return builtins.__import__(name, *arguments, **keywords)


def _mark_dialects_loaded() -> None:
    for dialect in _STUBBED_DIALECTS:
        mark_dialect_loaded(dialect)


@cache
def mark_dialect_loaded(dialect: str) -> None:
    """Let the bindings find an empty module for the dialect once; they remember, so a real module stays importable.

    Without it every access to an operation of the dialect searches for its classes: 40 to 90 us instead of 0.9.
    """
    name = f"torch_mlir.dialects.{dialect}"
    if name in sys.modules:
        return
    sys.modules[name] = ModuleType(name)
    try:
        _import("torch_mlir._mlir_libs._mlir").globals._check_dialect_module_loaded(dialect)
    finally:
        del sys.modules[name]


_THREAD = threading.local()


def context() -> Context:
    """The context in which this thread builds modules, without MLIR's own thread pool."""
    found: Context | None = getattr(_THREAD, "context", None)
    if found is None:
        found = _THREAD.context = _new()
    return found


def _new() -> Context:
    made: Context = mlir().Context()
    made.enable_multithreading(False)
    return made
