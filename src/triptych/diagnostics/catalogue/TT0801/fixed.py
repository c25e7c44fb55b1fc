from triptych.layout import Layout

Layout.parse("(4,8):(8,1)")
