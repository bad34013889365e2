"""What runs a program in the embedded switch; all do the same."""

from typing import Literal

Backend = Literal["native", "adaptive", "interpreter"]
"""Native code made when the program is loaded, or once it has had so many packets that it pays, or none."""
