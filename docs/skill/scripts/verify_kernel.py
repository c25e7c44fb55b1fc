"""Verify a kernel file with kernel_fn, reference_fn and get_inputs: `verify_kernel.py kernel.py --rtol 1e-3`.

The same as `triptych verify`; `--help` lists the options. Exit codes: 0 right, 1 wrong, 2 no such request.
"""

from __future__ import annotations

import sys

from triptych.workbench.commands.cli import main

if __name__ == "__main__":
    sys.exit(main(["verify", *sys.argv[1:]]))
