from triptych.workbench.commands.show import example_arguments

example_arguments("100, limit=0.5")
