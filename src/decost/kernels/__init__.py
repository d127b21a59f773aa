"""Kernels that have not moved to their rooms yet, and old places of some that have."""
