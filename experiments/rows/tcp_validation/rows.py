"""The simulator against what is known: the kernel's TCP, equations, queueing theory."""

from experiments.rows.tcp_validation import equations, kernel, queues

ROWS = (*kernel.ROWS, *equations.ROWS, *queues.ROWS)
