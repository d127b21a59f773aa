"""The one door to every method, and what stands behind it."""
