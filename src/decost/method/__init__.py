"""What a method is given and gives back."""
