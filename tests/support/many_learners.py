"""An experiment of many learners, made by hand."""

from copy import deepcopy

from goalbound.experiments.summary import summarize
from tests.support.report_cases import case, spec

LEARNERS = [
    {"use": "greedy-ridge", "label": "greedy"},
    {"use": "lr-cssp", "label": "wide"},
    {"use": "lr-cssp", "label": "narrow", "scale": 0.1},
    {"use": "uc-ssp", "label": "0.1 x UC", "scale": 0.1, "sees": "cell"},
    {"use": "uc-ssp", "label": "UC", "sees": "cell"},
    {"use": "ulcvi", "label": "ULCVI"},
    {"use": "psrl-ssp", "label": "PSRL"},
    {"use": "ps-cssp", "label": "PS", "spread": 0.1},
    {"use": "clairvoyant", "label": "clairvoyant"},
]
REGRETS = {
    "greedy": [10.0, 10.0, 100.0], "0.1 x UC": [50.0, 50.0, 50.0], "PSRL": [60.0, 45.0, 60.0], "PS": [90.0, 90.0, 90.0],
    "narrow": [200.0, 210.0, 220.0], "UC": [400.0, 400.0, 400.0], "wide": [500.0, 500.0, 500.0],
    "ULCVI": [900.0, 900.0, 900.0],
}  # fmt: skip
"""Of seeds 0, 1 and 2, and again of 3, 4 and 5. Means 40, 50, 55, 90, 210, 400, 500, 900."""


def given(optimal_loss=1_000.0, **changes):
    asked = spec(**{"learners": LEARNERS, "problems": [{"use": "random", "label": "flat"}], "seeds": 6, **changes})
    made = case(asked)
    made["records"] = deepcopy(made["records"])
    for one in made["records"]:
        if one.spec.learner.label in REGRETS:
            one.metadata["totals"]["expected_regret"] = REGRETS[one.spec.learner.label][one.spec.seed % 3]
        bounded = {"method_time_bound": 9.0} if one.spec.learner.label == "ULCVI" else {}
        one.metadata["settings"] = dict(one.spec.learner.settings) | bounded
        one.metadata["totals"]["optimal_loss"] = optimal_loss
        one.metadata["totals"]["abandoned"] = 4 if one.spec.learner.label == "ULCVI" else 0
    made["summary"] = summarize(made["records"], runs=asked.runs())
    return made
