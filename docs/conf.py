"""The documentation site: ``make docs`` builds it into out/site, with warnings as errors."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import goalbound

project = "goalbound"
author = "The goalbound authors"
version = release = goalbound.__version__
copyright = "the goalbound authors, MIT licence"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "generated_tables",
    "katex_math",
]
exclude_patterns = ["_ext", "images/*.py", "**/.ipynb_checkpoints"]
nitpicky = True
nitpick_ignore_regex = [
    # Other libraries are not loaded from the network, and names of type variables and aliases have no page.
    (r"py:.*", r"(?!goalbound).*"),
]
default_role = "code"
highlight_language = "text"

# Pages in Markdown. Notebooks are Markdown with {code-cell}; what they print is kept until they change.
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = os.environ.get("GOALBOUND_NOTEBOOKS", "cache")
nb_execution_cache_path = str(Path(__file__).parent.parent / "out" / "notebooks")
nb_execution_timeout = 300
os.environ["PYTHONPATH"] = os.pathsep.join(  # modules beside the tutorials
    filter(None, (str(Path(__file__).parent / "tutorials"), os.environ.get("PYTHONPATH")))
)
nb_execution_in_temp = True  # as in the tests: what a notebook writes is not left in docs
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_use_legacy_class_based = False
napoleon_use_rtype = False
napoleon_use_ivar = False
napoleon_attr_annotations = False  # signatures have the types
python_maximum_signature_line_length = 88
toc_object_entries = False  # names are sections already; methods would make every page slow

html_theme = "furo"
html_title = "goalbound"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "katex"
html_copy_source = False
html_show_sourcelink = False
html_extra_path = ["../out/gallery"] if (Path(__file__).parent.parent / "out" / "gallery").is_dir() else []
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
