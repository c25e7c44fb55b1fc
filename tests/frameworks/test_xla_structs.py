"""What native code takes for XLA's structures is what XLA's own header says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from triptych.frameworks.xla_programs import interface_minor
from triptych.frameworks.xla_structs import CONSTANTS, ELEMENT_NUMBERS, STRUCTURES
from triptych.ir.errors import PackageVersionError

jax: Any = pytest.importorskip("jax")


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_structures_and_numbers_are_those_of_the_header(tmp_path: Path) -> None:
    wanted, lines = [], []
    for name, structure in STRUCTURES.items():
        for field, *_ in structure._fields_:
            wanted.append(f"{name}.{field} {getattr(structure, field).offset}")
            lines.append(f'printf("{name}.{field} %d\\n", (int)offsetof(struct {name}, {field}));')
    numbers = CONSTANTS | {f"XLA_FFI_DataType_{name}": number for name, number in ELEMENT_NUMBERS.items()}
    for name, number in numbers.items():
        wanted.append(f"{name} {number}")
        lines.append(f'printf("{name} %d\\n", (int){name});')
    program = tmp_path / "layout.c"
    program.write_text(
        f'#include <stdio.h>\n#include "xla/ffi/api/c_api.h"\nint main(void) {{ {" ".join(lines)} return 0; }}\n'
    )
    subprocess.run(["cc", "-I", jax.ffi.include_dir(), program, "-o", tmp_path / "layout"], check=True)
    said = subprocess.run([tmp_path / "layout"], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == wanted


def test_another_major_version_is_refused(tmp_path: Path) -> None:
    header = tmp_path / "xla/ffi/api/c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define XLA_FFI_API_MAJOR 0\n#define XLA_FFI_API_MINOR 7\n")
    assert interface_minor(tmp_path) == 7
    header.write_text("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 0\n")
    with pytest.raises(PackageVersionError, match="another interface"):
        interface_minor(tmp_path)
