"""`merge-traps`: every failing check of a kernel jumps to one call, and brings only what is its own."""

from __future__ import annotations

import pytest

from tests.passes.running import checked
from triptych.targets.nvptx.passes.merge_traps import merge_traps

CALL = "llvm.call @__assertfail"
SIGNATURE = ": (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64) -> ()"


def fail(label: str, message: str, line: int, file: str = "@file", size: int = 1) -> str:
    """The block of a check as `convert-gpu-to-nvvm` writes it."""
    addresses = "".join(
        f"""
        %{label}_{name} = llvm.mlir.addressof {text} : !llvm.ptr
        %{label}_{name}_at = llvm.getelementptr %{label}_{name}[0] : (!llvm.ptr) -> !llvm.ptr, i8
        """
        for name, text in (("message", message), ("file", file), ("function", "@function"))
    )
    return f"""
    ^{label}:
      {addresses}
      %{label}_line = llvm.mlir.constant({line} : i32) : i32
      %{label}_size = llvm.mlir.constant({size} : i64) : i64
      {CALL}(%{label}_message_at, %{label}_file_at, %{label}_line, %{label}_function_at, %{label}_size) {SIGNATURE}
      llvm.br ^after_{label}
    ^after_{label}:
    """


def program(*checks: str, more: str = "") -> str:
    texts = "".join(
        f'llvm.mlir.global internal constant @{name}("{name}\\00")\n' for name in ("one", "two", "file", "function")
    )
    body = ""
    for check in checks:
        label = check.split("^")[1].split(":")[0]
        body += f"llvm.cond_br %go, ^after_{label}, ^{label}\n{check}"
    return f"""
    module attributes {{gpu.container_module}} {{
      gpu.module @kernels {{
        {texts}
        llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)
        llvm.func @other(i32)
        llvm.func @k(%go: i1, %n: i32) attributes {{gpu.kernel, nvvm.kernel}} {{
          {more}
          {body}
          llvm.return
        }}
      }}
    }}
    """


def test_two_checks_share_a_call() -> None:
    checked(
        program(fail("a", "@one", 7), fail("b", "@two", 8)),
        merge_traps,
        """
        # CHECK: llvm.func @k
        # CHECK-NOT: llvm.call
        # CHECK: llvm.mlir.constant(7 : i32)
        # CHECK: llvm.mlir.addressof @one_address : !llvm.ptr<4>
        # CHECK-NEXT: llvm.load {{.*}} : !llvm.ptr<4> -> !llvm.ptr
        # CHECK: llvm.br {{.*}} : !llvm.ptr, i32
        # CHECK: llvm.mlir.constant(8 : i32)
        # CHECK: llvm.mlir.addressof @two_address : !llvm.ptr<4>
        # CHECK: llvm.return
        # CHECK: ({{%\\w+}}: !llvm.ptr, {{%\\w+}}: i32):
        # CHECK: llvm.mlir.addressof @file_address
        # CHECK-NEXT: llvm.load
        # CHECK: llvm.mlir.addressof @function_address
        # CHECK-NEXT: llvm.load
        # CHECK: llvm.mlir.constant(1 : i64)
        # CHECK: llvm.call @__assertfail
        # CHECK-NEXT: llvm.unreachable
        # CHECK-NOT: llvm.call
        """,
    )


def test_what_is_alike_is_made_again_at_the_call() -> None:
    checked(
        program(fail("a", "@one", 7), fail("b", "@one", 7)),
        merge_traps,
        """
        # CHECK: llvm.func @k
        # CHECK: llvm.br ^{{\\w+\\n}}
        # CHECK: llvm.br ^{{\\w+\\n}}
        # CHECK: llvm.mlir.constant(7 : i32)
        # CHECK: llvm.call @__assertfail
        # CHECK-NEXT: llvm.unreachable
        """,
    )


def test_a_single_check() -> None:
    checked(
        program(fail("a", "@one", 7)),
        merge_traps,
        """
        # CHECK: llvm.func @k
        # CHECK: llvm.return
        # CHECK-NEXT: ^{{\\w+}}:
        # CHECK: llvm.call @__assertfail
        # CHECK-NEXT: llvm.unreachable
        # CHECK-NOT: llvm.call
        """,
    )


def test_a_text_has_one_variable_of_constant_memory() -> None:
    for name in ("one", "function", "file"):
        checked(
            program(fail("a", "@one", 7), fail("b", "@one", 8)),
            merge_traps,
            f"""
            # CHECK: global internal @{name}_address() {{addr_space = 4 : i32, externally_initialized}} : !llvm.ptr
            # CHECK-NEXT: llvm.mlir.addressof @{name} : !llvm.ptr
            # CHECK-NEXT: llvm.return
            # CHECK-NOT: global internal @{name}_address
            """,
        )


def test_other_calls_stay() -> None:
    calls = "llvm.call @other(%n) : (i32) -> ()"
    checked(
        program(more=calls), merge_traps, "# CHECK: llvm.call @other\n# CHECK-NOT: unreachable\n# CHECK-NOT: _address"
    )
    checked(
        program(fail("a", "@one", 7), more=calls),
        merge_traps,
        "# CHECK: llvm.call @other\n# CHECK: llvm.call @__assertfail\n# CHECK-NEXT: llvm.unreachable",
    )


def test_calls_of_addresses_have_no_name() -> None:
    more = """
    %zero = llvm.mlir.zero : !llvm.ptr
    llvm.call %zero(%n) : !llvm.ptr, (i32) -> ()
    """
    checked(
        program(fail("a", "@one", 7), more=more), merge_traps, "# CHECK: llvm.call %\n# CHECK: llvm.call @__assertfail"
    )


PRODUCT = """
    %one = llvm.mlir.constant(1 : i32) : i32
    %d = llvm.alloca %one x f32 : (i32) -> !llvm.ptr
    %s = llvm.mlir.zero : !llvm.ptr<3>
    "tile.wgmma"(%d, %s, %s, %go) {instruction = "x", tiles = 0, d = 0, a = 0, b = 0, a_operand = 0, b_operand = 0}
      : (!llvm.ptr, !llvm.ptr<3>, !llvm.ptr<3>, i1) -> ()
    """
REGISTERS = """
    %count = llvm.mlir.constant(40 : i32) : i32
    llvm.call_intrinsic "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32"(%count) : (i32) -> ()
    """


@pytest.mark.parametrize("more", [PRODUCT, REGISTERS])
def test_kernels_with_products_or_registers_of_warpgroups_call_nothing(more: str) -> None:
    """The assembler would wait for each product, and ignore how many registers a warpgroup has."""
    checked(
        program(fail("a", "@one", 1), fail("b", "@two", 2), more=more),
        merge_traps,
        """
        # CHECK: llvm.func @k
        # CHECK-NOT: llvm.call @
        # CHECK: llvm.br ^bb5
        # CHECK: llvm.br ^bb5
        # CHECK: llvm.intr.trap
        # CHECK-NEXT: llvm.unreachable
        """,
    )
