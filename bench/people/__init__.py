"""Who may do what, who did what, and what stands before every answer."""
