from triptych.support.interpreters import check_interpreter

check_interpreter(0)
