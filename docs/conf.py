"""Sphinx: the pages of this folder, and the reference out of the docstrings."""

project = "qmodels"
copyright = "2026, the qmodels developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
templates_path = ["templates"]
myst_enable_extensions = ["amsmath", "dollarmath"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples", "claims", "templates"]
html_theme = "furo"
autodoc_typehints = "none"
numpydoc_show_class_members = False
autosummary_generate = ["reference/api.md"]  # a page for each object that it names
autosummary_ignore_module_all = False
autosummary_imported_members = False
suppress_warnings = ["myst.xref_missing", "autosummary"]
