from triptych.support.forking import check_interpreter

check_interpreter(0)
