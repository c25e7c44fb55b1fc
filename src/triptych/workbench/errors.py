"""What can go wrong with requests to the workbench itself; a kernel that is wrong is a verdict, not an error."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class ContractError(TriptychError, ValueError):
    """A file does not have what the workbench needs: a kernel, what it should compute, and inputs for both."""

    code = "TT0720"
    failing = """
from pathlib import Path
from triptych.workbench import load_contract

Path("empty_kernel.py").write_text("def get_inputs(): return []")
load_contract("empty_kernel.py")
"""
    fixed = """
from pathlib import Path
from triptych.workbench import load_contract

Path("whole_kernel.py").write_text('''
import numpy as np

def kernel_fn(x):
    return x + x

def reference_fn(x):
    return 2 * x

def get_inputs(seed=0):
    return [np.random.default_rng(seed).standard_normal(100, np.float32)]
''')
load_contract("whole_kernel.py")
"""


class RecordError(TriptychError, ValueError):
    """A file is no record of `triptych bench`, or one of a version that is not known."""

    code = "TT0721"
    failing = "from triptych.workbench.measurement.records import read_record\n\nread_record('no_such_record.json')"
    fixed = "from triptych.workbench.measurement.records import SCHEMA\n\nprint(SCHEMA)"


class ImpossibleTimeError(TriptychError, ArithmeticError):
    """A kernel took less time than the machine needs for the work it is said to do: one of the two is not so."""

    code = "TT0722"
    failing = """
from triptych.workbench.measurement.benching import check_time

check_time(1e-9, floor=1e-3, why="4 MB at 4 GB/s")
"""
    fixed = """
from triptych.workbench.measurement.benching import check_time

check_time(2e-3, floor=1e-3, why="4 MB at 4 GB/s")
"""


class UnknownDeviceError(TriptychError, LookupError):
    """A device that nobody has described: its limits are not guessed from those of others."""

    code = "TT0723"
    failing = "from triptych.workbench import device\n\ndevice('sm_77')"
    fixed = "from triptych.workbench import device\n\nprint(device('sm_80').shared_of_a_block)"


class PlanError(TriptychError, ValueError):
    """A plan lacks what it is asked for."""

    code = "TT0724"
    failing = """
from triptych.workbench import KernelPlan

KernelPlan().plan()
"""
    fixed = """
from triptych.workbench import CuteKernel, KernelPlan

class Doubled(KernelPlan):
    def plan(self, x):
        return CuteKernel(kernel_fn=None, launch_fn=lambda tiling: None, input_tensors=[x], output_tensors=[x])

print(Doubled().plan([1]).run())
"""


class FolderError(TriptychError, ValueError):
    """A folder of a kernel cannot be made: its name is taken or is none, or the version to start from is not there."""

    code = "TT0725"
    failing = """
from pathlib import Path
from triptych.workbench.folders.versions import new_kernel

new_kernel(Path("."), "fused softmax", "elementwise", "")
"""
    fixed = """
from triptych.workbench.folders.versions import templates

print(templates())
"""
