"""What the paper compares with: greedy construction, local search, ants, a program."""
