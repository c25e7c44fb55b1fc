from pathlib import Path

from triptych.workbench.commands.coverage import coverage

coverage([Path(".")])
