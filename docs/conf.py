"""Sphinx: the pages of this folder, and the reference out of the docstrings."""

from importlib import metadata

from sphinx import addnodes

project = "qmodels"
copyright = "2026, the qmodels developers"
release = metadata.version("qmodels-hpc")
html_title = f"qmodels {release}"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["templates"]
myst_enable_extensions = ["amsmath", "dollarmath"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 3  # pages link to sections by the words of their headings
exclude_patterns = ["_build", "examples", "claims", "release", "templates", "*/sg_execution_times.rst"]
exclude_patterns += ["sg_execution_times.rst", "gallery/*.ipynb", "notebooks/*.ipynb"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
autosummary_generate = ["reference/api.md"]  # a page for each object that it names
autosummary_ignore_module_all = False
autosummary_imported_members = False
suppress_warnings = ["myst.xref_missing", "autosummary"]
# Programs that are run, with what they print and draw, whenever the site is built.
sphinx_gallery_conf = {
    "examples_dirs": ["examples/gallery", "examples/notebooks"],
    "gallery_dirs": ["gallery", "notebooks"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),
}


def setup(app):
    """Keep single objects out of the navigation; mend what readers of the screen and of the keyboard miss."""
    app.connect("doctree-read", _no_entries, priority=100)  # before they are collected
    app.connect("doctree-read", _stands_alone, priority=900)  # after what is known of a page is
    app.connect("html-page-context", _open_to_all, priority=900)  # after the theme's own


def _no_entries(app, doctree):
    """Drop the hundreds of objects from the tree that every page shows; the tables of the page link them."""
    if app.env.docname == "reference/api":
        for node in list(doctree.findall(addnodes.toctree)):
            node.parent.remove(node)


def _stands_alone(app, doctree):
    """Say that the page of an object need not be in the tree."""
    if app.env.docname.startswith("reference/objects/"):
        app.env.metadata[app.env.docname]["orphan"] = True


def _open_to_all(app, name, template, context, doctree):
    """Give captions of the navigation their level, and what scrolls the focus."""
    for part in ("body", "furo_navigation_tree"):
        text = context.get(part) or ""
        text = text.replace('role="heading"', 'role="heading" aria-level="2"')
        text = text.replace("<pre>", '<pre tabindex="0">')
        table = 'class="table-wrapper'
        context[part] = text.replace(f"<div {table}", f'<div tabindex="0" {table}')
