"""`split-private-accesses`: a vector moves to and from a thread's own array register by register."""

from __future__ import annotations

import pytest

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


def access(kind: str, alignment: str = "{alignment = 8 : i64}", pointer: str = "%a") -> str:
    return kernel(
        f"{ARRAY}%d = llvm.getelementptr %a[%n] : (!llvm.ptr, i32) -> !llvm.ptr, f16\n"
        f"%0 = llvm.load {pointer} {alignment} : !llvm.ptr -> {kind}",
        "%n: i32",
    )


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("vector<2xf32>", ["f32", "f32"]),
        ("vector<2xf64>", ["f64", "f64"]),
        ("vector<8xi8>", ["vector<4xi8>", "vector<4xi8>"]),
        ("vector<5xi8>", ["vector<4xi8>", "i8"]),
        ("vector<3xf16>", ["vector<2xf16>", "f16"]),
        ("vector<3xbf16>", ["vector<2xbf16>", "bf16"]),
        ("vector<1xf64>", ["f64"]),
    ],
)
def test_parts(kind: str, parts: list[str]) -> None:
    lines = "\n".join(f"# CHECK: llvm.load {{{{.*}}}} -> {part}{{{{\\n}}}}" for part in parts)
    checked(access(kind), split_private_accesses, f"{lines}\n# CHECK-NOT: llvm.load\n# CHECK: vector.from_elements")


@pytest.mark.parametrize("kind", ["vector<1xf32>", "vector<2xf16>", "vector<4xi8>", "f64", "i32"])
def test_what_fits_a_register_or_is_no_vector(kind: str) -> None:
    checked(
        access(kind), split_private_accesses, f"# CHECK: llvm.load {{{{.*}}}} -> {kind}\n# CHECK-NOT: from_elements"
    )


def test_places_of_the_run() -> None:
    checked(access("vector<4xf16>", pointer="%d"), split_private_accesses, "# CHECK: -> vector<4xf16>")


def test_alignment_of_the_parts() -> None:
    checked(
        access("vector<4xf32>", "{alignment = 16 : i64}"),
        split_private_accesses,
        """
        # CHECK: llvm.load {{.*}} {alignment = 16 : i64}
        # CHECK: [1] : (!llvm.ptr) -> !llvm.ptr, f32
        # CHECK: llvm.load {{.*}} {alignment = 4 : i64}
        # CHECK: llvm.load {{.*}} {alignment = 8 : i64}
        # CHECK: llvm.load {{.*}} {alignment = 4 : i64}
        """,
    )
    checked(access("vector<2xf32>", ""), split_private_accesses, "# CHECK-COUNT-2: {alignment = 1 : i64}")


def test_a_store_of_an_odd_number() -> None:
    checked(
        kernel(f"{ARRAY}llvm.store %v, %a {{alignment = 8 : i64}} : vector<3xf16>, !llvm.ptr", "%v: vector<3xf16>"),
        split_private_accesses,
        """
        # CHECK: vector.extract %arg0[0]
        # CHECK-NEXT: vector.extract %arg0[1]
        # CHECK: llvm.store {{.*}} : vector<2xf16>
        # CHECK: vector.extract %arg0[2]
        # CHECK: llvm.store {{.*}} {alignment = 4 : i64} : f16
        """,
    )
