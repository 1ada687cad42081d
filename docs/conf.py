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


def setup(app):
    """Mend what readers of the screen and of the keyboard miss in every page."""
    app.connect("html-page-context", _open_to_all, priority=900)  # after the theme's own


def _open_to_all(app, name, template, context, doctree):
    """Give captions of the navigation their level, and what scrolls the focus."""
    for part in ("body", "furo_navigation_tree"):
        text = context.get(part) or ""
        text = text.replace('role="heading"', 'role="heading" aria-level="2"')
        text = text.replace("<pre>", '<pre tabindex="0">')
        table = 'class="table-wrapper'
        context[part] = text.replace(f"<div {table}", f'<div tabindex="0" {table}')
