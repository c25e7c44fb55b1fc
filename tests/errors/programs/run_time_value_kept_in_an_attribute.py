import triptych as tt


class Area:
    @tt.jit
    def __call__(self, side: tt.Int32):
        self.area = side * side
        return self.area


square = Area()
square(3)
print(square.area + 1)  # error: TT0208 at "square.area + 1"
