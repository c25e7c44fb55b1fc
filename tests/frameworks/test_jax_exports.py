"""Calls of `triptych.jax` in other processes and on several devices, and what the handler does with wrong texts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.frameworks.jax_kernels import copy, like, mul, ones

jax: Any = pytest.importorskip("jax")
ours: Any = pytest.importorskip("triptych.jax")
jnp: Any = jax.numpy
THREADS = 32
SOURCE = Path(tt.__file__).parents[1]


# other processes ------------------------------------------------------------------------------------------------------
def process(program: str, folder: Path, **variables: str) -> str:
    """What a program of its own process prints; it has the store of the folder."""
    path = os.pathsep.join([str(SOURCE), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(folder / "store")}
    environment |= variables
    file = folder / "program.py"
    file.write_text(program)
    ran = subprocess.run(
        [sys.executable, file], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


SHARDED = """
import jax, numpy as np, triptych as tt, triptych.jax
from functools import partial
from jax.sharding import PartitionSpec as P
from triptych import cute

@tt.jit
def double(x: cute.Tensor, y: cute.Tensor):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 2.0 + x.shape[0]

call = triptych.jax.call(double, output_shape_dtype=lambda x: x)
for count in (2, 4):
    mesh = jax.make_mesh((count,), "x", devices=jax.devices()[:count])
    sharded = jax.jit(jax.shard_map(call, mesh=mesh, in_specs=P("x"), out_specs=P("x")))
    x = np.arange(40, dtype=np.float32).reshape(8, 5)
    found = sharded(jax.device_put(x, jax.NamedSharding(mesh, P("x"))))
    assert len(found.sharding.device_set) == count
    np.testing.assert_array_equal(found, x * 2 + 8 / count)
    whole = jax.jit(call)(jax.device_put(x, jax.NamedSharding(mesh, P("x"))))
    np.testing.assert_array_equal(whole, x * 2 + 8)
print("right")
"""


def test_shard_map_on_two_and_four_devices(tmp_path: Path) -> None:
    assert process(SHARDED, tmp_path, XLA_FLAGS="--xla_force_host_platform_device_count=4") == "right\n"


EXPORTING = """
import jax, numpy as np, triptych as tt, triptych.jax
from jax import export
from triptych import cute

@tt.jit
def axpy(x: cute.Tensor, y: cute.Tensor, factor: tt.Float32, z: cute.Tensor, more: tt.Float32):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            assert x[i, j] > -100.0, "x is too small"
            z[i, j] = x[i, j] * factor + y[i, j] + more

call = triptych.jax.call(axpy, output_shape_dtype=lambda x, y, factor: x, more=0.5)
function = jax.jit(lambda x, y: jax.numpy.negative(call(x, y, 3.0)))
checks = triptych.jax.get_export_disabled_safety_checks()
m, n = export.symbolic_shape("m, n")
for name, shape in {"known": (4, 3), "symbolic": (m, n)}.items():
    kind = jax.ShapeDtypeStruct(shape, np.float32)
    blob = export.export(function, disabled_checks=checks)(kind, kind).serialize()
    open(name, "wb").write(blob)
print("exported")
"""

RUNNING = """
import jax, numpy as np, triptych.jax
from jax import export

for name, shapes in {"known": [(4, 3)], "symbolic": [(4, 3), (1, 7), (30, 20)]}.items():
    exported = export.deserialize(open(name, "rb").read())
    for shape in shapes:
        x, y = np.random.rand(2, *shape).astype(np.float32)
        for _ in range(2):
            np.testing.assert_allclose(exported.call(x, y), -(x * 3 + y + 0.5), rtol=1e-6)
    try:
        exported.call(*[np.full((4, 3), -1000, np.float32)] * 2).block_until_ready()
    except Exception as error:
        print("x is too small" in str(error), "axpy" in str(error))
print("right")
"""


def test_an_exported_program_runs_in_another_process(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers")  # which JAX serializes with
    assert process(EXPORTING, tmp_path) == "exported\n"
    assert process(RUNNING, tmp_path) == "True True\nTrue True\nright\n"


MISSING = """
import numpy as np, triptych.jax
from jax import export
exported = export.deserialize(open("known", "rb").read())
for _ in range(2):
    try:
        exported.call(*np.ones((2, 4, 3), np.float32)).block_until_ready()
    except Exception as error:
        print(error)
"""


SEALED = """
import numpy as np
try:
    import triptych.jax
    from jax import export
    print(export.deserialize(open("known", "rb").read()).call(*np.ones((2, 4, 3), np.float32))[0, 0])
except RuntimeError as error:
    print(error.code, error.instead)
"""


def test_a_sealed_process_runs_what_the_store_has(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers")
    process(EXPORTING, tmp_path)
    assert process(SEALED, tmp_path, TRIPTYCH_SEALED="1") == "-4.5\n"
    said = process(SEALED, tmp_path, TRIPTYCH_SEALED="1", TRIPTYCH_CACHE_DIR=str(tmp_path / "other"))
    assert said.startswith("TT0718 `import triptych.jax` once")


def test_a_program_that_nobody_has_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("flatbuffers")
    process(EXPORTING, tmp_path)
    said = process(MISSING, tmp_path, TRIPTYCH_CACHE_DIR=str(tmp_path / "other"))
    assert said.count("[TT0656]") == 2
    assert "triptych cache export" in said
    assert "TRIPTYCH_CACHE=0" in process(MISSING, tmp_path, TRIPTYCH_CACHE="0")


def exported_text(call: Any, *arrays: Any) -> str:
    """The text by which XLA calls the program of a call."""
    lowered = jax.jit(call).lower(*arrays).as_text()
    found = lowered.partition('program = "')[2].partition('"}')[0]
    return re.sub(r"\\([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), found)


def by_text(text: str, outputs: Any, *arrays: Any) -> Any:
    return jax.jit(lambda *given: jax.ffi.ffi_call("triptych_call", outputs)(*given, program=text))(*arrays)


def test_a_call_with_other_arrays_than_its_program_takes_is_xlas_error() -> None:
    """As a program that was exported, and changed, would do."""
    text = exported_text(ours.call(mul, output_shape_dtype=like), ones(2, 3), ones(2, 3))
    shape = jax.ShapeDtypeStruct((2, 3), np.float32)
    np.testing.assert_array_equal(by_text(text, shape, ones(2, 3), ones(2, 3)), np.ones((2, 3)))
    for arrays, said in (
        ((ones(2, 3), ones(2, 3, 1)), "TT06"),
        ((ones(2, 3), jnp.ones((2, 3), jnp.int32)), "TT06"),
        ((ones(2, 3), jnp.ones((2, 3), jnp.complex64)), "TT06"),
        ((ones(2, 3),), "another number of inputs"),
        ((ones(2, 3), ones(2, 3), ones(2, 3)), "another number of inputs"),
    ):
        with pytest.raises(Exception, match=said):
            by_text(text, shape, *arrays).block_until_ready()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "TT0656"),
        ("short", "TT0656"),
        ("0" * 64 + " triptych-1 0123456789abcdef [1,1,[]]", "another version"),
        ("0" * 64 + " triptych-9 0123456789abcdef [1,1,[]]", "another version"),
    ],
)
def test_a_text_of_another_process_that_is_no_program(text: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        by_text(text, jax.ShapeDtypeStruct((3,), np.float32), ones(3)).block_until_ready()


@pytest.mark.parametrize(
    "plan",
    [
        "",
        "[1,1",
        "3",
        "[1,1]",
        '[1,1,[["input",1],["output",0]]]',
        '[1,1,[["input",-1],["output",0]]]',
        '[1,1,[["input",0],["output",1]]]',
        '[1,1,[["number",1],["output",0]]]',
        '[1,1,[["inputs",0],["output",0]]]',
        '[1,1,[["input",0,[1]],["output",0]]]',
        '[1,1,[["input",0,[0,0]],["output",0]]]',
        '[1,1,["a",["output",0]]]',
        '[1,1,[["input",0]]]',
        '["1",1,[["input",0],["output",0]]]',
    ],
)
def test_a_program_with_a_wrong_plan(plan: str) -> None:
    """Nothing of a text is believed that native code would follow."""
    text = exported_text(ours.call(copy, output_shape_dtype=like), ones(3)).rpartition(" ")[0]
    with pytest.raises(Exception, match=r"TT0\d\d\d"):
        by_text(f"{text} {plan}", jax.ShapeDtypeStruct((3,), np.float32), ones(3)).block_until_ready()


def test_a_call_without_a_text() -> None:
    shape = jax.ShapeDtypeStruct((3,), np.float32)
    for given in ({}, {"program": np.int32(3)}, {"program": "a", "more": "b"}):
        with pytest.raises(Exception, match="no call of a function of Triptych"):
            jax.jit(lambda x, given=given: jax.ffi.ffi_call("triptych_call", shape)(x, **given))(ones(3))
