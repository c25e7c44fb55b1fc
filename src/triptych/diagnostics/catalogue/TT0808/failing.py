from triptych.layout import E, Layout, bank_conflicts

bank_conflicts(Layout((32, 32), (1, 32)), Layout((8, 4), (E(0), E(1))))
