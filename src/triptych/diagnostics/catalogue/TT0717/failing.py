from triptych.workbench.commands.build import jobs_of

jobs_of("no_such_manifest.py")
