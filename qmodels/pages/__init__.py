"""Self-contained interactive pages: HTML files that work without a network."""
