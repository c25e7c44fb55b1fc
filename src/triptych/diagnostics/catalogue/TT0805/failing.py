from triptych.layout import Layout, composition

composition(Layout.parse("(?,?):(?,?)"), Layout(4, 1))
