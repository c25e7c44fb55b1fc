"""`split-private-accesses`: a vector moves to and from a thread's own array register by register."""

from __future__ import annotations

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.split_private_accesses import split_private_accesses

ARRAY = "%c = llvm.mlir.constant(8 : i32) : i32\n%a = llvm.alloca %c x f16 : (i32) -> !llvm.ptr\n"


def test_a_load_in_parts_of_a_register() -> None:
    checked(
        kernel(
            f"{ARRAY}%0 = llvm.load %a {{alignment = 8 : i64}} : !llvm.ptr -> vector<4xf16>\n"
            "llvm.store %0, %p : vector<4xf16>, !llvm.ptr<1>",
            "%p: !llvm.ptr<1>",
        ),
        split_private_accesses,
        """
        # CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<2xf16>
        # CHECK-COUNT-2: vector.extract
        # CHECK: llvm.getelementptr {{.*}}[2]
        # CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xf16>
        # CHECK: vector.from_elements {{.*}} : vector<4xf16>
        # CHECK: llvm.store {{.*}} : vector<4xf16>, !llvm.ptr<1>
        """,
    )


def test_a_store_in_parts_of_a_register() -> None:
    checked(
        kernel(f"{ARRAY}llvm.store %v, %a {{alignment = 8 : i64}} : vector<4xf16>, !llvm.ptr", "%v: vector<4xf16>"),
        split_private_accesses,
        """
        # CHECK: vector.from_elements
        # CHECK: llvm.store {{.*}} : vector<2xf16>, !llvm.ptr
        # CHECK: vector.from_elements
        # CHECK: llvm.store {{.*}} : vector<2xf16>, !llvm.ptr
        # CHECK-NOT: vector<4xf16>, !llvm.ptr
        """,
    )


def test_memory_of_others_is_moved_at_once() -> None:
    checked(
        kernel(
            "llvm.store %v, %p {alignment = 8 : i64} : vector<4xf16>, !llvm.ptr<1>",
            "%v: vector<4xf16>, %p: !llvm.ptr<1>",
        ),
        split_private_accesses,
        """
        # CHECK: llvm.store {{.*}} : vector<4xf16>, !llvm.ptr<1>
        """,
    )
