from triptych.workbench.commands.cache import size

size("many")
