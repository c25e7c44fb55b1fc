"""`hint-loops`, `annotate-loops`: the hints of a loop become an annotation, which ends where LLVM looks for it."""

from __future__ import annotations

import pytest

from tests.passes.running import checked
from triptych.kernel_ir.transforms.loop_passes import COUNTED, annotate_loops, hint_loops

LOOP = """
func.func @f(%n: index) {
  %one = arith.constant 1 : index
  scf.for %i = %one to %n step %one { scf.yield } HINTS
  return
}
"""


@pytest.mark.parametrize(
    ("hints", "annotation"),
    [
        ("triptych.unroll = 1 : i32", "#llvm.loop_unroll<disable = true>"),
        ("triptych.unroll = 2 : i32", "#llvm.loop_unroll<count = 2 : i32>"),
        ("triptych.vectorize", "#llvm.loop_vectorize<disable = false>"),
    ],
)
def test_a_hint(hints: str, annotation: str) -> None:
    expected = f"""
    # CHECK: = {annotation}
    # CHECK-NEXT: #llvm.loop_annotation
    # CHECK: llvm.loop_annotation = #loop_annotation
    """
    checked(LOOP.replace("HINTS", f"{{{hints}}}"), hint_loops, expected)


def test_both_hints() -> None:
    checked(
        LOOP.replace("HINTS", "{triptych.unroll = 4 : i32, triptych.vectorize}"),
        hint_loops,
        """
        # CHECK: loop_unroll<count = 4 : i32>
        # CHECK: loop_vectorize<disable = false>
        # CHECK: #llvm.loop_annotation<vectorize = #loop_vectorize, unroll = #loop_unroll>
        # CHECK: llvm.loop_annotation = #loop_annotation
        """,
    )


def test_a_loop_without_hints() -> None:
    checked(LOOP.replace("HINTS", "{other}"), hint_loops, "# CHECK: {other}\n# CHECK-NOT: loop_annotation")
    assert {"scf.for"} == COUNTED


BRANCHES = """
llvm.func @f(%c: i1) {
  llvm.br ^one FIRST
^one:
  llvm.cond_br %c, ^one, ^two SECOND
^two:
  llvm.return
}
"""
CARRIED = "{llvm.loop_annotation = #llvm.loop_annotation<mustProgress = true>}"


def test_the_annotation_moves_on_both_branches() -> None:
    checked(
        BRANCHES.replace("FIRST", CARRIED).replace("SECOND", CARRIED),
        annotate_loops,
        """
        # CHECK: llvm.br ^bb1 {loop_annotation = #loop_annotation}
        # CHECK: llvm.cond_br %arg0, ^bb1, ^bb2 {loop_annotation = #loop_annotation}
        # CHECK-NOT: llvm.loop_annotation
        """,
    )


def test_other_branches_stay() -> None:
    checked(
        BRANCHES.replace("FIRST", "").replace("SECOND", CARRIED),
        annotate_loops,
        """
        # CHECK: llvm.br ^bb1
        # CHECK-NEXT: ^bb1:
        # CHECK: llvm.cond_br %arg0, ^bb1, ^bb2 {loop_annotation = #loop_annotation}
        """,
    )
