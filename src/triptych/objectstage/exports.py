"""Export requests: `Compiled -> files`, for programs that are not Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError


class ExportError(TriptychError, ValueError):
    """A compiled function cannot be exported as asked: by its results, its target or the names that it is to get."""

    code = "TT0521"


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What a host function launches: code for another machine, and the kernels in the order in which it counts them."""

    target: str
    image: bytes
    kernels: tuple[str, ...]


Interface = Literal["c", "tvm_ffi", "packed"]
"""Who calls: programs by a header, TVM FFI, or code that passes packed values and is told when tensors do not fit."""


@dataclass(frozen=True, slots=True)
class Export:
    """What the user asks for: an interface, and the name that functions of it begin with."""

    name: str
    interface: Interface
    addresses: frozenset[str] = frozenset()
    """Paths of the parameters that are streams and pointers, which cross as integers."""
    pattern: str = ""
    """How a call of TVM FFI is made of the function's parameters, as JSON; without it each argument is one of them."""
    device: DeviceCode | None = None
    """Of a target that runs kernels only; the host function then takes a launch record as its last argument."""
    cpu: str = ""
    """The processor to generate code for; empty for that of this machine, or any where kernels run on a device."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z_]\w*", self.name, re.ASCII):
            raise ExportError(
                "an exported function needs a name that C takes",
                found=repr(self.name),
                expected="letters, digits and underscores",
                instead="function_prefix='" + (re.sub(r"\W+", "_", self.name, flags=re.ASCII).strip("_") or "f") + "'",
            )


def asked_for(
    path: Path,
    file_name: str,
    function_prefix: str,
    function_name: str,
    addresses: frozenset[str],
    pattern: str = "",
    cpu: str = "",
) -> tuple[Export, Path]:
    """The two ways to ask: a folder and the name of two files, or one object file and the name of its function."""
    if function_name and not file_name:
        if path.suffix != ".o":
            raise ExportError(
                "an entry for TVM FFI is exported to an object file",
                found=repr(str(path)),
                expected="the path of the file, which ends with .o",
                instead=f"export_to_c({str(path.with_suffix('.o'))!r}, function_name={function_name!r})",
            )
        return Export(function_name, "tvm_ffi", addresses, pattern, cpu=cpu), path.with_suffix("")
    if not file_name:
        raise ExportError(
            "an export has no name",
            found=f"export_to_c({str(path)!r})",
            expected="a name of the files, or of the function",
            instead="export_to_c(folder, file_name='kernel'), or export_to_c('kernel.o', function_name='kernel')",
        )
    return Export(function_prefix or file_name, "c", addresses, cpu=cpu), path / file_name
