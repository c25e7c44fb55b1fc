"""Which parts of a plan `triptych import` finds in ten public examples, as a table.

    python -m benchmarks.imported_examples FOLDER [--resources]

FOLDER is `examples/python/CuTeDSL` of a checkout of CUTLASS. The examples are read there and stay there. With
`--resources` each is started with calls that do nothing, so that its kernels are compiled: minutes, and needs torch.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from triptych.workbench.folders.importing import plan_text, resources_of
from triptych.workbench.folders.reading import CHECKLIST, read_example

EXAMPLES = {
    "T0": (
        "cute/ampere/kernel/elementwise/elementwise_add.py",
        "cute/ampere/kernel/elementwise/elementwise_apply.py",
        "dsl_tutorials/smem_allocator.py",
        "dsl_tutorials/dynamic_smem_size.py",
    ),
    "T1": (
        "cute/ampere/kernel/dense_gemm/sgemm.py",
        "cute/ampere/kernel/dense_gemm/tensorop_gemm.py",
        "cute/ampere/kernel/attention/flash_attention_v2.py",
    ),
    "T2": (
        "cute/hopper/kernel/cta_norm/cta_norm.py",
        "cute/hopper/kernel/dense_gemm/dense_gemm.py",
        "cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py",
    ),
}
SMALL = {
    "flash_attention_v2": "--batch_size 1 --num_head 1 --seqlen_q 256 --seqlen_k 256 --skip_ref_check",
    "dense_gemm": "--mnkl 256,256,128,1 --skip_ref_check",
    "dense_gemm_persistent": "--mnkl 256,256,128,1 --skip_ref_check",
}
"""Arguments: the problems that these start with by themselves take a CPU minutes."""
TOPICS = [topic for topics in CHECKLIST.values() for topic in topics]


def main() -> int:
    """Print the table; fails if an example cannot be read, or its plan is no Python."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resources", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=300.0)
    chosen = parser.parse_args()
    heads = ["example", "plan: found", "not found", "sheet: found by line", "not used or not found", "resources"]
    print("| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), sep="\n")
    for tier, names in EXAMPLES.items():
        for name in names:
            file = chosen.folder / name
            if chosen.only not in ("", file.stem):
                continue
            found = read_example(file)
            compile(plan_text(found, file.stem, file.as_posix()), file.stem, "exec")
            parts, began, taken = found.parts(), time.monotonic(), "not asked"
            if chosen.resources:
                arguments = SMALL.get(file.stem, "").split()
                got = resources_of(file, f"nvptx:{found.needs()}", chosen.seconds, lambda: None, arguments)
                taken = got.why_not or "; ".join(
                    f"{row['kernel']}: {row['registers']} registers, {row['shared']} bytes" for row in got.rows
                )
                taken = f"{taken} ({got.target}, {time.monotonic() - began:.0f} s)"
            cells = [
                f"{tier} {file.stem}",
                ", ".join(part for part, there in parts.items() if there),
                ", ".join(part for part, there in parts.items() if not there) or "-",
                ", ".join(topic for topic in TOPICS if topic in found.lines),
                ", ".join(topic for topic in TOPICS if topic not in found.lines) or "-",
                taken,
            ]
            print("| " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
