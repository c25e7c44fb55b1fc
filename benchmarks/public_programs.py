"""Public CuTe DSL programs on the CPU, unchanged, tier by tier: which run, in how many CPU seconds, and what a second
process finds in the store.

    python -m benchmarks.public_programs FOLDER [--only hopper] [--twice] [--json]

FOLDER is `examples/python/CuTeDSL` of a checkout of CUTLASS; its programs are read there and stay there. Sizes are
small; needs torch. With `--twice` each runs in two processes, on a store that is empty at first: hits and misses are
the second's, followed by the programs that the store does not keep and why.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

PATIENCE = 600
_ONCE = "--warmup_iterations 0 --iterations 1"
_GEMM = f"--mnkl 256,256,128,1 {_ONCE}"
_NORM = f"--M 64 --N 1024 {_ONCE}"
_TMA = "--M 256 --N 256 --num_warmup 0 --num_iters 1"
PROGRAMS = {
    "T0": {
        "dsl_tutorials/torch_fake_tensor.py": "",
        "dsl_tutorials/tvm_ffi/compile_with_fake_tensor.py": "",
        "dsl_tutorials/print_latex.py": "",
        "cute/notebooks/data_types.ipynb": "",
        "cute/notebooks/tensor.ipynb": "",
        "cute/notebooks/tensorssa.ipynb": "",
        "cute/notebooks/composed_layout.ipynb": "",
        "cute/notebooks/cute_layout_algebra.ipynb": "",
    },
    "T1": {
        "dsl_tutorials/dataclass_immutable.py": "",
        "dsl_tutorials/dynamic_smem_size.py": "",
        "dsl_tutorials/smem_allocator.py": "",
        "dsl_tutorials/inline_ptx.py": "",
        "dsl_tutorials/cooperative_launch.py": "",
        "dsl_tutorials/tvm_ffi/error_reporting.py": "",
        "dsl_tutorials/tvm_ffi/jit_and_use_in_torch.py": "",
        "cute/notebooks/hello_world.ipynb": "",
        "cute/notebooks/print.ipynb": "",
        "cute/notebooks/elementwise_add.ipynb": "",
        "cute/ampere/kernel/elementwise/elementwise_add.py": f"--M 64 --N 256 {_ONCE}",
        "cute/ampere/kernel/elementwise/elementwise_apply.py": f"--M 64 --N 256 {_ONCE}",
        "cute/ampere/tutorial/elementwise_add_autotune.py": f"--M 64 --N 256 {_ONCE}",
        "cute/hopper/kernel/cta_norm/cta_norm.py": _NORM,
        "cute_ext/ampere/memcpy_simt_universal_copy.py": "",
        "cute/tvm_ffi/fp4_x2_tensor.py": "",
    },
    "T2": {
        "cute/ampere/kernel/dense_gemm/sgemm.py": f"--mnk 256,256,64 {_ONCE}",
        "cute/ampere/kernel/dense_gemm/tensorop_gemm.py": f"--mnkl 256,256,64,1 {_ONCE}",
        "cute/ampere/kernel/attention/flash_attention_v2.py": f"--dtype BFloat16 --batch_size 1 --seqlen_q 128 "
        f"--seqlen_k 128 --num_head 1 --head_dim 128 --is_causal {_ONCE}",
        "cute/ampere/kernel/attention/hstu_attention.py": "--batch_size 1 --seqlen_q 128 --seqlen_kv 128 --num_head 1",
        "dsl_tutorials/tvm_ffi/ampere_gemm_with_fake_tensor.py": "",
        "dsl_tutorials/call_from_jit.py": "",
        "dsl_tutorials/call_bypass_dlpack.py": "",
    },
    "T3a": {
        "dsl_tutorials/launch_completion_and_programmatic_events.py": "",
        "dsl_tutorials/programmatic_dependent_launch.py": f"--M 64 --N 256 {_ONCE}",
        "cute/notebooks/async_pipeline.ipynb": "",
        "cute/blackwell/kernel/rmsnorm/rmsnorm.py": _NORM,
        "cute/blackwell/tutorial/tutorial_tma/tma_v0.py": _TMA,
        "cute/blackwell/tutorial/tutorial_tma/tma_v1.py": _TMA,
        "cute/blackwell/tutorial/tutorial_tma/tma_v2.py": _TMA,
    },
    "T3b": {
        "cute/hopper/kernel/dense_gemm/dense_gemm.py": _GEMM,
        "cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py": _GEMM,
        "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc.py": _GEMM,
        "cute/hopper/kernel/dense_gemm/dense_gemm_fp8_gelu_persistent.py": _GEMM,
        "cute/hopper/kernel/grouped_gemm/grouped_gemm.py": f"--num_groups 2 --problem_sizes_mnkl "
        f"(128,128,128,1),(128,256,64,1) {_ONCE}",
        "cute/hopper/kernel/attention/fmha.py": f"--q_shape 1,128,1,64 --k_shape 1,128,1,64 {_ONCE}",
    },
}
_ERROR = re.compile(r"^.*(?:error(?:\[TT\d{4}\])?:|Error\b).*$", re.MULTILINE)
_EVENT = re.compile(r"^triptych.cache: (hit|miss|unkept) [^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One process: how it ended, what it took, and what it asked of the store."""

    status: int
    error: str
    seconds: float
    hits: int
    misses: int
    unkept: tuple[str, ...]


def run(program: Path, arguments: list[str], store: str) -> Run:
    """Run a program, in its folder, as a user would."""
    environment = os.environ | {"TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": store, "TRIPTYCH_LOG": "info"}
    command = [sys.executable, "-m", "triptych", "run", program.name, *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        made = subprocess.run(
            command,
            cwd=program.parent,
            env=environment,
            timeout=PATIENCE,
            check=False,
            capture_output=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return Run(-1, f"not finished after {PATIENCE} s", PATIENCE, 0, 0, ())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    events = [(found[1], found[0]) for found in _EVENT.finditer(made.stderr)]
    counts = Counter(kind for kind, _ in events)
    unkept = tuple(line for kind, line in events if kind == "unkept")
    errors = _ERROR.findall(made.stderr) if made.returncode else []
    return Run(made.returncode, errors[-1] if errors else "", seconds, counts["hit"], counts["miss"], unkept)


def runs(folder: Path, only: str, times: int) -> Iterator[tuple[str, str, list[Run]]]:
    """Every program of the table whose name has a text, as often as wanted on a store of its own."""
    for tier, programs in PROGRAMS.items():
        for name, arguments in programs.items():
            if only in name:
                with tempfile.TemporaryDirectory() as store:
                    yield tier, name, [run(folder / name, arguments.split(), store) for _ in range(times)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="programs whose path has this text")
    parser.add_argument("--twice", action="store_true", help="a second process with what the first has stored")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    passed: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for tier, name, made in runs(given.folder.resolve(), given.only, 1 + given.twice):
        tried[tier] += 1
        passed[tier] += all(one.status == 0 for one in made)
        if given.json:
            print(json.dumps({"tier": tier, "program": name, "runs": [asdict(one) for one in made]}), flush=True)
        else:
            print(_line(tier, name, made), flush=True)
    print("; ".join(f"{tier} {passed[tier]} of {tried[tier]}" for tier in tried), file=sys.stderr)


def _line(tier: str, name: str, made: list[Run]) -> str:
    last = made[-1]
    times = " ".join(f"{one.seconds:7.2f} s" for one in made)
    found = f"  {last.hits} hits, {last.misses} misses" if len(made) > 1 else ""
    reasons = "".join(f"\n      {line}" for line in dict.fromkeys(last.unkept)) if len(made) > 1 else ""
    outcome = "passed" if last.status == 0 else f"failed: {last.error[:120]}"
    return f"{tier:3s} {name:64s} {times}{found}  {outcome}{reasons}"


if __name__ == "__main__":
    main()
