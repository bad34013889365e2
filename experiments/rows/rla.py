"""The rows of RLA: Wang and Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the Internet"."""

from experiments.rows import rla_assist
from experiments.rows.rla_model import FIGURES, PROPOSITION
from experiments.rows.rla_tree import SHARES, THEOREMS

ROWS = (*FIGURES, *SHARES, *PROPOSITION, *THEOREMS, *rla_assist.ROWS)
