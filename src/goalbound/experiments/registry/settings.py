"""What the settings of learners and sources of contexts mean, in a line each; a setting means the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from goalbound.confidence.widths import RULES

MEANINGS: Mapping[str, str] = {
    "delta": "the probability, at most, that some confidence set misses the truth",
    "widths": f"the rule of the confidence sets: {', '.join(RULES)}",
    "scale": "a factor of the widths; below 1 nothing is proven",
    "support": 'where actions can lead: "true" (it is known) or "full" (nothing is)',
    "loss_floor": 'the least mean loss of a step: "certified" (of the true problem) or a number',
    "loss_bound": 'the bound B of optimal losses: "certified", "doubling" (unknown) or a number',
    "regularization": "lambda of the ridge regression",
    "prior_visits": "the visits that the prior of a pair is worth, in the mean of its components",
    "forget": "whether a doubling of the loss bound forgets the data, as the paper prints it",
    "tolerance": "planning ends when no value changes by more than this share of the loss floor",
    "replan_factor": "1: every step of an unknown pair ends an interval; above 1: only if its Gram matrix grew so much",
    "log_share": "cases of a runbook's log, learned before the run, over the episodes of the run",
    "guess": 'a guess of the model to begin with: "nothing", "average" or "first component"',
    "guess_strength": "how many visits at each corner the guess is worth",
    "sees": 'what is shown of the context: "context", "nothing", "cell"; of one number also "line", "hats"',
    "parts": "the parts into which cells or hats cut the contexts",
    "explore": "the share of random steps in the first episode",
    "fade": "in episode k the share of random steps is explore k^-fade",
    "bonus": "optimism about a step: so many deviations, times the root of the logarithm of the visits",
    "spread": "the deviation of what is drawn, in widths of the estimate",
    "by_variance": "whether the deviation follows the estimated variance too",
    "optimism": "the share of plans that are optimistic, not drawn; if left out, 0.03, or 0 with a guess",
    "patience": "a new plan is drawn when one has lost this many times 1 plus what it expected",
    "ceiling": "no value of a plan is above it",
    "accuracy": "the error up to which a pair is to be known",
    "alpha": "of the Dirichlet distribution: 1 is uniform, less is nearer to the corners",
    "contexts": "the list of contexts",
    "start": "the first context; the first corner if left out",
    "end": "the last context; the last corner if left out",
    "noise": "the share of each context that is a uniform draw, from 0 to 1",
}
