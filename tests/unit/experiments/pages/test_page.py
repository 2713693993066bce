"""A page: its policy, its scripts, its data."""

import base64
import hashlib
import re
from importlib.resources import files

import pytest
from jinja2 import UndefinedError

from goalbound.experiments.pages.charts import Chart
from goalbound.experiments.pages.page import PLOTLY, content_policy, render
from tests.support.report_cases import HOSTILE, Outline

VERSION = "4.1.1"
SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"


def page_of(**changes):
    return render("plain.html", {"heading": HOSTILE} | changes, package="tests.support", charts=[CHART])


CHART = Chart(name="one", title=HOSTILE, traces=[])


def test_the_library_is_the_published_file_of_its_version():
    content = files("goalbound.experiments.pages").joinpath(PLOTLY).read_bytes()
    assert f"plotly.js (cartesian - minified) v{VERSION}".encode() in content[:200]
    assert hashlib.sha256(content).hexdigest() == SHA256
    assert b"</script" not in content  # it is inside of a script element
    assert b"<!--" not in content


def test_only_the_scripts_of_the_page_may_run():
    page = page_of()
    policy = next(attributes["content"] for _, attributes in Outline(page).tags if attributes.get("http-equiv"))
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    assert content_policy([]).endswith("script-src 'none'")


def test_what_a_template_is_given_is_escaped():
    outline = Outline(page_of())
    assert not [tag for tag, _ in outline.tags if tag == "img"]
    assert HOSTILE in "".join(outline.texts)


def test_a_value_that_is_not_given_is_an_error():
    with pytest.raises(UndefinedError, match="heading"):
        render("plain.html", {}, package="tests.support", charts=[CHART])


def test_a_page_without_charts_has_no_script():
    page = render("plain.html", {"heading": "h"}, package="tests.support")
    assert "<script" not in page
    assert len(page) < 20_000
