"""What every run of a scenario has, emulated or simulated: its plan, its time line, its folder, its results."""
