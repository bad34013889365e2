"""The rows of Arbor, our own protocol: what its page claims, and what is asked of a protocol of today (ours)."""

from typing import Final

from experiments.rows.arbor.beside import SEVERAL, SHARE
from experiments.rows.arbor.call import CALL
from experiments.rows.arbor.crowd import CROWD
from experiments.rows.arbor.links import HALVED, LAYERS
from experiments.rows.arbor.many import MANY, REPAIRS

ROWS: Final = (SHARE, SEVERAL, CALL, MANY, REPAIRS, CROWD, HALVED, LAYERS)
"""In the page's order."""
