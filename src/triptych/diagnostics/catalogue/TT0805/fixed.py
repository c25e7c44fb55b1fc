from triptych.layout import Layout, assuming, composition

with assuming() as needs:
    composition(Layout.parse("(?,?):(?,?)"), Layout(4, 1))
print(*needs)
