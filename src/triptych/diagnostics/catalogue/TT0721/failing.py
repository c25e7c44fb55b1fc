from triptych.workbench.measurement.records import read_record

read_record("no_such_record.json")
