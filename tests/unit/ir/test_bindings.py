from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.errors import MissingPackageError


def run(program: str) -> str:
    """A fresh interpreter: what is imported when is what is tested."""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return result.stdout.strip()


def test_mlir_loads_without_numpy_and_without_generated_dialects() -> None:
    program = """
import sys
from triptych.ir import bindings
from triptych.ir.bindings import context
ir = bindings.mlir()
module = ir.Module.parse("func.func @f(%a: i32) { %0 = arith.addi %a, %a : i32 return }", context=context())
print([operation.name for operation in module.body.operations[0].regions[0].blocks[0].operations])
print("numpy" in sys.modules, [name for name in sys.modules if name.startswith("torch_mlir.dialects")])
"""
    assert run(program).splitlines() == ["['arith.addi', 'func.return']", "False []"]


def test_numpy_and_the_real_dialects_still_work_afterwards() -> None:
    program = """
from triptych.ir import bindings
from triptych.ir.bindings import context
ir = bindings.mlir()
import numpy
from torch_mlir.dialects import arith
with context(), ir.Location.unknown():
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        constant = arith.constant(ir.IntegerType.get_signless(32), 7)
    print(numpy.arange(3).sum(), constant.owner.name, hasattr(arith, "AddIOp"))
"""
    assert run(program) == "3 arith.constant True"


def test_many_threads_may_open_the_door_at_once() -> None:
    program = """
import threading
from triptych.ir import bindings
seen = []
threads = [threading.Thread(target=lambda: seen.append(bindings.mlir().Context)) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(seen), len(set(seen)))
"""
    assert run(program) == "8 1"


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm_ffi", None)
    bindings.tvm_ffi.cache_clear()
    with pytest.raises(MissingPackageError, match="apache-tvm-ffi") as caught:
        bindings.tvm_ffi()
    assert caught.value.instead == "pip install apache-tvm-ffi"
    assert isinstance(caught.value, ImportError)


def test_versions_name_every_package() -> None:
    assert set(bindings.versions()) == {"torch-mlir", "llvmlite", "apache-tvm-ffi"}
    assert all(bindings.versions().values())


def test_a_package_is_found_without_importing_it() -> None:
    program = """
import sys
from triptych.ir import bindings
print((bindings.folder_of("llvmlite") / "llvmlite" / "__init__.py").exists(), "llvmlite" in sys.modules)
"""
    assert run(program) == "True False"


def test_each_thread_has_its_own_context_and_keeps_it() -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(context()))
    thread.start()
    thread.join()
    assert context() == context()
    assert found[0] != context()
