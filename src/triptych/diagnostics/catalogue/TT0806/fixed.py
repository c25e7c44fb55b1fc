from triptych.layout import make_swizzle

make_swizzle(3, 0, 3)
