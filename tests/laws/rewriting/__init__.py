"""Programs on which rewriting must change nothing, one text per kind of construct.

Each program follows a line `### its name` and defines `f`, called with every combination of a few small integers;
`say(x)` notes that this point was reached and gives `x` back, so the order of evaluation is part of what is compared.
"""
