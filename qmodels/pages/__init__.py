"""Self-contained pages that can be turned and tried, offline."""
