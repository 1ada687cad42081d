"""Many points, many workers: who runs what."""
