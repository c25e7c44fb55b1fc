from triptych.workbench.commands.run import banner

print(banner())
