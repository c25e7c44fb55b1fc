"""Code objects of AMD's chips, compared with those of LLVM's linker, and waves of a SIMD with LLVM's own count.

    python -m benchmarks.amd_code_objects                        all examples on all chips
    python -m benchmarks.amd_code_objects --linker 'ld.lld'      by this command, instead of the one of `ziglang`

Every object of the plain kernel examples is linked twice. What a loader reads must be the same: segments, notes,
symbols with both hash tables, descriptors, code, the dynamic table, and in the header the system, its version and the
chip.
`pip install ziglang` brings LLD; without it there is nothing to compare with, and the run says so.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.amd_programs import PLAIN, object_of
from triptych.targets.amdgpu.code_object.linker import link
from triptych.targets.amdgpu.description.chips import CHIPS

LOADED = (".note", ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".rodata", ".text", ".dynamic")
_HEADER = (slice(0, 0x28), slice(0x30, 0x3A))
"""Kind, system, machine and chip; where the table of sections is may differ."""
_SEGMENTS = slice(0x40, 0x200)
_NO_BITS = 8


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--linker", help="a command that links like LLD")
    given = parser.parse_args(arguments)
    command = shlex.split(given.linker) if given.linker else found_linker()
    if command is None:
        print("no linker to compare with: pip install ziglang, or --linker")
        return 1
    differing, count, ours, theirs = 0, 0, 0.0, 0.0
    for chip in CHIPS:
        for name in PLAIN:
            made = object_of(name, chip)
            begun = time.perf_counter()
            code = link(made)
            linked = time.perf_counter()
            other = linked_by(command, made)
            ours, theirs = ours + linked - begun, theirs + time.perf_counter() - linked
            differences = list(differences_of(code, other))
            count, differing = count + 1, differing + bool(differences)
            if differences:
                print(f"{chip} {name}: {', '.join(differences)}")
    print(
        f"{count} objects, {differing} that differ; {1e3 * ours / count:.2f} ms here, {1e3 * theirs / count:.0f} there"
    )
    return 1 if differing else 0


def found_linker() -> list[str] | None:
    """LLD of the package `ziglang`."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    return [sys.executable, "-m", "ziglang", "ld.lld"]


def linked_by(command: Sequence[str], made: bytes) -> bytes:
    """A code object by another linker."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "kernels.o"), Path(folder, "kernels.hsaco")
        source.write_bytes(made)
        subprocess.run([*command, "-shared", "--no-undefined", source, "-o", target], check=True)
        return target.read_bytes()


def differences_of(ours: bytes, theirs: bytes) -> Iterator[str]:
    """The parts that a loader would read differently."""
    if any(ours[part] != theirs[part] for part in _HEADER):
        yield "header"
    if ours[_SEGMENTS] != theirs[_SEGMENTS]:
        yield "segments"
    first, second = sections_of(ours), sections_of(theirs)
    for name in LOADED:
        if first.get(name) != second.get(name):
            yield name


def sections_of(code: bytes) -> dict[str, tuple[int, bytes]]:
    """Address and contents of each section, by name."""
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count, names = struct.unpack_from("<HHH", code, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", code, table + size * i) for i in range(count)]
    begin = rows[names][4]
    found = {}
    for name, kind, _, address, offset, length in rows:
        text = code[begin + name : code.index(b"\0", begin + name)].decode()
        found[text] = (address, b"" if kind == _NO_BITS else code[offset : offset + length])
    return found


if __name__ == "__main__":
    sys.exit(main())
