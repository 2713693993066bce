"""The learners that an experiment may name; each is given only prior information that a user could have.

Named settings are resolved here: ``certified`` is the certified bound of the problem, ``sees`` what a learner is
shown.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from goalbound import baselines as tabular
from goalbound.adapters.covariates import CovariateMap, Hats
from goalbound.around.contexts import ContextBlind, Discretized, MappedContexts
from goalbound.confidence import Widths, scaled
from goalbound.confidence.widths import RULES
from goalbound.errors import ArgumentError
from goalbound.experiments.registry.catalog import Catalog, Entry, hint
from goalbound.experiments.registry.warm_start import ANY_LOG, GUESS_STRENGTH, LogLaw, guessed, warm_started
from goalbound.learners import ridge
from goalbound.learners.card import LearnerCard, learner_card
from goalbound.learners.lr_cssp import LRCSSP
from goalbound.learners.program import added_loss
from goalbound.learners.protocol import Learner
from goalbound.learners.reference import Clairvoyant, RandomWalk
from goalbound.learners.settings import LearnerOptions
from goalbound.models import LinearCSSP, Support
from goalbound.models.validation import check_float, short_repr
from goalbound.planning import ContextBounds, context_bounds
from goalbound.problems.treatment import biomarker

BOUNDS_TOLERANCE = 0.1
"""Tolerance of the bounds given to learners: tighter ones cost more than they gain, and would change results."""
MAX_BOUNDS = 8
"""The bounds of so many problems are kept."""
_BOUNDS_CACHE: dict[int, tuple[LinearCSSP, ContextBounds]] = {}


def certified_bounds(problem: LinearCSSP) -> ContextBounds:
    """B*, T* and the loss floor of a problem, to 10%; cached for the last few problems."""
    found = _BOUNDS_CACHE.get(id(problem))
    if found is None or found[0] is not problem:
        if len(_BOUNDS_CACHE) >= MAX_BOUNDS:
            _BOUNDS_CACHE.clear()
        found = _BOUNDS_CACHE[id(problem)] = (problem, context_bounds(problem, tolerance=BOUNDS_TOLERANCE))
    return found[1]


def lr_cssp(
    problem: LinearCSSP,
    *,
    episodes: int,
    delta: float = 0.1,
    widths: str = "paper",
    scale: float = 1.0,
    support: str = "true",
    loss_floor: str | float = "certified",
    loss_bound: str | float = "certified",
    regularization: float = 1.0,
    forget: bool = False,
    tolerance: float = 1e-3,
    replan_factor: float = 1.0,
    log_share: float = 0.0,
    sees: str = "context",
    parts: int = 4,
    log_law: LogLaw,
    rng: np.random.Generator,
) -> Learner:
    """The learner of the paper."""

    stream = rng

    def make_learner(size: int, rng: np.random.Generator | None = None) -> LRCSSP:
        floor, added = _loss_floor(problem, episodes, loss_floor)
        if log_share and size != problem.context_size:
            raise ArgumentError('log_share needs a learner that sees contexts; use sees = "context"')
        learner = LRCSSP(
            _support(problem, support), size, loss_floor=floor, delta=delta, widths=_widths(widths, scale),
            loss_bound=_bound(problem, size, episodes, floor, loss_bound),
            options=LearnerOptions(
                regularization=regularization, forget=forget, tolerance=tolerance, replan_factor=replan_factor,
                episodes=added,
            ),
        )  # fmt: skip
        return warm_started(learner, problem, log_share, episodes, stream, log_law)

    return _with_context_view(problem, sees, parts, make_learner, rng)


scaled_sharp = partial(lr_cssp, widths="sharp", scale=0.5, replan_factor=2.0)
"""The learner of :meth:`goalbound.LRCSSP.scaled`."""


def _without(function: Callable[..., Any], *names: str) -> inspect.Signature:
    signature = inspect.signature(function)
    return signature.replace(parameters=[one for name, one in signature.parameters.items() if name not in names])


def _ridge(kind: type[Any], *, draws: bool = False, **own: Any) -> Callable[..., Any]:
    """A learner of :mod:`goalbound.learners.ridge` as a catalog entry; ``own`` are its settings with their defaults."""

    def make_learner(
        problem: LinearCSSP,
        *,
        episodes: int,
        support: str = "true",
        loss_floor: str | float = "certified",
        regularization: float | None = None,
        prior_visits: float | None = None,
        guess: str = "nothing",
        guess_strength: float = GUESS_STRENGTH,
        log_share: float = 0.0,
        log_law: LogLaw,
        rng: np.random.Generator,
        **chosen: Any,
    ) -> Any:
        floor, added = _loss_floor(problem, episodes, loss_floor)
        settings = {**own, **chosen, **({"rng": rng} if draws else {})}
        learner = kind(
            _support(problem, support),
            problem.context_size,
            loss_floor=floor,
            prior=guessed(problem, guess, guess_strength),
            options=LearnerOptions(regularization=regularization, episodes=added, prior_visits=prior_visits),
            **settings,
        )
        return warm_started(learner, problem, log_share, episodes, rng, log_law)

    problem, *shared = _without(make_learner, "chosen").parameters.values()
    named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in own.items()]
    make_learner.__signature__ = inspect.Signature([problem, *named, *shared])  # type: ignore[attr-defined]
    return make_learner


greedy_ridge = _ridge(ridge.GreedyRidge)
epsilon_greedy = _ridge(ridge.EpsilonGreedy, draws=True, explore=1.0, fade=1.0 / 3.0)
local_optimism = _ridge(ridge.LocalOptimism, bonus=ridge.LOCAL_BONUS)
kwik_rmax = _ridge(ridge.KwikRmax, accuracy=0.1, delta=0.1)
ps_cssp = _ridge(
    ridge.PosteriorSampling,
    draws=True,
    spread=0.15,
    by_variance=True,
    optimism=None,
    patience=1.0,
    ceiling=1000.0,
)


def context_free(
    problem: LinearCSSP,
    *,
    method: str,
    episodes: int,
    scale: float = 1.0,
    delta: float = 0.1,
    support: str = "true",
    loss_floor: str | float = "certified",
    loss_bound: str | float = "certified",
    sees: str = "nothing",
    parts: int = 4,
    rng: np.random.Generator,
) -> Learner:
    """A context-free learner of the literature."""
    floor, _ = _loss_floor(problem, episodes, loss_floor)
    bound = _bound(problem, 1, episodes, floor, loss_bound) if method in _USE_BOUND else None
    added = added_loss(problem.support, 1, episodes) if floor == 0.0 and method not in _ALLOW_ZERO_LOSS else 0.0
    if method in _REQUIRE_BOUND and bound is None:
        raise ArgumentError(f"{method} cannot find its loss bound by doubling; give loss_bound a number, or certified")
    chosen = _method(problem, method, scale, bound, episodes)

    def make_learner(size: int, rng: np.random.Generator | None = None) -> tabular.TabularLearner:
        return tabular.TabularLearner(
            _support(problem, support), chosen, loss_floor=floor, rng=rng,
            options=tabular.TabularOptions(delta=delta, added_loss=added),
        )  # fmt: skip

    return _with_context_view(problem, sees, parts, make_learner, rng)


def _method(problem: LinearCSSP, name: str, scale: float, bound: float | None, episodes: int) -> tabular.Method:
    if name != "ulcvi":
        return tabular.Method(name, scale, loss_bound=bound)
    time = float(certified_bounds(problem).time_bound.upper)
    if not np.isfinite(time):
        raise ArgumentError("ulcvi needs a bound on the steps of optimal policies, and none was certified")
    return tabular.Method(name, scale, loss_bound=bound, time_bound=max(1.0, time), episodes=episodes)


_USE_BOUND = ("hoeffding-ssp", "eb-ssp", "ulcvi")
_REQUIRE_BOUND = ("hoeffding-ssp", "ulcvi")
_ALLOW_ZERO_LOSS = ("eb-ssp", "ulcvi")  # need no added loss


def clairvoyant(problem: LinearCSSP) -> Clairvoyant:
    """Knows the problem and plays the best policy of each context."""
    return Clairvoyant(problem)


def random_walk(problem: LinearCSSP, *, rng: np.random.Generator) -> RandomWalk:
    """Any action, until the goal."""
    return RandomWalk(problem.support, rng=rng)


def _with_context_view(
    problem: LinearCSSP, sees: str, parts: int, make_learner: Callable[..., Any], rng: np.random.Generator
) -> Learner:
    """The learner from ``make_learner(size, rng)``, shown the context, nothing of it, or only its cell."""
    if sees == "context" or problem.context_size == 1:
        return make_learner(problem.context_size, rng)
    if sees == "nothing":
        return ContextBlind(make_learner(1, rng))
    if sees == "cell":
        return Discretized(partial(make_learner, 1), problem.context_size, parts=parts, rng=rng)
    if sees in _COVARIATE_MAPS:
        return _mapped(problem, _COVARIATE_MAPS[sees](parts), make_learner, rng)
    guess = hint(sees, ("context", "nothing", "cell", *_COVARIATE_MAPS))
    raise ArgumentError(
        f'sees is {sees!r}{guess}; it is "context" (learners that use it), "nothing", or "cell" (one learner for each '
        f"of the cells that contexts are cut into); where contexts are of one number, also {', '.join(_COVARIATE_MAPS)}"
    )


_COVARIATE_MAPS: Mapping[str, Callable[[int], CovariateMap]] = {
    "line": lambda _parts: Hats(np.array([0.0, 1.0])),
    "hats": lambda parts: Hats(np.linspace(0.0, 1.0, parts)),
}
"""Maps of a covariate in [0, 1], by the number of parts."""


def _mapped(
    problem: LinearCSSP, seen: CovariateMap, make_learner: Callable[..., Any], rng: np.random.Generator
) -> MappedContexts:
    names = problem.component_names or ("",)
    if not all(name.startswith("x = ") for name in names):
        raise ArgumentError('this problem has no contexts of one number x; use sees = "context", "nothing" or "cell"')
    return MappedContexts(make_learner(seen.context_size, rng), lambda context: seen(biomarker(context)))


def _support(problem: LinearCSSP, word: str) -> Support:
    if word == "true":
        return problem.support
    if word == "full":
        support = problem.support
        if support.pairs != support.states * support.actions:
            raise ArgumentError('support = "full" needs every action in every state, which this problem does not have')
        return Support.full(support.states, support.actions)
    guess = hint(word, ("true", "full"))
    raise ArgumentError(
        f'support is {word!r}{guess}; it is "true" (where actions can lead is known) or "full" (nothing is)'
    )


def _loss_floor(problem: LinearCSSP, episodes: int, loss_floor: str | float) -> tuple[float, int | None]:
    """The loss floor; and the number of episodes, where the floor is 0 and a loss is added for it."""
    floor = _number("loss_floor", loss_floor, ("certified",))
    if floor is None:
        floor = float(problem.losses.min())  # of any pair under any context
    return floor, episodes if floor == 0.0 else None


def _bound(problem: LinearCSSP, size: int, episodes: int, floor: float, loss_bound: str | float) -> float | None:
    """B, or None where it is to be found by doubling. ``certified``: the upper end of a certified interval."""
    bound = _number("loss_bound", loss_bound, ("certified", "doubling"))
    if bound is not None or loss_bound == "doubling":
        return bound
    bounds = certified_bounds(problem)
    bound = max(1.0, float(bounds.loss_bound.upper))
    if floor == 0.0:  # the learner adds epsilon to every step, so its B grows by epsilon T*
        bound += added_loss(problem.support, size, episodes) * float(bounds.time_bound.upper)
    if not np.isfinite(bound):
        raise ArgumentError('loss_bound = "certified": no finite bound was found; give a number, or "doubling"')
    return bound


def _number(name: str, value: str | float, words: tuple[str, ...]) -> float | None:
    if isinstance(value, bool) or (isinstance(value, str) and value not in words):
        guess = hint(value, words) if isinstance(value, str) else ""
        raise ArgumentError(f"{name} is {short_repr(value)}{guess}; it is a number or one of {', '.join(words)}")
    return None if isinstance(value, str) else check_float(value, name, f"a number, or one of {', '.join(words)}")


def _widths(name: str, scale: float) -> Widths:
    if not isinstance(name, str):
        raise ArgumentError(f"widths is {name!r}; there are {', '.join(RULES)}")
    if name not in RULES:
        raise ArgumentError(f'widths is "{name}"{hint(name, RULES)}; there are {", ".join(RULES)}')
    return RULES[name]() if scale == 1.0 else scaled(RULES[name](), by=scale)


def _context_free(method: str) -> Callable[..., Learner]:
    """A method as a catalog entry: its settings are in the signature."""
    unused = () if method in _USE_BOUND else ("loss_bound",)
    make_learner = partial(context_free, method=method)
    make_learner.__signature__ = _without(context_free, "method", *unused)  # type: ignore[attr-defined]
    return make_learner


LEARNERS = Catalog(
    "learner",
    [
        Entry(
            "lr-cssp",
            "LR-CSSP, with the paper's widths unless others are named",
            lr_cssp,
            also=("optimistic", "ucb", "ofu"),
        ),
        Entry(
            "scaled-sharp",
            "LR-CSSP with half of the sharp intervals, and fewer plans",
            scaled_sharp,
            also=("practical",),
        ),
        Entry(
            "context-blind",
            "the same learner, never shown a context",
            partial(lr_cssp, sees="nothing"),
            also=("blind",),
        ),
        Entry("greedy-ridge", "plans in the ridge estimate as it is", greedy_ridge, also=("greedy", "ridge")),
        Entry("epsilon-greedy", "greedy, with random steps that fade", epsilon_greedy, also=("eps-greedy", "e-greedy")),
        Entry(
            "local-optimism",
            "greedy, and optimistic about the next step only: our choice for use",
            local_optimism,
            also=("local-ucb", "greedy-ucb"),
        ),
        Entry(
            "ps-cssp",
            "posterior (Thompson) sampling around the ridge estimate",
            ps_cssp,
            also=("thompson", "thompson-sampling", "ts", "posterior", "posterior-sampling"),
        ),
        Entry("kwik-rmax", "KWIK_LR-Rmax (Modi et al., 2018), adapted", kwik_rmax, also=("rmax", "r-max", "kwik")),
        Entry("uc-ssp", "context-free: UC-SSP (Tarbouriech et al., 2020)", _context_free("uc-ssp")),
        Entry("hoeffding-ssp", "context-free: Hoeffding-SSP (Rosenberg et al., 2020)", _context_free("hoeffding-ssp")),
        Entry("bernstein-ssp", "context-free: Bernstein-SSP (Rosenberg et al., 2020)", _context_free("bernstein-ssp")),
        Entry("eb-ssp", "context-free: EB-SSP with VISGO (Tarbouriech et al., 2021)", _context_free("eb-ssp")),
        Entry("ulcvi", "context-free: ULCVI (Cohen et al., 2021)", _context_free("ulcvi")),
        Entry(
            "psrl-ssp",
            "context-free: PSRL-SSP (Jafarnia-Jahromi et al., 2021)",
            _context_free("psrl-ssp"),
            also=("psrl",),
        ),
        Entry("clairvoyant", "knows the problem: no regret", clairvoyant, also=("oracle", "optimal")),
        Entry("random", "any action, until the goal", random_walk, also=("uniform", "random-walk")),
    ],
    group="learners",
)
"""The learners that a spec may name."""


def catalogued_card(name: str, settings: Mapping[str, Any] | None = None) -> LearnerCard:
    """The card of a learner of the catalog, with these settings and the defaults of the others.

    The learner is made for a problem of one state and two components, so not for settings that need another problem.
    """
    entry = LEARNERS.entry(name, "learners")
    wanted = inspect.signature(entry.make).parameters
    given = {"episodes": 1000, "log_law": ANY_LOG, "rng": np.random.default_rng(0)}
    values = entry.checked_settings(settings or {}, "learners")
    return learner_card(entry.make(_SMALL, **values, **{key: one for key, one in given.items() if key in wanted}))


_SMALL = LinearCSSP.dense([[[0.5, 0.2]], [[0.5, 0.2]]], [[[[0.0, 1.0], [0.9, 0.1]]], [[[0.0, 1.0], [0.5, 0.5]]]])
