from triptych.workbench.commands.errors_page import catalogue

catalogue("TT0705")
