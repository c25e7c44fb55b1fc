"""`read-block-indices-again`: code that lanes may reach apart reads the index of its block itself."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.block_indices import read_block_indices_again

INDEX = "%z = gpu.block_id z\n%i = arith.index_cast %z : index to i32"
STORE = "llvm.store %i, %p : i32, !llvm.ptr<1>"


def test_every_block_of_code_has_its_own() -> None:
    body = f"{INDEX}\n{STORE}\nscf.if %flag {{ {STORE}\n{STORE} }} else {{ {STORE} }}"
    expected = """
    # CHECK: %block_id_z = gpu.block_id z
    # CHECK-NEXT: %0 = arith.index_cast %block_id_z
    # CHECK-NEXT: llvm.store %0
    # CHECK-NEXT: scf.if
    # CHECK-NEXT: %block_id_z_0 = gpu.block_id z
    # CHECK-NEXT: %1 = arith.index_cast %block_id_z_0
    # CHECK-NEXT: llvm.store %1
    # CHECK-NEXT: llvm.store %1
    # CHECK-NEXT: else
    # CHECK-NEXT: %block_id_z_0 = gpu.block_id z
    # CHECK-NEXT: %1 = arith.index_cast %block_id_z_0
    # CHECK-NEXT: llvm.store %1
    """
    checked(kernel(body, "%p: !llvm.ptr<1>, %flag: i1"), read_block_indices_again, expected)


def test_one_block_of_code_keeps_the_one_that_it_has() -> None:
    expected = """
    # CHECK: gpu.block_id z
    # CHECK-NOT: gpu.block_id
    """
    checked(kernel(f"{INDEX}\n{STORE}\n{STORE}", "%p: !llvm.ptr<1>, %flag: i1"), read_block_indices_again, expected)
