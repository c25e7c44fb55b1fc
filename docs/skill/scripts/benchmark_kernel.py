"""Measure a kernel file with kernel_fn, reference_fn and get_inputs, or compare two: `benchmark_kernel.py kernel.py`.

The same as `triptych bench`; `--help` lists the options. Exit codes: 0 measured, 1 wrong results, 2 no such request.
"""

from __future__ import annotations

import sys

from triptych.workbench.commands.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
