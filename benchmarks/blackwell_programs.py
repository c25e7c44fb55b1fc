"""Public CuTe DSL programs for Blackwell, unchanged: which pass their own check on the CPU, which become cubins.

    python -m benchmarks.blackwell_programs FOLDER [--only sm103] [--patience 600]
    python -m benchmarks.blackwell_programs FOLDER --how orders
    python -m benchmarks.blackwell_programs FOLDER --how simulator --only tutorial
    python -m benchmarks.blackwell_programs FOLDER --how check

FOLDER is `examples/python/CuTeDSL` of a checkout of CUTLASS. Each program runs on an empty store, in processes of its
own: on the CPU, and for its architecture with `--compile-only`, which ends with a cubin by NVIDIA's assembler, or at an
`assert` that misses results. Other ways, of programs for one GPU that use `cute` alone: the first call of each of its
compiled functions in all orders of asynchronous work, or on the PTX simulator, which must leave the same bytes as on
the CPU (`benchmarks.replayed_calls`); and the program under `triptych check`, which must find nothing. There the GPU
has two multiprocessors, so that the blocks of persistent kernels have several tiles.

Output: a row of a Markdown table for each as soon as it has ended, with the CPU seconds of the whole process, which
also imports torch and computes the reference, and those that compiling took by the clock. Needs torch.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_ONCE = "--warmup_iterations 0 --iterations 1"
_DENSE = f"--mnkl 256,256,512,1 --ab_dtype Float16 --c_dtype Float16 --acc_dtype Float32 {_ONCE}"
_SCALED = f"--mnkl 256,256,512,1 --sf_dtype Float8E4M3FN --sf_vec_size 16 --c_dtype Float16 {_ONCE}"
_FOUR_BITS = f"--ab_dtype Float4E2M1FN {_SCALED}"
_PAIRED = "--mma_tiler_mn 256,128 --cluster_shape_mn 2,1"
_LONG = f"--ab_dtype Float4E2M1FN --sf_dtype Float8E4M3FN --sf_vec_size 16 --c_dtype Float16 {_ONCE}"
_GROUPS = "--num_groups 2 --problem_sizes_mnkl (128,128,768,1),(256,128,768,1)"
_BLOCKWISE = f"--mnkl 256,256,512,2 {_ONCE}"
_GEFORCE = f"--mnkl 256,256,512,1 {_ONCE}"
_MOE = "--tokens 64 --experts 2 --hidden 128 --intermediate 128"
_FMHA = f"--q_shape 1,128,1,128 --k_shape 1,128,1,128 {_ONCE}"
_MIXED = f"--mnkl 256,256,512,1 --use_tma_store {_ONCE}"
_MIXED_GROUPS = f"--mnkl 256,128,512,3 --mma_tiler_mnk 128,64,128 {_ONCE}"
_KERNEL, _TUTORIAL = "cute/blackwell/kernel", "cute/blackwell/tutorial/tutorial_gemm"
_SM120 = "cute/blackwell_geforce/kernel"
PROGRAMS: dict[str, str] = {
    **{f"{_TUTORIAL}/fp16_gemm_{n}.py": "--mnk 512,512,256" for n in ("0", "1", "2", "3", "3_1", "4", "5", "6")},
    "dsl_tutorials/fp16_gemm_4_iket.py": "--mnk 512,512,256",
    "cute/notebooks/tour_to_sol_gemm.ipynb": "",
    **{f"{_TUTORIAL}/nvfp4_gemm_{n}.py": "--mnkl 256,256,512,1" for n in "01"},
    **{
        f"{_KERNEL}/dense_gemm/dense_gemm{name}.py": _DENSE
        for name in ("", "_software_pipeline", "_persistent", "_persistent_prefetch", "_persistent_dynamic")
    },
    f"{_KERNEL}/dense_gemm/dense_gemm_alpha_beta_persistent.py": f"--mnkl 256,256,512,1 {_ONCE}",
    **{f"cute/blackwell/efc/{name}custom_epilogue_dense_gemm.py": "" for name in ("", "synthetic_", "activation_")},
    f"{_SM120}/dense_gemm/dense_gemm.py": _GEFORCE,
    f"{_SM120}/blockscaled_gemm/dense_blockscaled_gemm_persistent_cooperative.py": _GEFORCE,
    f"{_SM120}/blockscaled_gemm/dense_blockscaled_gemm_persistent_pingpong.py": _GEFORCE,
    f"{_SM120}/blockscaled_gemm/blockscaled_gemm_dispatch.py": "",
    f"{_KERNEL}/blockscaled_gemm/dense_blockscaled_gemm_persistent.py": f"--a_dtype Float4E2M1FN "
    f"--b_dtype Float4E2M1FN {_SCALED} {_PAIRED}",
    f"{_KERNEL}/blockscaled_gemm/dense_blockscaled_gemm_persistent_prefetch.py": f"{_FOUR_BITS} {_PAIRED}",
    f"{_KERNEL}/blockscaled_gemm/dense_blockscaled_gemm_persistent_amax.py": f"{_FOUR_BITS} {_PAIRED}",
    f"{_KERNEL}/blockscaled_gemm/sm103_dense_blockscaled_gemm_persistent.py": f"--mnkl 256,256,768,1 {_LONG} {_PAIRED}",
    f"{_KERNEL}/blockscaled_grouped_gemm/grouped_blockscaled_gemm.py": f"{_GROUPS} {_LONG} "
    "--mma_tiler_mn 128,128 --cluster_shape_mn 1,1",
    f"{_KERNEL}/blockscaled_grouped_gemm/sm103_grouped_blockscaled_gemm.py": f"{_GROUPS} {_LONG} "
    "--mma_tiler_mn 128,128 --cluster_shape_mn 1,1",
    f"{_KERNEL}/grouped_gemm/grouped_gemm.py": f"{_GROUPS} --ab_dtype Float16 --c_dtype Float16 {_ONCE} "
    "--mma_tiler_mn 128,128 --cluster_shape_mn 1,1",
    **{
        f"{_KERNEL}/blockwise_gemm/{name}_gemm.py": _BLOCKWISE
        for name in ("blockwise", "contiguous_grouped", "masked_grouped")
    },
    **{f"{_KERNEL}/moe/torch_{name}_mm.py": _MOE for name in ("grouped", "scaled_grouped")},
    f"{_KERNEL}/attention/fmha/fmha.py": _FMHA,
    f"{_KERNEL}/attention/fmha/fmha_bwd.py": f"--s_q 128 --s_k 128 --d 128 --h_q 1 --h_k 1 --b 1 {_ONCE}",
    **{
        f"{_KERNEL}/attention/mla/mla_decode_{name}.py": f"--batch_size 1 --seq_len_k 128 --page_size 128 {_ONCE}"
        for name in ("fp16", "fp8")
    },
    f"{_KERNEL}/attention/mamba2_ssd/mamba2_ssd.py": f"--gbehcdln 1,1,1,2,2,64,128,128 {_ONCE}",
    f"{_KERNEL}/attention/mixed_input_fmha/mixed_input_fmha_decode.py": "--batches 1 --seqlen 256 "
    "--warmup_iterations 0 --iterations 0",
    **{
        f"{_KERNEL}/attention/mixed_input_fmha/mixed_input_fmha_prefill_d{d}.py": f"--q_shape 1,1,128,{d} "
        f"--k_shape 1,1,{keys},{d} {_ONCE}"
        for d, keys in ((256, 128), (512, 256))  # whose kernel waits for ever where there is one step of 128 keys
    },
    f"{_KERNEL}/mixed_input_gemm/mixed_input_gemm.py": _MIXED,
    **{f"{_KERNEL}/mixed_input_gemm/grouped_mixed_input_gemm{name}.py": _MIXED_GROUPS for name in ("", "_acc_scale")},
    **{
        f"{_KERNEL}/distributed/distributed_{name}_blackwell.py": "--mnkl 256,256,512,1"
        for name in (
            *("all_gather_gemm", "gemm_all_reduce", "gemm_all_reduce_lamport", "gemm_all_reduce_ldxstmc"),
            *("gemm_blockscaled_all_reduce_ldmcxstmc", "gemm_reduce_scatter"),
        )
    },
    **{
        f"cute_ext/blackwell/dense_{name}.py": ""
        for name in ("gemm", "gemm_2sm", "gemm_cute_pipeline", "gemm_ptr_array", "block_scaled_gemm")
    },
}
_OTHERS = ("cute_ext/", "/distributed/", "notebooks/")
_SMALL_GPU = {"TRIPTYCH_GPU": "b200:2"}
_COMPILED = re.compile(r"compiled \d+ functions? in ([\d.]+) s")
_ERROR = re.compile(r"^.*(?:\[TT\d{4}\]|Error\b).*$", re.MULTILINE)
_UNTIL = re.compile(
    r"^then the program ended with AssertionError at (\S+): what follows was not compiled$", re.MULTILINE
)
_FINDINGS = re.compile(r"^\d+ findings?\b.*$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One process: why it failed, if it did, its CPU seconds, those of compiling by the clock, and its output."""

    error: str
    seconds: float
    compiling: float
    text: str = ""
    until: str = ""
    """Of programs whose kernels are compiled and do nothing: the `assert` that misses their results."""

    def cell(self) -> str:
        """Its part of a row."""
        until = f", up to its check at {self.until}" if self.until else ""
        return self.error or f"yes, {self.seconds:.0f} ({self.compiling:.1f}){until}"


@dataclass(frozen=True)
class Program:
    """A program with its arguments, and how long each of its processes may take."""

    name: str
    path: Path
    arguments: Sequence[str]
    patience: float

    @property
    def architecture(self) -> str:
        """The GPU that it is for."""
        return "sm_120a" if self.name.startswith(_SM120) else "sm_103a" if "sm103" in self.name else "sm_100a"

    def run(self, *command: str, between: Sequence[str] = (), settings: Mapping[str, str] = _SMALL_GPU) -> Run:
        """Run it, in its folder, as a user would."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with tempfile.TemporaryDirectory() as store:
            added = {"TRIPTYCH_CACHE_DIR": store, "PYTHONPATH": os.pathsep.join(sys.path), **settings}
            try:
                made = subprocess.run(
                    [sys.executable, "-m", *command, self.path.name, *between, *self.arguments],
                    cwd=self.path.parent,
                    env=os.environ | added,
                    timeout=self.patience,
                    check=False,
                    capture_output=True,
                    text=True,
                )
            except subprocess.TimeoutExpired:
                return Run(f"not finished after {self.patience:.0f} s", self.patience, 0.0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        text = made.stdout + made.stderr
        compiling = sum(float(found) for found in _COMPILED.findall(text))
        until = _UNTIL.search(text)
        if made.returncode and until is not None:
            return Run("", seconds, compiling, text, until[1])
        errors = _ERROR.findall(text) if made.returncode else []
        failed = (errors[-1] if errors else f"status {made.returncode}") if made.returncode else ""
        return Run(failed.strip().replace("|", "/")[:160], seconds, compiling, text)


def usual(program: Program) -> list[str]:
    """On the CPU, and as a cubin."""
    gpu = program.architecture
    cubin = program.run("triptych", "run", "--target", f"nvptx:{gpu}", "--compile-only", settings={})
    return [program.run("triptych", "run", settings={}).cell(), gpu, cubin.cell()]


def replayed(how: str, program: Program) -> list[str]:
    """First calls in other ways: whether the bytes are the same, and the seconds of the slowest way."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "calls")
        made = program.run("benchmarks.replayed_calls", how, str(file))
        calls = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    written, slowest = (sum(call["written"] for call in calls), sum(max(call["seconds"].values()) for call in calls))
    others = [f"{call['function']} {way}: {what}" for call in calls for way, what in call["others"].items()]
    ways = max((len(call["seconds"]) for call in calls), default=0)
    same = "; ".join(others[:3]) + ("; ..." if others[3:] else "") or ("yes" if written else "nothing was written")
    return [made.error or "passed", f"{made.seconds:.0f}", f"{len(calls)} x {ways}", f"{slowest:.1f}", same]


def checked(program: Program) -> list[str]:
    """Under the checkers, and without."""
    plain, made = program.run("triptych", "run"), program.run("triptych", "check", between=["--"])
    said = _FINDINGS.findall(made.text)
    found = said[-1] if said else made.error
    return [plain.error or "passed", found, f"{made.seconds:.0f}", f"{made.seconds / plain.seconds:.1f}"]


_REPLAYED = ("result", "CPU seconds", "calls x ways", "seconds of the slowest ways", "same bytes")
HOWS: dict[str, tuple[Sequence[str], Callable[[Program], list[str]]]] = {
    "usual": (("CPU: CPU seconds (compiling)", "architecture", "cubin: CPU seconds (compiling)"), usual),
    "orders": (_REPLAYED, lambda program: replayed("orders", program)),
    "simulator": (_REPLAYED, lambda program: replayed(program.architecture, program)),
    "check": (("result", "findings", "CPU seconds", "times of a plain run"), checked),
}


def main() -> None:
    """A row for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--how", choices=HOWS, default="usual")
    parser.add_argument("--only", default="", help="programs whose path has this in it")
    parser.add_argument("--patience", type=float, default=600, help="seconds for each process")
    given = parser.parse_args()
    heads, row = HOWS[given.how]
    print("| program | arguments |", " | ".join(heads), "|")
    print("|---" * (2 + len(heads)) + "|", flush=True)
    for name, text in PROGRAMS.items():
        if given.only not in name or (given.how != "usual" and any(part in name for part in _OTHERS)):
            continue
        cells = row(Program(name, given.folder.resolve() / name, text.split(), given.patience))
        print(f"| `{name}` | `{text}` |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
