"""STF, p4c's simple test format: packets in, packets expected, and what the control plane does in between.

`script` reads a test, `names` and `values` resolve what it says against the program, `control` does the control plane's
part, `packets` keeps what was expected and what came, `runner` puts them together, and `suite` runs a folder of them.
"""
