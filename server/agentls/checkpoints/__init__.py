"""What files held before the agent changed them, and the way back."""
