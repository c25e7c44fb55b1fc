from triptych import cute


class Stays(cute.CopyOperation):
    pass


Stays()
