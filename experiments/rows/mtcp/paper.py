"""The rows of MTCP: Rhee, Balaguru and Rouskas, "MTCP: Scalable TCP-like Congestion Control for Reliable Multicast"."""

from experiments.rows.mtcp import background as mtcp_background
from experiments.rows.mtcp import beyond as mtcp_beyond
from experiments.rows.mtcp import fairness as mtcp_fairness
from experiments.rows.mtcp import queue as mtcp_queue
from experiments.rows.mtcp import response as mtcp_response
from experiments.rows.mtcp import scalability as mtcp_scalability
from experiments.rows.mtcp import sites as mtcp_sites

_ROWS = {
    row.id: row
    for module in (mtcp_scalability, mtcp_response, mtcp_sites, mtcp_queue, mtcp_fairness, mtcp_background, mtcp_beyond)
    for row in module.ROWS
}
_ORDER = "fig6 fig7 fig9 fig10 fig11 fig12 fig13 fig14 table1 starts fig18 fig19 queue feedback scale"

ROWS = tuple(_ROWS[f"mtcp-{name}"] for name in _ORDER.split())
"""In the paper's order, and what goes beyond it."""
