"""Many machines: sets in parts, graded states and benches, by Dask."""
