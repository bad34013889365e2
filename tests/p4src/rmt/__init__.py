"""What a switch chip could take of the P4 program, beside all of it."""
