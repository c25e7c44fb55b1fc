from pathlib import Path

from triptych.workbench import load_contract

Path("whole_kernel.py").write_text("""
import numpy as np

def kernel_fn(x):
    return x + x

def reference_fn(x):
    return 2 * x

def get_inputs(seed=0):
    return [np.random.default_rng(seed).standard_normal(100, np.float32)]
""")
load_contract("whole_kernel.py")
