"""What people keep beside their runs: labels, comparisons, questions, and the list of it all."""
