"""What a machine is and how it fares: its memory, its GPU, its health, and who watches it."""
