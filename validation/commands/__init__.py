"""Subcommands of `qmodels` that simulate, a file each."""
