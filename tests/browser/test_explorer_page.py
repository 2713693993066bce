"""The explorer in a real browser: its own solver against the planner, and what its controls do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from goalbound import Builder, solve
from goalbound.experiments.explorer import LearnerCourse, explorer_page
from goalbound.experiments.explorer.layout import make_layout
from goalbound.experiments.explorer.learner_views import LearnerView
from goalbound.experiments.explorer.optimum import model_json
from goalbound.models import LinearCSSP
from goalbound.planning import evaluate
from goalbound.problems import dense_random, long_corridor, random_cssp, treatment_ladder, windy_grid
from tests.support.browser_pages import asked_for, one, open_page, press, sized, texts, traces, waited, wrong

HOSTILE = '<img src=x onerror="window.broken = 1">'
CONTEXTS = 25
"""Random contexts at which each problem is compared."""


def free_steps():
    """Losses of zero, also on a loop that never arrives: what is cheapest is not proper."""
    plan = Builder(components=["a", "b"])
    plan.add("start", "turn", loss=0.0, to={"start": [1.0, 0.6], "shop": [0.0, 0.4]})
    plan.add("start", "walk", loss=[0.1, 0.3], to={"shop": 1.0})
    plan.add("shop", "rest", loss=0.0, to={"start": [0.5, 0.0], "shop": [0.5, 1.0]})
    plan.add("shop", "leave", loss=[0.5, 0.0], to={"goal": [0.2, 1.0], "shop": [0.8, 0.0]})
    return plan.linear_cssp()


def far_goal():
    """The goal is up to a thousand million steps away."""
    plan = Builder(components=["a", "b"])
    plan.add("far", "try", loss=0.5, to={"goal": [1e-9, 0.5], "near": [1e-3, 0.25], "far": [1 - 1e-3 - 1e-9, 0.25]})
    plan.add("near", "back", loss=1e-3, to={"far": [1 - 1e-6, 0.5], "goal": [1e-6, 0.5]})
    plan.add("near", "wait", loss=1e-6, to={"near": [1 - 1e-9, 1 - 1e-9], "goal": 1e-9})
    return plan.linear_cssp()


def one_way():
    """Under the first component a state has no proper policy."""
    plan = Builder(components=["a", "b"])
    plan.add("door", "open", loss=0.2, to={"goal": [0.0, 1.0], "door": [1.0, 0.0]})
    plan.add("hall", "go", loss=0.1, to={"goal": 0.5, "hall": 0.5})
    plan.add("hall", "door", loss=0.01, to={"door": 1.0})
    return plan.linear_cssp()


PROBLEMS = {
    "grid": windy_grid(3, 5), "random": random_cssp(15, context_size=5), "dense": dense_random(),
    "ladder": treatment_ladder(), "corridor": long_corridor(60), "free": free_steps(), "far": far_goal(),
    "one way": one_way(),
}  # fmt: skip


def page_of(folder, problem, **options):
    path = folder / "page.html"
    path.write_text(explorer_page(problem, **{"title": "a problem", "seconds": 0.3, **options}), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("grid"), windy_grid(2, 4))


@pytest.fixture
def page(browser, grid):
    sized(browser, 1400)
    open_page(browser, grid)
    drawn(browser)
    return browser


def drawn(page):
    """Wait for the next frame."""
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def context_of(page):
    return page.execute_script("return view.context")


def typed(page, words):
    page.execute_script("arguments[0].value = arguments[1]", one(page, "#weights"), words)
    press(page, "#typed button[type=submit]")
    drawn(page)


def shown_values(page):
    return [
        float(cell.get_attribute("data-value"))
        for cell in page.find_elements("css selector", "#state-table td:nth-child(3)")
    ]


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_solver_of_the_page_agrees_with_the_planner_at_random_contexts(page, name):
    problem, rng = PROBLEMS[name], np.random.default_rng(7)
    size = problem.context_size
    contexts = np.vstack([rng.dirichlet(np.ones(size), CONTEXTS), np.eye(size), np.full((1, size), 1 / size)])
    contexts[:5, 0] = 0.0  # on an edge, where some moves are not possible
    contexts /= contexts.sum(axis=1, keepdims=True)
    script = """
        const model = prepared(JSON.parse(arguments[0]));
        return arguments[1].map((context) => {
            const { values, steps, policy } = solvedAt(model, context);
            const finite = (numbers) => [...numbers].map((one) => (Number.isFinite(one) ? one : "inf"));
            return [finite(values), finite(steps), [...policy].map((pair) => (pair < 0 ? -1 : model.pairAction[pair]))];
        });
    """
    answers = page.execute_script(script, json.dumps(model_json(problem, exact=True)), contexts.tolist())
    for context, (values, steps, policy) in zip(contexts, answers, strict=True):
        ssp = problem.at(context)
        best = solve(ssp, tolerance=1e-12, unreachable="exclude")
        assert np.array([float(value) for value in values]) == pytest.approx(best.values, rel=1e-9)
        played = evaluate(ssp, policy)  # it is as good as the planner's, in truth
        assert played.values == pytest.approx(best.values, rel=1e-9)
        assert np.array([float(step) for step in steps]) == pytest.approx(played.hitting_times, rel=1e-9)
        assert (np.array(policy) < 0).tolist() == (best.policy < 0).tolist()


def test_nothing_goes_wrong_and_nothing_is_asked_of_the_network(page, grid):
    waited(page, lambda: page.execute_script("return document.body.dataset.regions === 'done'"))
    assert wrong(page) == []
    assert [url for url in asked_for(page, grid) if not url.startswith("data:")] == [grid]
    assert "within" in one(page, "#check").text


def test_what_is_shown_is_what_is_best_at_the_context(page):
    typed(page, "0.6, 1/10, 0.3")
    best = solve(windy_grid(2, 4).at([0.6, 0.1, 0.3]))
    assert shown_values(page) == pytest.approx(best.values[:-1], rel=1e-9)
    names = windy_grid(2, 4).support.action_names
    assert texts(page, "#state-table td:nth-child(2)") == [names[action] for action in best.policy]
    assert one(page, "#start-value").text.splitlines()[0] == f"{best.values[0]:.6g}"
    assert one(page, "#start-steps").text.splitlines()[0] == f"{best.hitting_times[0]:.6g}"
    assert one(page, "#origin").text == "Computed in the page at this context."
    press(page, "#corners button")
    drawn(page)
    assert "certified" in one(page, "#start-value").text


def test_weights_that_are_no_context_are_refused_with_a_remedy(page):
    before = context_of(page)
    for words in ("0.5, 0.5", "0.5, 0.6, 0.7", "-1, 1, 1", "a, b, c", "1, , 0"):
        typed(page, words)
        assert one(page, "#weights-note").text.startswith("Give 3 numbers")
        assert context_of(page) == before


def test_the_context_is_dragged_and_moved_by_the_keyboard_and_stays_on_the_simplex(page):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    handle = one(page, "#simplex .handle")
    before = context_of(page)
    ActionChains(page).click_and_hold(handle).move_by_offset(0, -60).release().perform()
    drawn(page)
    dragged = context_of(page)
    assert dragged[0] > before[0] + 0.1
    assert dragged[1] == pytest.approx(dragged[2], abs=0.02)
    ActionChains(page).click_and_hold(handle).move_by_offset(0, 330).release().perform()  # far out of the triangle
    drawn(page)
    assert context_of(page)[0] == 0.0
    handle.send_keys(Keys.ARROW_UP)
    drawn(page)
    assert context_of(page)[0] == pytest.approx(0.01)
    assert "calm 1.0%" in handle.get_attribute("aria-valuetext")
    for key in (Keys.ARROW_LEFT, Keys.ARROW_DOWN, Keys.ARROW_RIGHT):
        handle.send_keys(Keys.SHIFT + key)
    drawn(page)
    assert sum(context_of(page)) == pytest.approx(1.0)
    assert min(context_of(page)) >= 0.0


def test_regions_have_the_policies_of_the_planner(page):
    waited(page, lambda: page.execute_script("return document.body.dataset.regions === 'done'"))
    script = """
        const some = view.map.done.filter((_, at) => at % 47 === 0);
        const actions = (policy) => [...policy].map((pair) => model.pairAction[pair]);
        return some.map(({ corners, policies }) => [view.map.weights(corners[0]), actions(policies[0])]);
    """
    problem, found = windy_grid(2, 4), page.execute_script(script)
    assert len(found) > 20
    for context, policy in found:
        ssp = problem.at(np.array(context) / np.sum(context))
        assert evaluate(ssp, policy).values == pytest.approx(solve(ssp).values, rel=1e-9)
    assert len(page.find_elements("css selector", "#simplex .region")) >= 3
    shares = [float(text.rstrip("%")) for text in texts(page, "#policy-table td:nth-child(2)")]
    assert shares == sorted(shares, reverse=True)
    assert (
        90.0
        < page.execute_script("return 100 * view.policies.reduce((sum, { share }) => sum + share, 0)")
        <= 100.0 + 1e-9
    )


def test_the_simplex_is_coloured_by_the_action_of_the_chosen_state(page):
    waited(page, lambda: page.execute_script("return document.body.dataset.regions === 'done'"))
    before = len(page.find_elements("css selector", "#simplex .region"))
    press(page, "[data-choose=colour][data-value=state]")
    assert 1 <= len(page.find_elements("css selector", "#simplex .region")) <= before
    assert wrong(page) == []


def test_the_page_goes_to_where_the_bound_is_attained(page):
    press(page, "#loss-bound button")
    drawn(page)
    largest = float(one(page, "#largest-value").text.splitlines()[0])
    assert largest == pytest.approx(float(one(page, "#loss-bound").text.split()[0]), rel=1e-4)


def test_a_problem_without_context_has_nothing_to_drag(browser, tmp_path):
    problem = LinearCSSP.mix([windy_grid(2, 3).component(1)])
    open_page(browser, page_of(tmp_path, problem))
    drawn(browser)
    assert not one(browser, "#context").is_displayed()
    assert shown_values(browser) == pytest.approx(solve(problem.component(0)).values[:-1], rel=1e-9)
    assert wrong(browser) == []


def test_a_large_problem_is_shown_at_the_nearest_certified_context(browser, tmp_path, monkeypatch):
    problem = long_corridor(45)
    monkeypatch.setattr("goalbound.experiments.explorer.page.is_solved_in_page", lambda problem: False)
    open_page(browser, page_of(tmp_path, problem))
    typed(browser, "0.26, 0.74")  # the lattice has steps of 1/40
    best = solve(problem.at([0.25, 0.75]))
    assert np.all(shown_values(browser) >= best.lower[:-1])
    assert shown_values(browser) == pytest.approx(best.values[:-1], rel=1e-8)
    assert "(0.25, 0.75). Certified there." in one(browser, "#origin").text
    assert "too many for a picture" in one(browser, "#picture-note").text
    assert wrong(browser) == []


def learner_course():
    contexts = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    worst, best = [[0, 0, 0]] * 3, [[1, 1, 1]] * 3
    low, high = [[0.1, 0.2, 0.3]] * 3, [[0.5, None, 0.7]] * 3
    views = [
        LearnerView(0, worst, low, low, high, ["0" * 6] * 3), LearnerView(50, best, low, low, high, ["100001"] * 3),
    ]  # fmt: skip
    return LearnerCourse(HOSTILE, "a test", contexts, views, [HOSTILE], "a test")


def test_what_a_learner_would_do_is_shown_over_time_at_the_nearest_context(browser, tmp_path):
    problem = treatment_ladder(3, markers=1)
    address = page_of(tmp_path, problem, courses=[learner_course()], title=HOSTILE)
    sized(browser, 1400)
    open_page(browser, address)
    drawn(browser)
    assert one(browser, "#time-text").text == "50 episodes"
    row = [cell.text for cell in browser.find_elements("css selector", "#state-table tbody tr:nth-child(2) td")]
    actions = problem.support.action_names
    assert row[3:7] == [actions[1], "0.2", "0.2", "∞"]
    truth = evaluate(problem.at([0.5, 0.5]), [1, 1, 1]).values[1]
    assert float(row[7]) == pytest.approx(truth, rel=1e-5)
    assert "2 of 6 pairs are known." in one(browser, "#learner-note").text
    assert len(browser.find_elements("css selector", "#picture .dots .known")) == 2
    browser.execute_script(
        "arguments[0].value = 0; arguments[0].dispatchEvent(new Event('input'))", one(browser, "#time")
    )
    drawn(browser)
    assert one(browser, "#time-text").text == "0 episodes"
    assert "0 of 6 pairs are known." in one(browser, "#learner-note").text
    typed(browser, "0.6, 0.4")  # this leaves the contexts at which the learner was looked at
    assert "the nearest context, (0.5, 0.5)" in one(browser, "#learner-note").text
    press(browser, "#snap")
    drawn(browser)
    assert context_of(browser) == [0.5, 0.5]
    names = [trace["name"] for trace in traces(browser, "course")]
    assert names == ["at least", "estimate", "at most", "in truth", "optimal"]
    assert browser.execute_script("return window.broken") is None
    assert wrong(browser) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_a_phone_in_light_and_dark(browser, tmp_path, theme):
    sized(browser, 400)
    problem = random_cssp(30)
    open_page(browser, page_of(tmp_path, problem, layout=make_layout(problem.support)))
    press(browser, f"[data-choose=theme][data-value={theme}]")
    drawn(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 400
    colours = {"light": "rgb(251, 250, 247)", "dark": "rgb(20, 24, 31)"}
    assert (
        one(browser, "body")
        .value_of_css_property("background-color")
        .replace("rgba", "rgb")
        .startswith(colours[theme][:-1])
    )
    assert wrong(browser) == []
