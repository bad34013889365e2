"""The rows of RLA: Wang and Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the Internet"."""

from experiments.rows.rla import assist as rla_assist
from experiments.rows.rla.model import FIGURES, PROPOSITION
from experiments.rows.rla.tree import SHARES, THEOREMS

ROWS = (*FIGURES, *SHARES, *PROPOSITION, *THEOREMS, *rla_assist.ROWS)
