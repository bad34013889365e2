"""The rows of MTCP: Rhee, Balaguru and Rouskas, "MTCP: Scalable TCP-like Congestion Control for Reliable Multicast"."""

from experiments.row import Row
from experiments.rows import mtcp_scalability

_AGENTS = "MTCP with sender's agents (a tree of more than one level)"

ROWS = (
    mtcp_scalability.ROWS[0],
    Row(
        "mtcp-fig7",
        "mtcp",
        "sim",
        "chain sender - SA1 - SA2 - leaf, bottleneck at the last hop",
        "the window drops 200-250 ms after the bottleneck agent's slow start",
        "within the upward delays, one delayed ACK a level and 50 ms",
        missing=_AGENTS,
    ),
    Row(
        "mtcp-fig9",
        "mtcp",
        "sim",
        "101 nodes, fan-out 5, 1.5 Mbps: one level and several, 1 to 100 receivers",
        "multilevel 125 KB/s from 3 to 100 receivers; one level falls",
        "multilevel within 20 %; one level at least 80 % of it up to 25, below 50 % at 100",
        missing=_AGENTS,
    ),
    *(
        Row(
            f"mtcp-fig{number}",
            "mtcp",
            "emu",
            f"tree of Fig. 5, bottleneck on one inter-site link, one TCP on each; {setting}",
            f"MTCP and the slowest TCP at about {rate}",
            "MTCP / slowest TCP in 0.7-1.15",
            missing=_AGENTS,
        )
        for number, setting, rate in (
            (10, "areas A1 and A4", "280 KB/s"),
            (11, "areas A1 and A4, the first 50 s at 1 s", "280 KB/s"),
            (12, "areas A1 to A4", "70 KB/s (Emory - NCSU)"),
            (13, "areas A1 to A5", "60 KB/s (GaTech - Utexas)"),
        )
    ),
    Row(
        "mtcp-fig14",
        "mtcp",
        "emu",
        "one bottleneck; TCPs join at 150, 300, 410 s and leave one by one",
        "400 KB/s alone, 300/300 with TCP1, 240 with TCP2 (TCP1 180), 330 with TCP3 left",
        "within 25 %; not above the best TCP by more than 15 % for more than 20 s",
        missing=_AGENTS,
    ),
    Row(
        "mtcp-table1",
        "mtcp",
        "sim",
        "topology of Fig. 15, bottleneck 1 Mbps, logical fan-out 3; 4, 8, 12 sessions",
        "Jain 0.999836, 0.970422, 0.955753",
        "at least 0.99, 0.95, 0.93",
        missing=_AGENTS,
    ),
    *(
        Row(
            f"mtcp-fig{number}",
            "mtcp",
            "sim",
            f"transit-stub topology, 100 receivers, short TCP transfers, 1,500 s{setting}",
            "12 KB/s, about the bottleneck's rate",
            counts,
            missing=_AGENTS,
        )
        for number, setting, counts in (
            (18, "", "about the bottleneck's rate"),
            (19, ", 1 % loss at the receivers", "at least 85 % of the lossless run"),
        )
    ),
)
