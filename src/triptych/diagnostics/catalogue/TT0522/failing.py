from triptych import cute

cute.runtime.load_module("no_such_file.o")
