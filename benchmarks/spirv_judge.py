"""Kernels on an OpenCL runtime beside NumPy, float64 and the CPU target: the whole of what tests run a slice of.

    python -m benchmarks.spirv_judge                     the suite of kernels, every plain example, generated kernels
    python -m benchmarks.spirv_judge --generated 1000    so many generated kernels
    python -m benchmarks.spirv_judge --only examples     one of suite, examples, found, generated
    python -m benchmarks.spirv_judge --json

Each item runs in a process of its own with a time limit, because the runtime's compiler may end the process that it is
in. Where `spirv-val` is installed (Debian: spirv-tools), it reads every module. Install the runtime with
`pip install 'triptych[spirv]'`; run from the root of the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator

from tests.differential.choices import RandomChoices
from tests.differential.kernel_suite.catalogue import CASES
from tests.differential.kernels.generator import generate
from tests.differential.kernels.oracle import Failed, differs, run_compiled
from tests.differential.test_found_programs import PROGRAMS, check_as_a_kernel
from tests.unit.targets.nvptx.programs import FOLDER, example
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.record import Entry
from triptych.support.config import override
from triptych.workbench.arrays import clone, mapped
from triptych.workbench.contracts.loading import contract_of
from triptych.workbench.verification.verifying import check_again

FIRST_SEED = 7_000_000
BATCH = 20
SECONDS = 600
"""For one item: the runtime's compiler takes minutes for kernels of thousands of operations."""
PLAIN = (
    *("block_reduction", "elementwise_apply", "epilogues", "gemm", "histogram", "layer_norm", "relu", "rms_norm"),
    *("sgemm", "softmax", "transpose", "vector_add", "warp_reduction"),
)
MATRICES = ("tensor_core_gemm", "flash_attention")


# what a child does ----------------------------------------------------------------------------------------------------
def run_case(name: str) -> None:
    CASES[name]()


def run_example(name: str) -> None:
    """Its small cases, by its own reference and bound."""
    contract = contract_of(FOLDER / f"{name}.py", example(name))
    for case in contract.cases.values():
        if not case.get("bench"):
            inputs = contract.inputs(0, case)
            outputs = contract.run(contract.kernel, mapped(inputs, clone))
            problems = check_again(contract, inputs, outputs, None)
            assert problems == [], (case, problems)


def run_found(name: str) -> None:
    check_as_a_kernel(PROGRAMS[name])


def run_generated(first: str) -> None:
    """A batch of seeds; what OpenCL refuses with its reason is no difference."""
    for seed in range(int(first), int(first) + BATCH):
        program = generate(RandomChoices(seed))
        found = run_compiled(program, opt_level=3)
        refused = [each for each in found if isinstance(each, Failed) and each.kind == "ArchitectureError"]
        difference = None if refused else differs(program, "spirv", found)
        verdict = "refused" if refused else "same" if difference is None else "DIFFERENT"
        print(f"{seed} {verdict}", flush=True)
        if difference is not None:
            print(difference, file=sys.stderr)


RUN: dict[str, Callable[[str], None]] = {
    "suite": run_case,
    "examples": run_example,
    "found": run_found,
    "generated": run_generated,
}


# what the parent does -------------------------------------------------------------------------------------------------
def items(part: str, generated: int) -> list[str]:
    if part == "suite":
        return list(CASES)
    if part == "examples":
        return [*PLAIN, *MATRICES]
    if part == "found":
        return list(PROGRAMS)
    return [str(FIRST_SEED + start) for start in range(0, generated, BATCH)]


def verdicts(part: str, item: str, store: str) -> Iterator[tuple[str, str, str]]:
    """Name, verdict and last words of an item, or of each seed of a batch. Its modules stay in that store."""
    command = [sys.executable, "-m", "benchmarks.spirv_judge", "--child", part, item]
    environment = {**os.environ, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": store}
    try:
        child = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS, env=environment)
    except subprocess.TimeoutExpired:
        yield item, "too slow", f"more than {SECONDS} s"
        return
    words = next((line.strip() for line in child.stderr.splitlines() if "TT05" in line or "= found" in line), "")
    if part == "generated":
        for line in child.stdout.splitlines():
            seed, verdict = line.split()
            yield seed, verdict, child.stderr if verdict == "DIFFERENT" else ""
        if child.returncode:
            yield f"after {child.stdout.split()[-2:] or item}", f"ended ({child.returncode})", child.stderr[-500:]
        return
    ended = "same" if child.returncode == 0 else "refused" if "ArchitectureError" in child.stderr else "DIFFERENT"
    yield item, f"ended ({child.returncode})" if child.returncode < 0 else ended, words


def stored(store: str) -> Iterator[Entry]:
    """What a run has left in its store."""
    with override(cache=True, cache_dir=store):
        kept = default_store()
        assert kept is not None, "the setting `cache` is on"
        yield from filter(None, (kept.find(listed.key) for listed in kept.entries()))


def validated(store: str) -> Iterator[tuple[str, str, str]]:
    """Each module of a store, and what the validator of SPIR-V says."""
    for entry in stored(store):
        if "spirv" in entry.artifacts:
            command = ["spirv-val", "--target-env", "spv1.4", "-"]
            checked = subprocess.run(command, input=entry.artifacts["spirv"], capture_output=True, check=False)
            words = (checked.stderr or checked.stdout).decode().strip()
            yield str(entry.facts["function"]), "INVALID" if checked.returncode else "valid", words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(RUN))
    parser.add_argument("--generated", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--target", default="spirv", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        warnings.simplefilter("ignore")
        with override(target=options.target):
            RUN[options.child[0]](options.child[1])
        return 0
    counts: dict[str, dict[str, int]] = {}
    has_validator = shutil.which("spirv-val") is not None
    for part in [options.only] if options.only else list(RUN):
        counted = counts.setdefault(part, {})
        for item in items(part, options.generated):
            started = time.monotonic()
            with tempfile.TemporaryDirectory() as store:
                found = list(verdicts(part, item, store)) + (list(validated(store)) if has_validator else [])
            for name, verdict, words in found:
                counted[verdict] = counted.get(verdict, 0) + 1
                is_silent = verdict == "valid" or (part == "generated" and verdict in ("same", "refused"))
                if not options.json and not is_silent:
                    print(f"{verdict:10} {time.monotonic() - started:6.1f} s  {part} {name}  {words}", flush=True)
        if not options.json:
            print(part, counted, flush=True)
    if options.json:
        print(json.dumps(counts))
    return 0 if all(set(each) <= {"same", "refused", "valid"} for each in counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
