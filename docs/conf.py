"""Sphinx: the pages of this folder, and the reference out of the docstrings."""

project = "qmodels"
copyright = "2026, the qmodels developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["amsmath", "dollarmath"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "examples", "claims"]
html_theme = "furo"
autodoc_typehints = "none"
numpydoc_show_class_members = False
autosummary_generate = False  # numpydoc brings it along; nothing here uses it
suppress_warnings = ["myst.xref_missing", "autosummary"]
