"""Learning: what trains and runs a neural solver; the only part that needs torch."""
