"""What the language has elsewhere, under the names that public CuTe DSL programs import it by: `cutlass.torch` …"""
