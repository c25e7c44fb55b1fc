from pathlib import Path

from triptych.workbench import load_contract

Path("empty_kernel.py").write_text("def get_inputs(): return []")
load_contract("empty_kernel.py")
