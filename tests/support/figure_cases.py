"""Records for figures."""

from __future__ import annotations

from goalbound.experiments.figures import style
from goalbound.experiments.figures.regret import regret_figure
from goalbound.experiments.registry.learners import catalogued_card
from goalbound.experiments.summary import summarize
from tests.support.synthetic import diagnosis, policies, power, record, run_spec

SCALED = {"widths": "paper", "scale": 0.1, "delta": 0.05}


def experiment(context_size, *, seeds=2, **changes):
    """A watched learner with scaled widths, and one that knows all."""
    known = policies(context_size) if context_size in (2, 3) else None
    card = catalogued_card("lr-cssp", SCALED).as_json()
    metadata = {"settings": SCALED, "card": card, "diagnosis": diagnosis(), "policies": known}
    runs = [
        record(
            run_spec("LR", seed=seed, **changes), power(3.0 + seed, 0.5), context_size=context_size, metadata=metadata
        )
        for seed in range(seeds)
    ]
    oracle = {"settings": {}, "card": catalogued_card("clairvoyant").as_json()}
    return [*runs, record(run_spec("clairvoyant"), power(0.0, 1.0), context_size=context_size, metadata=oracle)]


def figure_of(records):
    with style.figure_style():
        groups = summarize(records).groups
        return regret_figure(groups, style.styles([group.learner for group in groups]))


def texts(figure):
    return [text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))]
