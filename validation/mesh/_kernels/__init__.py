"""Compiled loops of the mesh, a file for each kind of event."""
