from triptych.layout import make_layout

make_layout((4, 8), stride=(1, 4, 32))
