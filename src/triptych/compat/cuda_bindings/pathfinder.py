"""`cuda.pathfinder` without CUDA: the libraries that have a stand-in here are there without a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from triptych.support.dataclass import dataclass

__all__ = [
    "BitcodeLibNotFoundError",
    "DynamicLibNotFoundError",
    "LoadedDL",
    "find_bitcode_lib",
    "find_nvidia_binary_utility",
    "load_nvidia_dynamic_lib",
]

_STAND_INS = frozenset({"nvshmem_host"})


class BitcodeLibNotFoundError(RuntimeError):
    """As `cuda.pathfinder` says that there is no such library of bitcode."""


class DynamicLibNotFoundError(RuntimeError):
    """As `cuda.pathfinder` says that a library is not there."""


@dataclass(frozen=True, slots=True)
class LoadedDL:
    """What is told of a library that is loaded."""

    abs_path: str | None
    was_already_loaded_from_elsewhere: bool
    _handle_uint: int
    found_via: str


def load_nvidia_dynamic_lib(libname: str) -> LoadedDL:
    """A library of NVIDIA's by its short name."""
    if libname not in _STAND_INS:
        raise DynamicLibNotFoundError(f"{libname} has no stand-in where kernels run on the CPU")
    return LoadedDL(None, False, 0, "triptych")


def loads_stand_ins(load: Callable[[str], Any]) -> Callable[[str], Any]:
    """The function of the installed package, for other libraries."""
    return lambda libname: load_nvidia_dynamic_lib(libname) if libname in _STAND_INS else load(libname)


def find_nvidia_binary_utility(utility_name: str) -> None:
    """A program of NVIDIA's toolkit: the package that knows the places is not installed."""


def find_bitcode_lib(name: str) -> NoReturn:
    """The same of a library of bitcode."""
    raise BitcodeLibNotFoundError(name)
