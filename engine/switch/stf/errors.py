"""What can be wrong with a test, or found wrong by it; the place is added as file:line by whoever knows the line."""


class StfError(Exception):
    """A line that cannot be understood, or refers to what the program does not have."""


class UnmetError(Exception):
    """The program does not do what a line expects."""
