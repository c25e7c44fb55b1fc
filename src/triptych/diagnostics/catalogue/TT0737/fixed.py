from triptych.ranks.group import join, joined, make_folder

join(make_folder(), rank=0, size=1)
print(joined().size)
