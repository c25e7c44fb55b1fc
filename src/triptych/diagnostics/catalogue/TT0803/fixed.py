from triptych.layout import Layout, composition

composition(Layout((4, 3), (3, 1)), Layout(3, 4))
