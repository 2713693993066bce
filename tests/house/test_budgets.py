"""The house may shrink and never grow."""

import ast

import pytest

from tests.house import measures
from tests.house.budget import complaints


def test_nothing_grows_and_budgets_follow_what_falls():
    kept = measures.budgets()
    assert not complaints(measures.measured(kept["capabilities"]), kept["budgets"])


def test_what_grows_and_what_falls_is_named():
    kept = {"lines": {"budget": 100}, "files": {"budget": 100}, "words": {"budget": 100}, "gone": {"budget": 1}}
    found = complaints({"lines": 101, "files": 99, "words": 97, "new": 1}, kept)
    assert [line.split()[0].rstrip(":") for line in found] == ["new", "gone", "lines", "words"]


def test_lines_of_code_have_no_blanks_comments_or_docstrings():
    text = '"""A module."""\n\n# why\nx = """a\nb"""\n\n\ndef f():\n    """Does."""\n    return x  # here\n'
    assert measures._code(text) == (4, 10)


@pytest.mark.parametrize(
    ("condition", "counted"),
    [
        ("constants.likelihood.on", True),
        ("not constants.model.on and x > 0", True),
        ("constants.exploration == LOCAL", True),
        ("gap > constants.tolerance", False),
        ("episode.counted", False),
    ],
)
def test_a_branch_on_a_feature_asks_constants_alone(condition: str, counted: bool):
    test = ast.parse(condition, mode="eval").body
    assert any(measures._asks_constants(one) for one in measures._operands(test)) == counted


def test_private_parts_of_others_are_found():
    text = "from numba import _dynfunc, njit\nfrom numba.core import ir\nimport goalbound._x\nfrom os import path\n"
    assert measures._private_imports(ast.parse(text)) == ["numba._dynfunc", "numba.core.ir"]
