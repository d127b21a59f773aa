"""Plans by trained networks with numpy and numba alone; training and GPUs are in `learn`."""
