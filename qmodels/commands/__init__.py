"""Subcommands of `qmodels` that solve, a file each."""
