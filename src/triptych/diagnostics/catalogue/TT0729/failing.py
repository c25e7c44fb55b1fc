from triptych.workbench.tuning.tuning_cache import read_choices

read_choices("no_such_choices.json")
