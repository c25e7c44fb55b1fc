from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from triptych.ir.errors import CodegenError, WorkerDiedError
from triptych.ir.llvm import worker_process
from triptych.ir.llvm.worker import Request, WorkerPool

DOUBLE = "define i32 @f(i32 %a) { %b = add i32 %a, %a ret i32 %b }"
SLOW = "\n".join(
    ["define i64 @f(ptr %p) {", *(f"%a{i} = load volatile i64, ptr %p" for i in range(30_000)), "ret i64 %a1 }"]
)
ABORTS = """
declare float @llvm.nvvm.ex2.approx.f(float)
define float @f(float %a) { %b = call float @llvm.nvvm.ex2.approx.f(float %a) ret float %b }
"""
EXITS = 'define void @f() { call void asm sideeffect "no such instruction", ""() ret void }'


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(1)
    yield made
    made.close()


def test_one_optimisation_gives_object_and_assembly(pool: WorkerPool) -> None:
    artifact = pool.compile(Request(), DOUBLE)
    assert artifact.object[:4] in (b"\x7fELF", b"\xcf\xfa\xed\xfe")
    assert "f:" in artifact.assembly
    only = pool.compile(Request(emit=("assembly",)), DOUBLE)
    assert (only.object, only.assembly) == (b"", artifact.assembly)


def test_the_optimisation_level_matters(pool: WorkerPool) -> None:
    source = "define i32 @f(i32 %a) { %p = alloca i32 store i32 %a, ptr %p %b = load i32, ptr %p ret i32 %b }"
    lengths = [len(pool.compile(Request(opt_level=level), source).assembly) for level in (0, 3)]
    assert lengths[0] > lengths[1]


def test_another_machine_can_be_asked_for(pool: WorkerPool) -> None:
    request = Request("nvptx64-nvidia-cuda", "sm_90", "+ptx86", emit=("assembly",))
    assert ".target sm_90" in pool.compile(request, DOUBLE).assembly


def test_what_one_module_holds_says_nothing_of_the_next(pool: WorkerPool) -> None:
    """LLVM remembers by address what a module lists as used, and marks what another one has there."""
    numbers = range(200)
    module = "\n".join(f"@g{number} = global i32 {number}" for number in numbers) + "\n" + DOUBLE
    listed = ", ".join(f"ptr @g{number}" for number in numbers)
    used = f'{module}\n@llvm.used = appending global [200 x ptr] [{listed}], section "llvm.metadata"'
    first = pool.compile(Request(), module)
    for _ in range(3):
        pool.compile(Request(), used)
        assert pool.compile(Request(), module) == first


@pytest.mark.parametrize("text", ["garbage", "define i32 @f() { ret i64 0 }"])
def test_an_ordinary_error_keeps_the_worker(pool: WorkerPool, text: str) -> None:
    pool.compile(Request(), DOUBLE)
    before = pool.pids()
    with pytest.raises(CodegenError, match="error:"):
        pool.compile(Request(), text)
    pool.compile(Request(), DOUBLE)
    assert pool.pids() == before


def test_integers_that_a_back_end_gets_wrong_are_an_error(pool: WorkerPool) -> None:
    """LLVM's for SPIR-V keeps eight bits of these two."""
    text = """define spir_kernel void @f(ptr addrspace(1) %p, i64 %i2) {
      %a = trunc i64 %i2 to WIDTH %b = zext WIDTH %a to i64 store i64 %b, ptr addrspace(1) %p ret void }"""
    request = Request("spirv64-unknown-unknown", emit=("object",), strength_reduction=False, opt_level=0)
    with pytest.raises(CodegenError, match="integers of type i2, which"):
        pool.compile(request, text.replace("WIDTH", "i2"))
    assert pool.compile(request, text.replace("WIDTH", "i8")).object


@pytest.mark.parametrize(("text", "words"), [(ABORTS, "Cannot select"), (EXITS, "inline asm")])
def test_a_crash_becomes_an_exception_and_the_next_compile_works(pool: WorkerPool, text: str, words: str) -> None:
    for _ in range(2):
        with pytest.raises(WorkerDiedError) as caught:
            pool.compile(Request(), text)
        assert words in caught.value.found
        assert pool.compile(Request(), DOUBLE).object


def test_a_worker_killed_from_outside_is_replaced(pool: WorkerPool) -> None:
    pool.compile(Request(), DOUBLE)
    (pid,) = pool.pids()
    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its last thread has ended; the pool finds it so
    assert pool.compile(Request(), DOUBLE).object
    assert pool.pids() != [pid]


def test_a_compile_that_takes_too_long_is_stopped() -> None:
    pool = WorkerPool(1, timeout=0.5)
    try:
        with pytest.raises(WorkerDiedError, match="longer than its time limit"):
            pool.compile(Request(), SLOW)
    finally:
        pool.close()


def test_a_worker_is_recycled_before_it_has_leaked_too_much() -> None:
    pool = WorkerPool(1, compiles_per_worker=2)
    try:
        pids = set()
        for _ in range(4):
            pool.compile(Request(), DOUBLE)
            pids.update(pool.pids())
        assert len(pids) >= 2
    finally:
        pool.close()


def test_four_threads_compile_at_once() -> None:
    pool = WorkerPool(2)
    found: list[tuple[int, str]] = []

    def work(number: int) -> None:
        for _ in range(5):
            text = f"define i32 @f{number}() {{ ret i32 {number} }}"
            found.append((number, pool.compile(Request(), text).assembly))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(found) == 20
        assert all(f"f{number}:" in assembly for number, assembly in found)
        assert len(pool.pids()) == 2
    finally:
        pool.close()


def test_one_request_after_the_other_needs_one_worker() -> None:
    pool = WorkerPool(2)
    try:
        for _ in range(20):
            pool.compile(Request(opt_level=0), DOUBLE)
        assert len(pool.pids()) == 1
    finally:
        pool.close()


def test_an_interrupt_at_the_terminal_does_not_end_a_worker(pool: WorkerPool) -> None:
    pool.compile(Request(), DOUBLE)
    before = pool.pids()
    os.kill(before[0], signal.SIGINT)
    assert pool.compile(Request(), DOUBLE).object
    assert pool.pids() == before


def test_a_compilation_that_is_left_ends_its_worker(pool: WorkerPool) -> None:
    pool.compile(Request(), DOUBLE)
    before = pool.pids()
    with pytest.raises(TimeoutError):
        pool.submit(Request(), SLOW).result(0.2)
    started = time.monotonic()
    assert pool.compile(Request(), DOUBLE).object
    assert time.monotonic() - started < 10
    assert pool.pids() != before


def test_one_that_still_waits_for_a_worker_is_forgotten(pool: WorkerPool) -> None:
    first, second, third = (pool.submit(Request(), text) for text in (SLOW, SLOW, DOUBLE))
    for left in (second, first):
        with pytest.raises(TimeoutError):
            left.result(0.1)
    assert third.result(60).object


def test_more_work_than_workers_waits_its_turn(pool: WorkerPool) -> None:
    pending = [pool.submit(Request(), DOUBLE) for _ in range(5)]
    assert all(future.result(30).object for future in reversed(pending))


def test_a_closed_pool_says_so(pool: WorkerPool) -> None:
    pool.start()
    pool.close()
    with pytest.raises(WorkerDiedError, match="closed"):
        pool.compile(Request(), DOUBLE)


FORK = f"""
import os
from triptych.ir.llvm.worker import Request, WorkerPool
pool = WorkerPool(1)
text = {DOUBLE!r}
pool.compile(Request(), text)
mine = pool.pids()
child = os.fork()
if child == 0:
    right = pool.compile(Request(), text).object and pool.pids() != mine
    pool.close()
    os._exit(0 if right else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert pool.compile(Request(), text).object and pool.pids() == mine
print(mine[0])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_starts_its_own_workers_and_leaves_the_parents_alone() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORK], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


ORPHAN = f"""
import os
from triptych.ir.llvm.worker import Request, WorkerPool
pool = WorkerPool(2)
pool.start(2)
pool.compile(Request(), {DOUBLE!r})
print(*pool.pids(), flush=True)
ENDING
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
@pytest.mark.parametrize("ending", ["", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_workers_end_with_their_parent_however_it_ends(ending: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", ORPHAN.replace("ENDING", ending)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    workers = [Path(f"/proc/{pid}") for pid in result.stdout.split()]
    assert len(workers) == 2, result.stderr
    deadline = time.monotonic() + 60
    while any(_runs(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.02)


BUSY_ORPHAN = f"""
import os, time
from triptych.ir.llvm.worker import Request, WorkerPool
pool = WorkerPool(1)
pool.compile(Request(), {DOUBLE!r})
if os.fork() == 0:
    time.sleep(30)  # holds all that was open at the fork
    os._exit(0)
slow = "".join(f"%a{{i}} = load volatile i64, ptr %p\\n" for i in range(30_000))
pool.submit(Request(), "define i64 @f(ptr %p) {{\\n" + slow + "ret i64 %a1 }}")
print(*pool.pids(), flush=True)
time.sleep(0.5)
os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_a_worker_that_works_ends_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY_ORPHAN], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = Path(f"/proc/{parent.stdout.readline().strip()}")
        deadline = time.monotonic() + 25
        while _runs(worker):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert parent.wait() == -9
        parent.stdout.close()


def _runs(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_options_of_one_machine_do_not_stay_for_another() -> None:
    class Recorder:
        def __init__(self) -> None:
            self.options: list[str] = []

        def set_option(self, _: str, option: str) -> None:
            self.options.append(option)

        def __getattr__(self, name: str) -> MagicMock:
            return MagicMock()

    llvm = Recorder()
    compiler = worker_process.Compiler(llvm)
    llvm.options.clear()  # what holds for all of them
    for request in (Request(), Request("nvptx64-nvidia-cuda")):
        compiler._set_options(asdict(request), blocks=2_000)
    host, other = llvm.options[: len(llvm.options) // 2], llvm.options[len(llvm.options) // 2 :]
    assert [option.partition("=")[0] for option in host] == [option.partition("=")[0] for option in other]
    assert "-dag-maps-huge-region=200" in host
    assert "-dag-maps-huge-region=1000" in other
    assert "-disable-machine-licm=true" in host
    assert "-disable-machine-licm=false" in other
