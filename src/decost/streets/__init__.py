"""Travel times and ways along streets, from a routing engine that the user runs."""
