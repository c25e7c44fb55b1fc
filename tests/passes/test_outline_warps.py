"""`outline-warps`: more than 32 loops over warps become functions; fewer stay, and so do loops with checks."""

from __future__ import annotations

from tests.passes.running import checked
from triptych.targets.cpu.passes.outline_warps import MANY, outline_warps

HINT = "{llvm.loop_annotation = #llvm.loop_annotation<mustProgress = true>}"


def loop(body: str = "llvm.store %n, %p : i32, !llvm.ptr", hint: str = HINT) -> str:
    return f"scf.for %i = %zero to %n step %one : i32 {{ {body} }} {hint}\n"


def program(*loops: str, name: str = "k.blocks", before: str = "") -> str:
    return f"""
    llvm.func @triptych_block_memory(i64) -> !llvm.ptr
    func.func @{name}(%n: i32, %p: !llvm.ptr, %c: i1) {{
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      {before}
      {"".join(loops)}
      return
    }}
    """


def test_the_limit() -> None:
    assert MANY == 32
    checked(program(*[loop()] * MANY), outline_warps, "# CHECK-NOT: call\n# CHECK: return\n# CHECK-NOT: func.func")
    checked(
        program(*[loop()] * (MANY + 1)),
        outline_warps,
        f"""
        # CHECK: func.func @k.blocks
        # CHECK-NOT: scf.for
        # CHECK: call @k.warps0(
        # CHECK: call @k.warps{MANY}(
        # CHECK-NEXT: return
        """,
    )


def test_a_loop_takes_what_it_uses() -> None:
    checked(
        program(*[loop()] * (MANY + 1)),
        outline_warps,
        """
        # CHECK: call @k.warps0(%arg0, %arg1) : (i32, !llvm.ptr) -> ()
        # CHECK: func.func private @k.warps0(%arg0: i32, %arg1: !llvm.ptr) attributes {llvm.no_inline} {
        # CHECK: arith.constant 0 : i32
        # CHECK-NEXT: arith.constant 1 : i32
        # CHECK-NEXT: scf.for %arg2 = %c0_i32 to %arg0 step %c1_i32
        # CHECK-NEXT: llvm.store %arg0, %arg1
        # CHECK: return
        """,
    )


def test_a_loop_with_a_check_stays() -> None:
    checked(
        program(loop('cf.assert %c, "told"'), *[loop()] * MANY),
        outline_warps,
        """
        # CHECK: func.func @k.blocks
        # CHECK: scf.for
        # CHECK-NEXT: cf.assert
        # CHECK-NOT: scf.for
        # CHECK: call @k.warps1(
        """,
    )


def test_other_loops_do_not_count() -> None:
    checked(program(loop(hint=""), *[loop()] * MANY), outline_warps, "# CHECK-NOT: call\n# CHECK: return")
    checked(
        program(loop(hint=""), *[loop()] * (MANY + 1)),
        outline_warps,
        "# CHECK: func.func @k.blocks\n# CHECK: scf.for\n# CHECK-NOT: scf.for\n# CHECK: call @k.warps0(",
    )


def test_other_functions_stay() -> None:
    checked(program(*[loop()] * (MANY + 1), name="host"), outline_warps, "# CHECK-NOT: call\n# CHECK: return")


ARRAY = "%a = llvm.alloca %one x i32 : (i32) -> !llvm.ptr\n"
MEMORY = "%k = arith.constant 64 : i64\n%a = llvm.call @triptych_block_memory(%k) : (i64) -> !llvm.ptr\n"
STORE = "llvm.store %n, %a : i32, !llvm.ptr"


def test_memory_of_the_loops_alone_has_no_other_name() -> None:
    for memory in (ARRAY, MEMORY):
        checked(
            program(loop(STORE), *[loop()] * MANY, before=memory),
            outline_warps,
            "# CHECK: func.func private @k.warps0(%arg0: i32, %arg1: !llvm.ptr {llvm.noalias})",
        )
        used = memory + "llvm.store %n, %a : i32, !llvm.ptr\n"
        checked(
            program(loop(STORE), *[loop()] * MANY, before=used),
            outline_warps,
            "# CHECK: func.func private @k.warps0(%arg0: i32, %arg1: !llvm.ptr) attributes",
        )


def test_values_of_inner_loops_are_their_own() -> None:
    inner = (
        "scf.for %j = %zero to %i step %one : i32 { %s = arith.addi %i, %j : i32 llvm.store %s, %p : i32, !llvm.ptr }"
    )
    checked(
        program(loop(inner), *[loop()] * MANY),
        outline_warps,
        "# CHECK: func.func private @k.warps0(%arg0: !llvm.ptr, %arg1: i32) attributes",
    )
