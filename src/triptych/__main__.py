"""`python -m triptych` is the same command as `triptych`."""

from __future__ import annotations

import sys

from triptych.workbench.commands.cli import main

if __name__ == "__main__":
    sys.exit(main())
