"""What is to be solved, and what solves it."""
