from triptych.support.registry import Registry

colours = Registry("example.colours")
colours.register("red", 1)
colours.register("blue", 2)
