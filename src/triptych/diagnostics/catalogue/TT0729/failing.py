from triptych.cute.tuning.choices import read_choices

read_choices("no_such_choices.json")
