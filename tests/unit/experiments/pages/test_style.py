"""The table of line styles."""

from goalbound.experiments.figures.style import styles
from goalbound.experiments.pages.style import DARK, DASHES, LIGHT, MARKERS, SURFACES, line_style


def luminance(colour: str) -> float:
    """Relative, of WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_every_line_can_be_seen_on_its_page():
    light, dark = SURFACES["page"]
    assert min(contrast(colour, light) for colour in LIGHT) >= 4.5
    assert min(contrast(colour, dark) for colour in DARK) >= 4.5
    assert len(LIGHT) == len(DARK)


def test_neighbours_differ_without_colour():
    for place in range(40):
        one, two = line_style(place), line_style(place + 1)
        assert one.dash != two.dash
        assert one.marker != two.marker


def test_figures_for_papers_have_the_styles_of_the_page():
    for place, style in enumerate(styles([f"learner {n}" for n in range(12)]).values()):
        same = line_style(place)
        assert style.colour == LIGHT[same.colour]
        assert style.marker == MARKERS[same.marker][0]
        assert style.dash == ((0, DASHES[same.dash]) if DASHES[same.dash] else "-")
