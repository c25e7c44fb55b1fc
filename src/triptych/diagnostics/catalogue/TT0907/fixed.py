from triptych import cute


class Stays(cute.CopyOperation):
    def emit(self, atom, src, dst, index):
        pass


Stays()
