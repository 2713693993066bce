"""Tables and sentences as HTML."""

import numpy as np

from goalbound.notebook import cell_text, html_lines, html_table, weights_text


def test_a_table_has_heads_and_cells_and_everything_is_escaped():
    table = html_table({"<b>": ["<i>", None], "value": np.array([0.5, np.inf])}, bold=1)
    assert "<b>" not in table
    assert "<i>" not in table
    assert "&lt;b&gt;" in table
    assert '<tr style="font-weight:bold"><td style="text-align:left"></td>' in table
    assert "infinite" in table


def test_a_long_table_is_cut_and_says_so():
    table = html_table({"state": list(map(str, range(50)))}, most=20)
    assert table.count("<tr>") == 21
    assert table.endswith("<p>and 30 more rows</p>")


def test_control_characters_are_shown_not_sent():
    assert html_lines(["a\x1b[2Jb"]) == "<p>a\\u001b[2Jb</p>"
    assert cell_text("a\nb") == "a b"


def test_weights_that_are_zero_are_left_out():
    assert weights_text([0.25, 0.0, 0.75], ["a", "b", "c"]) == "0.25 a + 0.75 c"
