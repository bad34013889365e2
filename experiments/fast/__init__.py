"""`make fast`: a copy of `hosts/` compiled by mypyc, and the proof that it computes what the sources do."""
