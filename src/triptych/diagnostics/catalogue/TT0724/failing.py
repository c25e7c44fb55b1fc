from triptych.workbench import KernelPlan

KernelPlan().plan()
