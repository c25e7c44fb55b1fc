from triptych.layout import make_layout, substitute, sym_int

rows = make_layout((sym_int(divisibility=4, symbol="m"), 8))
substitute(rows, {"m": 12})
