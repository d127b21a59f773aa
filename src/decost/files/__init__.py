"""How instances and plans come in and go out."""
