from triptych.ranks.group import joined

print(joined().size)
