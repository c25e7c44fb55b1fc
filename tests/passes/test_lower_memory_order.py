"""`lower-memory-order`: ordered accesses become atomic, element by element, and scopes go."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.memory_order import lower_memory_order

ARGUMENTS = "%p: !llvm.ptr<1>, %n: i32, %v: vector<2xf32>"


def is_written(body: str, expected: str) -> None:
    checked(kernel(body, ARGUMENTS), lower_memory_order, expected)


def load(hints: str, volatile: str = "", kind: str = "i32") -> str:
    return f"%r = llvm.load {volatile} %p {hints} : !llvm.ptr<1> -> {kind}"


def order(text: str) -> str:
    return f'{{alignment = 16 : i64, triptych.order = "{text}"}}'


@pytest.mark.parametrize(
    ("text", "volatile", "ordering"),
    [
        ("relaxed.gpu", "", "monotonic"),
        ("volatile", "volatile ", "monotonic"),
        ("mmio", "volatile ", "monotonic"),
        ("acquire.sys", "", "acquire"),
        ("sc.cta", "", "seq_cst"),
    ],
)
def test_orders_of_loads(text: str, volatile: str, ordering: str) -> None:
    is_written(load(order(text)), f"# CHECK: llvm.load {volatile}%arg0 atomic {ordering} {{alignment = 4 : i64")


@pytest.mark.parametrize(("text", "ordering"), [("release.gpu", "release"), ("sc.gpu", "seq_cst")])
def test_orders_of_stores(text: str, ordering: str) -> None:
    store = f"llvm.store %n, %p {order(text)} : i32, !llvm.ptr<1>"
    is_written(store, f"# CHECK: llvm.store %arg1, %arg0 atomic {ordering} {{alignment = 4 : i64")


def test_an_ordered_access_stays_volatile() -> None:
    is_written(load(order("acquire.gpu"), "volatile"), "# CHECK: llvm.load volatile %arg0 atomic acquire")


def test_volatile_alone_is_relaxed() -> None:
    is_written(load("", "volatile"), "# CHECK: llvm.load volatile %arg0 atomic monotonic {alignment = 4 : i64}")


def test_private_arrays_have_no_order() -> None:
    array = "%one = arith.constant 1 : i32\n%a = llvm.alloca %one x i32 : (i32) -> !llvm.ptr\n"
    is_written(
        array + "%r = llvm.load volatile %a : !llvm.ptr -> i32", "# CHECK: llvm.load volatile %\n# CHECK-NOT: atomic"
    )
    is_written(
        array + "llvm.store volatile %n, %a : i32, !llvm.ptr", "# CHECK: llvm.store volatile %\n# CHECK-NOT: atomic"
    )


@pytest.mark.parametrize("hints", ["", order("constant"), '{triptych.cache = "cg"}'])
def test_what_has_no_order(hints: str) -> None:
    is_written(load(hints), "# CHECK: llvm.load %arg0\n# CHECK-NOT: atomic")


def test_a_vector_is_accessed_element_by_element() -> None:
    is_written(
        load(order("acquire.gpu"), kind="vector<2xf32>"),
        """
        # CHECK: llvm.getelementptr %arg0[0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
        # CHECK-NEXT: llvm.getelementptr %arg0[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
        # CHECK-NEXT: %2 = llvm.load %1 atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> f32
        # CHECK-NEXT: %3 = llvm.load %0 atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> f32
        # CHECK-NEXT: vector.from_elements %3, %2 : vector<2xf32>
        # CHECK-NOT: llvm.load
        """,
    )
    is_written(
        f"llvm.store %v, %p {order('release.gpu')} : vector<2xf32>, !llvm.ptr<1>",
        """
        # CHECK: llvm.getelementptr %arg0[0]
        # CHECK: llvm.getelementptr %arg0[1]
        # CHECK: vector.extract %arg2[0]
        # CHECK: llvm.store {{.*}}, %0 atomic release {alignment = 4 : i64} : f32
        # CHECK: vector.extract %arg2[1]
        # CHECK: llvm.store {{.*}}, %1 atomic release {alignment = 4 : i64} : f32
        # CHECK-NOT: llvm.store
        """,
    )


@pytest.mark.parametrize(
    "body",
    [
        'llvm.fence syncscope("block") acquire',
        '%r = llvm.atomicrmw add %p, %n syncscope("device") monotonic : !llvm.ptr<1>, i32',
        '%r = llvm.cmpxchg %p, %n, %n syncscope("block") acq_rel monotonic : !llvm.ptr<1>, i32',
        "%r = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr<1>, i32",
    ],
)
def test_a_cpu_has_one_scope(body: str) -> None:
    name = body.split("= ")[-1].split()[0]
    is_written(body, f"# CHECK: {name}\n# CHECK-NOT: syncscope")
    is_written(body, f"# CHECK-NOT: syncscope\n# CHECK: {name}")
