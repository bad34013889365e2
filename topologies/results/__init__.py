"""What a run of a scenario leaves, emulated or simulated: its folder, time series, summary and report."""
