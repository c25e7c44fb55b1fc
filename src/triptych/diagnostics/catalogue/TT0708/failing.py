from triptych.workbench.commands.run import RunRequest, run

run(RunRequest("no_such_script.py"))
