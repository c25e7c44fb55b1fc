from triptych.workbench.commands.show import show

show("no_such_file.py:function")
