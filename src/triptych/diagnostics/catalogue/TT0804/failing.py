from triptych.layout import Layout, complement

complement(Layout((4, 4), (1, 2)), 16)
