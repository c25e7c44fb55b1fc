"""`split-vectors`: a vector moves to and from a thread's own array, and is computed with, register by register."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.kernel_ir.transforms.split_vectors import in_a_register, is_large, split_vectors

ARRAY = "%c = llvm.mlir.constant(8 : i32) : i32\n%a = llvm.alloca %c x f16 : (i32) -> !llvm.ptr\n"


def test_a_load_in_parts_of_a_register() -> None:
    checked(
        kernel(
            f"{ARRAY}%0 = llvm.load %a {{alignment = 8 : i64}} : !llvm.ptr -> vector<4xf16>\n"
            "llvm.store %0, %p : vector<4xf16>, !llvm.ptr<1>",
            "%p: !llvm.ptr<1>",
        ),
        split_vectors,
        """
        # CHECK: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<2xf16>
        # CHECK: llvm.getelementptr {{.*}}[2]
        # CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xf16>
        # CHECK-COUNT-4: vector.extract
        # CHECK: vector.from_elements {{.*}} : vector<4xf16>
        # CHECK: llvm.store {{.*}} : vector<4xf16>, !llvm.ptr<1>
        """,
    )


def test_a_store_in_parts_of_a_register() -> None:
    checked(
        kernel(f"{ARRAY}llvm.store %v, %a {{alignment = 8 : i64}} : vector<4xf16>, !llvm.ptr", "%v: vector<4xf16>"),
        split_vectors,
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
        split_vectors,
        """
        # CHECK: llvm.store {{.*}} : vector<4xf16>, !llvm.ptr<1>
        """,
    )


def access(kind: str, alignment: str = "{alignment = 8 : i64}", pointer: str = "%a") -> str:
    return kernel(
        f"{ARRAY}%d = llvm.getelementptr %a[%n] : (!llvm.ptr, i32) -> !llvm.ptr, f16\n"
        f"%0 = llvm.load {pointer} {alignment} : !llvm.ptr -> {kind}\nllvm.store %0, %p : {kind}, !llvm.ptr<1>",
        "%n: i32, %p: !llvm.ptr<1>",
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
    ],
)
def test_parts(kind: str, parts: list[str]) -> None:
    lines = "\n".join(f"# CHECK: llvm.load {{{{.*}}}} -> {part}{{{{\\n}}}}" for part in parts)
    checked(access(kind), split_vectors, f"{lines}\n# CHECK-NOT: llvm.load\n# CHECK: vector.from_elements")


@pytest.mark.parametrize("kind", ["vector<1xf32>", "vector<1xf64>", "vector<2xf16>", "vector<4xi8>", "f64", "i32"])
def test_what_fits_a_register_or_is_no_vector(kind: str) -> None:
    checked(access(kind), split_vectors, f"# CHECK: llvm.load {{{{.*}}}} -> {kind}\n# CHECK-NOT: from_elements")


def test_places_of_the_run() -> None:
    checked(access("vector<4xf16>", pointer="%d"), split_vectors, "# CHECK: -> vector<4xf16>")


def test_alignment_of_the_parts() -> None:
    checked(
        access("vector<4xf32>", "{alignment = 16 : i64}"),
        split_vectors,
        """
        # CHECK: llvm.load {{.*}} {alignment = 16 : i64}
        # CHECK: [1] : (!llvm.ptr) -> !llvm.ptr, f32
        # CHECK: llvm.load {{.*}} {alignment = 4 : i64}
        # CHECK: llvm.load {{.*}} {alignment = 8 : i64}
        # CHECK: llvm.load {{.*}} {alignment = 4 : i64}
        """,
    )
    checked(access("vector<2xf32>", ""), split_vectors, "# CHECK-COUNT-2: {alignment = 1 : i64}")


def test_a_store_of_an_odd_number() -> None:
    checked(
        kernel(f"{ARRAY}llvm.store %v, %a {{alignment = 8 : i64}} : vector<3xf16>, !llvm.ptr", "%v: vector<3xf16>"),
        split_vectors,
        """
        # CHECK: vector.extract %arg0[0]
        # CHECK-NEXT: vector.extract %arg0[1]
        # CHECK: llvm.store {{.*}} : vector<2xf16>
        # CHECK: vector.extract %arg0[2]
        # CHECK: llvm.store {{.*}} {alignment = 4 : i64} : f16
        """,
    )


def computed(body: str) -> str:
    """Eight numbers of an array in, what is made of them out again."""
    return kernel(
        "%c = llvm.mlir.constant(8 : i32) : i32\n"
        "%a = llvm.alloca %c x f32 : (i32) -> !llvm.ptr\n"
        "%b = llvm.alloca %c x f16 : (i32) -> !llvm.ptr\n"
        f"%x = llvm.load %a : !llvm.ptr -> vector<8xf32>\n{body}",
        "%s: f32, %p: !llvm.ptr<1>",
    )


def test_arithmetic_number_by_number() -> None:
    checked(
        computed(
            "%t = vector.broadcast %s : f32 to vector<8xf32>\n"
            "%k = arith.constant dense<2.0> : vector<8xf32>\n"
            "%y = arith.mulf %x, %t fastmath<contract> : vector<8xf32>\n"
            "%z = arith.addf %y, %k : vector<8xf32>\n"
            "llvm.store %z, %a : vector<8xf32>, !llvm.ptr"
        ),
        split_vectors,
        """
        # CHECK: arith.constant 2.000000e+00 : f32
        # CHECK-COUNT-8: arith.mulf {{.*}}, %arg0 fastmath<contract> : f32
        # CHECK-COUNT-8: arith.addf {{.*}} : f32
        # CHECK-NOT: vector
        """,
    )


def test_narrow_numbers_by_pairs() -> None:
    checked(
        computed("%y = arith.truncf %x : vector<8xf32> to vector<8xf16>\nllvm.store %y, %b : vector<8xf16>, !llvm.ptr"),
        split_vectors,
        """
        # CHECK: vector.from_elements {{.*}} : vector<2xf32>
        # CHECK-NEXT: arith.truncf {{.*}} : vector<2xf32> to vector<2xf16>
        # CHECK-COUNT-4: llvm.store {{.*}} : vector<2xf16>, !llvm.ptr
        # CHECK-NOT: vector.extract
        # CHECK-NOT: vector<8x
        """,
    )


def test_shuffles_leave_nothing() -> None:
    checked(
        computed(
            "%y = vector.shuffle %x, %x [7, 6, 5, 4, 3, 2, 1, 8] : vector<8xf32>, vector<8xf32>\n"
            "%z = vector.shuffle %y, %y [1] : vector<8xf32>, vector<8xf32>\n"
            "%e = vector.extract %z[0] : f32 from vector<1xf32>\n"
            "llvm.store %e, %p : f32, !llvm.ptr<1>"
        ),
        split_vectors,
        """
        # CHECK: %14 = llvm.getelementptr {{.*}}[6] : (!llvm.ptr) -> !llvm.ptr, f32
        # CHECK: %15 = llvm.load %14
        # CHECK-NOT: vector
        # CHECK: llvm.store %15, %arg1
        """,
    )


def test_conditions_are_numbers_of_their_own() -> None:
    checked(
        computed(
            "%k = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : vector<8xf32>\n"
            "%i = arith.cmpf olt, %x, %k : vector<8xf32>\n"
            "%y = arith.select %i, %x, %k : vector<8xi1>, vector<8xf32>\n"
            "llvm.store %y, %a : vector<8xf32>, !llvm.ptr"
        ),
        split_vectors,
        """
        # CHECK-COUNT-8: arith.cmpf olt, {{.*}} : f32
        # CHECK-COUNT-8: arith.select {{.*}} : f32
        # CHECK-NOT: vector<8xi1>
        """,
    )


def test_who_needs_all_of_it_gets_it() -> None:
    checked(
        computed(
            "%y = arith.negf %x : vector<8xf32>\n"
            "%r = vector.reduction <add>, %y : vector<8xf32> into f32\n"
            "llvm.store %r, %p : f32, !llvm.ptr<1>\n"
            "scf.if %i { llvm.store %y, %p : vector<8xf32>, !llvm.ptr<1> }"
        ).replace("%s: f32", "%s: f32, %i: i1"),
        split_vectors,
        """
        # CHECK-COUNT-8: arith.negf {{.*}} : f32
        # CHECK: vector.from_elements {{.*}} : vector<8xf32>
        # CHECK: vector.reduction <add>
        # CHECK: scf.if
        # CHECK: llvm.store {{.*}} : vector<8xf32>, !llvm.ptr<1>
        # CHECK-NOT: vector.from_elements
        """,
    )


@pytest.mark.parametrize(
    ("kind", "large", "together"),
    [
        ("8xf32", True, 1),
        ("2xf64", True, 1),
        ("2xf16", False, 2),
        ("3xbf16", True, 2),
        ("5xi8", True, 4),
        ("8xi1", False, 1),
    ],
)
def test_what_a_register_holds(kind: str, large: bool, together: int) -> None:
    vector = bindings.mlir().Type.parse(f"vector<{kind}>", context=context())
    assert is_large(vector) is large
    assert in_a_register([vector.element_type]) == together
