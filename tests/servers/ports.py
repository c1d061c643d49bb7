"""Ports for the servers of a test session."""

from __future__ import annotations

import random
import socket

FIRST, LAST = 10_000, 22_000
"""Below the range that a system takes for outgoing connections (32,768 and up on Linux), and so is the bus of a Redis
Cluster 10,000 higher: a client of another server cannot come to lie on such a port."""
BUS = 10_000


def free_port() -> int:
    """A loopback port that nobody listens on, nor on the one of its Cluster bus."""
    while True:
        port = random.SystemRandom().randrange(FIRST, LAST)
        if _free(port) and _free(port + BUS):
            return port


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
