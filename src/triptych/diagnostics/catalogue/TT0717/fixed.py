from triptych.workbench.commands.build import JOBS

print(JOBS)
