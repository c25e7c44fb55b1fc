from triptych.workbench.folders.versions import templates

print(templates())
