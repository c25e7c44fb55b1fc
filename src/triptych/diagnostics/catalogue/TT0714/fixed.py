from triptych.workbench.commands.cache import size

size("200M")
