"""`rename-memory-scopes`: scopes have the names of the target's LLVM; one that it lacks is an error at its line."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel, parsed
from triptych.ir.errors import LoweringError
from triptych.kernel_ir.transforms.memory_scopes import renaming_scopes

run = renaming_scopes({"block": "workgroup", "device": "agent"})
MEMORY = "%p: !llvm.ptr<1>, %n: i32"


def update(scope: str) -> str:
    return kernel(f"%0 = llvm.atomicrmw add %p, %n {scope} acq_rel : !llvm.ptr<1>, i32", MEMORY)


@pytest.mark.parametrize(("scope", "name"), [("block", "workgroup"), ("device", "agent")])
def test_names_of_the_target(scope: str, name: str) -> None:
    checked(update(f'syncscope("{scope}")'), run, f'# CHECK: llvm.atomicrmw add {{{{.*}}}} syncscope("{name}") acq_rel')


def test_the_whole_system_has_no_name() -> None:
    checked(update(""), run, "# CHECK-NOT: syncscope\n# CHECK: llvm.atomicrmw\n# CHECK-NOT: syncscope")


@pytest.mark.parametrize(
    "access",
    [
        'llvm.fence syncscope("device") release',
        '%0 = llvm.load %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32',
        'llvm.store %n, %p atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>',
        '%0 = llvm.cmpxchg %p, %n, %n syncscope("device") acq_rel monotonic : !llvm.ptr<1>, i32',
    ],
)
def test_every_kind_of_access(access: str) -> None:
    checked(kernel(access, MEMORY), run, '# CHECK: syncscope("agent")')


def test_a_scope_that_is_lacking_is_refused() -> None:
    module = parsed(update('syncscope("cluster")'))
    with module.context, pytest.raises(LoweringError, match="no memory scope 'cluster'"):
        run(module)
