"""Tables as plain values."""

from goalbound.experiments.pages.tables import Cell, Row, Table, text_rows


def test_cells_sort_by_their_text_unless_they_have_a_value():
    assert Cell("a").value == ""
    assert Cell("1,000", 1000.0).value == 1000.0


def test_rows_of_texts_belong_to_no_learner():
    (row,) = text_rows([["a", "b"]])
    assert [cell.text for cell in row.cells] == ["a", "b"]
    assert row == Row([Cell("a"), Cell("b")], None)
    assert Table(["x"], [row], "caption").sortable
