from triptych.support.registry import Registry

Registry("triptych.targets").get("abacus")
