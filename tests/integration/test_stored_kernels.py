"""Kernels for a GPU that another process has compiled: same code, same report, same warnings, without any tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import triptych as tt
from tests.integration.subprograms import run
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.artifact_store.configured import default_store
from triptych.support.config import override

PROGRAM = """
import hashlib, json, sys, warnings
started = []
sys.addaudithook(lambda name, words: name == "subprocess.Popen" and started.append(str(words[1])))
import numpy as np
import triptych as tt
from triptych import cute
from triptych.artifact_store.events import add_hook
from triptych.cute.runtime import make_fake_tensor
from tests.support.ptx.unified import numpy_gpu

EVENTS = []
add_hook(lambda event: EVENTS.append(event.kind))

@tt.kernel
def four(a: cute.Tensor, b: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    source, target = (cute.zipped_divide(tensor, (4,))[None, thread] for tensor in (a, b))
    cute.autovec_copy(source, target)

@tt.kernel
def crowded(a: cute.Tensor, b: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    numbers = [a[thread + 1024 * k] for k in range(200)]
    cute.arch.sync_threads()
    for k in tt.range_constexpr(200):
        b[thread + 1024 * k] = numbers[199 - k] * numbers[k]

@tt.jit
def run(kernel: tt.Constexpr, a: cute.Tensor, b: cute.Tensor, block: tt.Constexpr):
    kernel(a, b).launch(grid=1, block=block)

def fake():
    return make_fake_tensor(tt.Float32, (cute.sym_int(divisibility=4),), (1,), assumed_align=4)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = [
        tt.compile(run, four, fake(), fake(), 128, target="nvptx:sm_80"),
        tt.compile(run, crowded, fake(), fake(), 1024, target="nvptx:sm_80"),
    ]
x, y = np.arange(512, dtype=np.float32), np.zeros(512, np.float32)
with numpy_gpu("sm_80"):
    run(four, x, y, 128)
print(json.dumps({
    "compilers": [name for name in ("torch_mlir", "llvmlite") if name in sys.modules],
    "started": started,
    "events": EVENTS,
    "warnings": [[w.filename, w.lineno, str(w.message)] for w in caught],
    "code": [hashlib.sha256(each.__ptx__.encode() + each.__cubin__).hexdigest() for each in made],
    "usage": [repr([each.resources, each.usage]) for each in made],
    "right": bool((x == y).all()),
}))
"""


@needs_assembler
def test_a_second_process_needs_no_compiler_and_no_assembler(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    results: list[dict[str, Any]] = []
    for _ in range(2):
        done = run(str(tmp_path / "program.py"), TRIPTYCH_CACHE="1", TRIPTYCH_CACHE_DIR=str(tmp_path / "store"))
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    first, second = results
    assert first["compilers"]
    assert second["compilers"] == second["started"] == []
    assert set(second["events"]) == {"hit"}
    assert first["right"]
    assert second["right"]
    for same in ("warnings", "code", "usage"):
        assert first[same] == second[same]
    spilled = next(text for _, _, text in first["warnings"] if text.startswith("crowded needs more than 64 registers"))
    narrow = next(text for _, _, text in first["warnings"] if text.startswith("4 loads of 32 bits instead of 128"))
    assert "bytes go to local memory" in spilled
    assert "multiple of 4 bytes" in narrow


@tt.kernel
def double(a: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    a[thread] = a[thread] * 2.0


@tt.jit
def host_writes(a: cute.Tensor) -> None:
    a[0] = 1.0
    double(a).launch(grid=1, block=1)


@needs_assembler
def test_a_program_whose_host_cannot_be_compiled_is_not_kept(tmp_path: Path) -> None:
    """Its code for the GPU can be looked at, with and without a store; a call says what is wrong."""
    with override(cache=True, cache_dir=str(tmp_path / "store")):
        assert "double" in tt.compile(host_writes, vector(), target="nvptx:sm_80").resources
        store = default_store()
        assert store is not None
        assert not [each for each in store.entries() if each.facts["function"] == "host_writes"]
