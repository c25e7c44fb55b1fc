"""One pass on a small program: MLIR in, CHECK lines for what comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ir.filecheck import check, directives
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.passes import verify
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS


def parsed(text: str) -> Any:
    """A well-formed program."""
    for dialect in KERNEL_DIALECTS:
        dialect.load(context())
    module = bindings.mlir().Module.parse(text, context=context())
    verify(module)
    return module


def checked(program: str, run: Callable[[Any], object], expected: str) -> None:
    """Run a pass; its output is well formed and is as CHECK lines say."""
    module = parsed(program)
    with module.context:
        run(module)
    verify(module)
    check(str(module), directives(expected))


def kernel(body: str, arguments: str = "", attributes: str = "", *, host: str = "") -> str:
    """A program with a kernel `k`, and the contents of its host function."""
    return f"""
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @k({arguments}) kernel {attributes} {{
      {body}
      gpu.return
    }}
  }}
  {host}
}}
"""


def lowered_kernel(body: str, arguments: str = "", attributes: str = "") -> str:
    """A kernel that has become a function of LLVM; its body says how it ends."""
    return f"""
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    llvm.func @k({arguments}) attributes {{gpu.kernel, nvvm.kernel{attributes}}} {{
      {body}
    }}
  }}
}}
"""
