"""Real environments, mixed by the context, against the mixture of their tables."""

import numpy as np
import pytest
from scipy.stats import chi2

from goalbound import Step
from goalbound.errors import InputError

gymnasium = pytest.importorskip("gymnasium")

from goalbound.adapters.gymnasium import (  # noqa: E402 - only where gymnasium is there
    ContextualGymEnvironment,
    GymEnvironment,
    ParametricGymEnvironment,
    every_termination,
    from_environments,
    give_up,
    penalty_exit,
    per_step,
)

RIGHT, DOWN = 2, 1
RATES = np.array([1.0, 0.8, 1 / 3])
FALSE_ALARM = 1e-6  # of each statistical test, before its seed was chosen


def lakes():
    return [gymnasium.make("FrozenLake-v1", success_rate=rate) for rate in RATES]


def cliffs():
    return [gymnasium.make("CliffWalking-v1", is_slippery=slips) for slips in (False, True)]


def taxis():
    return [gymnasium.make("Taxi-v4"), gymnasium.make("Taxi-v4", is_rainy=True)]


def lake_at(context):
    return gymnasium.make("FrozenLake-v1", success_rate=float(context @ RATES), max_episode_steps=-1)


def taxi_at(context):
    # Rain is the default chance, 0.8, of going where one steers; dry is 1.
    chance = float(context @ [1.0, 0.8])
    return gymnasium.make("Taxi-v4", is_rainy=True, rainy_probability=chance, max_episode_steps=-1)


def mixed(environments, *, seed=0, **interpretation):
    read = from_environments(environments, **interpretation)
    return read, ContextualGymEnvironment(read, environments, rng=np.random.default_rng(seed))


def random_steps(problem, environment, context, *, count, seed):
    """``count`` steps of evenly drawn actions, episode after episode; and the first state of each episode."""
    rng = np.random.default_rng(seed)
    steps, starts, state = [], [], problem.support.states
    for _ in range(count):
        if state == problem.support.states:
            state = environment.begin(context)
            starts.append(state)
        first, last = problem.support.pair_start[state : state + 2]
        steps.append(environment.step(int(problem.support.pair_action[rng.integers(first, last)])))
        assert steps[-1].state == state
        state = steps[-1].next_state
    return steps, starts


def counted(problem, steps):
    """[N] the loss paid at each pair, and [M] how often each next state followed."""
    support = problem.support
    losses, follows = np.zeros(support.pairs), np.zeros(support.triples)
    pair_of = {
        (int(state), int(action)): pair
        for pair, (state, action) in enumerate(zip(support.pair_state, support.pair_action, strict=True))
    }
    for step in steps:
        pair = pair_of[step.state, step.action]
        row = support.row(pair)
        losses[pair] += step.loss
        follows[row.start + np.searchsorted(support.next_state[row], step.next_state)] += 1
    return losses, follows


def chi_square(problem, context, steps):
    """Pearson's statistic of the next states, given the pairs, and its degrees of freedom.

    Pairs that expect fewer than 5 visits of a next state are pooled with those that have the same probabilities.
    """
    follows, probabilities = counted(problem, steps)[1], problem.at(context).probabilities
    groups = {}
    for pair in range(problem.support.pairs):
        row = problem.support.row(pair)
        assert not follows[row][probabilities[row] == 0.0].any()
        order = np.argsort(probabilities[row], kind="stable")[(probabilities[row] == 0.0).sum() :]
        law, found = probabilities[row][order].round(12), follows[row][order]
        key = pair if found.sum() * law[0] >= 5.0 else law.tobytes()
        groups[key] = (law, groups[key][1] + found if key in groups else found)
    statistic, freedom = 0.0, 0
    for law, found in groups.values():
        expected = found.sum() * law
        if len(law) > 1 and expected[0] >= 5.0:
            statistic += float(((found - expected) ** 2 / expected).sum())
            freedom += len(law) - 1
    return statistic, freedom


def gaps(problem, context, steps):
    """How far the losses, and the arrivals at the likeliest next states, sum from what the table expects of them."""
    support, ssp = problem.support, problem.at(context)
    losses, follows = counted(problem, steps)
    visits = np.add.reduceat(follows, support.next_start[:-1])
    likeliest = [support.row(pair).start + ssp.probabilities[support.row(pair)].argmax() for pair in range(len(visits))]
    arrivals = follows[likeliest] - visits * ssp.probabilities[likeliest]
    return abs(losses.sum() - visits @ ssp.losses), abs(arrivals.sum())


@pytest.mark.parametrize(
    ("environments", "make", "context", "other", "least"),
    [
        (lakes, lake_at, [0.2, 0.5, 0.3], [0.2, 0.3, 0.5], 60),
        (cliffs, None, [0.6, 0.4], [0.4, 0.6], 120),
        (taxis, taxi_at, [0.3, 0.7], [0.7, 0.3], 3),
    ],
)
def test_real_steps_have_the_law_of_the_mixed_table(environments, make, context, other, least):
    # Next states: chi-square, false alarm 1e-6. Sums over all steps of what is in [0, 1] and has the table's mean given
    # the past: farther off than sqrt(count / 2 * log(2 / alpha)) with probability at most alpha = 1e-6 (Azuma).
    count = 20_000
    near = np.sqrt(count / 2 * np.log(2 / FALSE_ALARM))
    read, environment = mixed(environments(), seed=1)
    played = [environment]
    if make is not None:
        kept = make(np.array(context))  # making one per episode would take most of the time
        played.append(ParametricGymEnvironment(read, lambda _: kept, rng=np.random.default_rng(1)))
    for one in played:
        steps, _ = random_steps(read.problem, one, context, count=count, seed=2)
        statistic, freedom = chi_square(read.problem, context, steps)
        assert freedom >= least
        assert statistic < chi2.isf(FALSE_ALARM, freedom)
        assert max(gaps(read.problem, context, steps)) < near
        # The same steps do not fit a context that is not far away.
        assert gaps(read.problem, other, steps)[1] > near


def test_losses_of_a_pair_have_the_mean_of_the_mixed_table():
    # From the first state of this map, right falls into a hole in component 1 only, with loss 1; a step loses 0.1. The
    # mean of n losses in [0.1, 1] is farther off than 0.9 sqrt(log(2 / alpha) / 2n) with probability at most alpha.
    maps = [gymnasium.make("FrozenLake-v1", desc=rows, is_slippery=False) for rows in (["SFG", "FFF"], ["SHG", "FFF"])]
    read, environment = mixed([*maps], seed=3)
    count, expected = 5000, 0.7 * 0.1 + 0.3 * 1.0
    losses = []
    for _ in range(count):
        assert environment.begin([0.7, 0.3]) == 0
        losses.append(environment.step(RIGHT).loss)
    assert set(losses) == {0.1, 1.0}
    assert read.problem.at([0.7, 0.3]).losses[read.problem.support.pair(0, RIGHT)] == pytest.approx(expected)
    assert abs(np.mean(losses) - expected) < 0.9 * np.sqrt(np.log(2 / FALSE_ALARM) / (2 * count))


def test_first_states_have_the_start_law_mixed_by_the_context():
    # S in two corners of one map, in one of the other: corner 2 has probability 0.4 / 2. The share among n episodes is
    # farther off than sqrt(log(2 / alpha) / 2n) with probability at most alpha (Hoeffding).
    maps = [gymnasium.make("FrozenLake-v1", desc=rows) for rows in (["SFS", "FFG"], ["SFF", "FFG"])]
    read, environment = mixed(maps)
    count = 5000
    starts = np.array([environment.begin([0.4, 0.6]) for _ in range(count)])
    assert set(starts) == {read.state(0), read.state(2)}
    assert abs((starts == read.state(2)).mean() - 0.2) < np.sqrt(np.log(2 / FALSE_ALARM) / (2 * count))


def test_a_restart_is_that_of_the_environment_that_fell():
    # Both maps have a hole below 1; the first restarts in either corner, the second in the left one.
    maps = [gymnasium.make("FrozenLake-v1", desc=rows, is_slippery=False) for rows in (["SFS", "FHG"], ["SFF", "FHG"])]
    read, environment = mixed(maps)
    for context, expected in (([1.0, 0.0], {0, 2}), ([0.0, 1.0], {0}), ([0.5, 0.5], {0, 2})):
        landed = set()
        for _ in range(60):  # a corner of its law is missed with probability (1 - 3/16)^60 < 1e-5 at most
            environment.begin(context)
            state = environment.step(RIGHT).next_state
            if state != read.state(1):  # it started in the right corner
                continue
            fall = environment.step(DOWN)
            assert fall.loss == 1.0
            landed.add(fall.next_state)
            assert environment.step(0).state == fall.next_state  # the episode goes on there
        assert landed == {read.state(observation) for observation in expected}


@pytest.mark.parametrize("environments", [lakes, cliffs, taxis])
def test_the_same_seed_gives_the_same_run_and_another_one_another(environments):
    runs = []
    for seed in (5, 5, 6):
        made = environments()
        for env in made:
            env.reset(seed=seed + len(runs))  # what happened to them before does not matter
        read, environment = mixed(made, seed=seed)
        context = np.full(len(made), 1 / len(made))
        runs.append(random_steps(read.problem, environment, context, count=1500, seed=7))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_the_same_seed_gives_the_same_run_of_one_environment_per_context_whether_made_once_or_often():
    read = from_environments(lakes())
    kept = lake_at(np.full(3, 1 / 3))
    runs = []
    for make in (lake_at, lake_at, lambda _: kept):
        environment = ParametricGymEnvironment(read, make, rng=np.random.default_rng(5))
        runs.append(random_steps(read.problem, environment, np.full(3, 1 / 3), count=600, seed=7))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("component", [0, 1])
def test_a_context_that_is_all_on_one_component_is_that_environment_draw_for_draw(component):
    read, environment = mixed(taxis(), seed=8)
    seeds = np.random.default_rng(8).integers(2**63, size=2)
    alone = GymEnvironment(read, taxis()[component].unwrapped)
    alone.begin(seed=int(seeds[component]))  # as the mixing environment seeds it

    class Alone:
        def begin(self, _):
            return alone.begin()

        def step(self, action):
            return alone.step(action)

    corner = np.eye(2)[component]
    found = random_steps(read.problem, environment, corner, count=2000, seed=9)
    assert found == random_steps(read.problem, Alone(), corner, count=2000, seed=9)


@pytest.mark.parametrize(("environments", "make"), [(lakes, lake_at), (taxis, taxi_at)])
def test_the_parameter_of_the_environment_mixes_as_the_context_does(environments, make):
    # The table of the environment with the mixed parameter is the mixture of the tables, up to rounding.
    read, context = from_environments(environments()), np.random.default_rng(0).dirichlet(np.ones(len(environments())))
    expected, found = read.problem.at(context), from_environments([make(context)]).problem.component(0)
    assert found.support.same_pairs(expected.support)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=0, atol=1e-15)
    positive = expected.probabilities > 0.0
    np.testing.assert_array_equal(found.support.next_state, expected.support.next_state[positive])
    np.testing.assert_allclose(found.probabilities, expected.probabilities[positive], rtol=0, atol=1e-15)


@pytest.mark.parametrize("environments", [lakes, cliffs, taxis])
def test_a_step_depends_on_nothing_but_the_state_that_was_set_and_the_generator(environments):
    # Two copies with different pasts, put into one state with one seed, answer alike: what they keep besides (the last
    # action, the orientation of the taxi, the passenger's mood) is for rendering or for variants that are refused.
    rng = np.random.default_rng(0)
    fresh, worn = environments()[-1].unwrapped, environments()[-1].unwrapped
    observations = from_environments([environments()[-1]]).observations
    for observation in rng.choice(observations, size=30).tolist():
        seed, actions = int(rng.integers(2**31)), int(fresh.action_space.n)
        worn.reset()
        for action in rng.integers(actions, size=4):
            worn.step(int(action))
        for action in range(actions):
            answers = []
            for env in (fresh, worn):
                env.reset(seed=seed)
                env.s = observation
                answers.append(env.step(action)[:4])
            assert answers[0] == answers[1]


def test_time_limits_of_the_mixed_environments_count_for_nothing():
    short = [gymnasium.make("FrozenLake-v1", success_rate=rate, max_episode_steps=2) for rate in (1.0, 0.5)]
    read, environment = mixed(short)
    environment.begin([0.5, 0.5])
    assert all(environment.step(3).next_state != read.problem.support.states for _ in range(50))  # up, along the edge


def test_truncation_is_never_the_goal():
    def short(_):
        return gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=2)

    read = from_environments([short(None)])
    environment = ParametricGymEnvironment(read, short, rng=np.random.default_rng(0))
    environment.begin([1.0])
    environment.step(DOWN)
    with pytest.raises(InputError, match=r"truncated at observation 8; truncation is not the goal: .*steps=-1"):
        environment.step(DOWN)
    with pytest.raises(InputError, match="no episode is open"):
        environment.step(DOWN)


class Line:
    """Observations 0, 1, 2 in a row; action 0 goes right, and beyond 2 it ends. Not an environment of Gymnasium."""

    action_space = observation_space = spec = None
    initial_state_distrib = (1.0, 0.0, 0.0)
    P = {at: {0: [(1.0, min(at + 1, 2), -1.0, at == 2)]} for at in range(3)}  # noqa: RUF012

    def __init__(self, *, truncates=False):
        self.s, self.truncates = 0, truncates

    @property
    def unwrapped(self):
        return self

    def reset(self, *, seed=None):
        self.s = 0
        return self.s, {}

    def step(self, action):
        _, self.s, reward, terminated = self.P[self.s][action][0]
        return self.s, reward, terminated, self.truncates, {}


class HiddenLine(Line):
    """Keeps its state elsewhere."""

    s = property(lambda self: self.hidden)

    def __init__(self):
        self.hidden = 0

    def reset(self, *, seed=None):
        self.hidden = 0
        return 0, {}


class ShownLine(Line):
    """Shows its state as ``s`` but does not go by it."""

    def reset(self, *, seed=None):
        self.at = 0
        return super().reset()

    def step(self, action):
        self.s = self.at
        answer = super().step(action)
        self.at = self.s
        return answer


def lines(*made):
    read = from_environments(made, losses=per_step(0.5), goals=every_termination)
    return ContextualGymEnvironment(read, made, rng=np.random.default_rng(0))


def test_any_environment_that_keeps_its_state_as_s_can_be_mixed():
    environment = lines(Line(), Line())
    assert environment.begin([0.5, 0.5]) == 0
    assert [environment.step(0) for _ in range(3)] == [Step(0, 0, 0.5, 1), Step(1, 0, 0.5, 2), Step(2, 0, 0.5, 3)]


def test_an_environment_whose_state_cannot_be_set_is_named():
    with pytest.raises(InputError, match=r"environment 1 \(HiddenLine\) cannot be put into a state: .*unwrapped.s"):
        lines(Line(), HiddenLine())


def test_an_environment_that_does_not_go_by_its_s_is_noticed():
    environment = lines(Line(), ShownLine())
    environment.begin([1.0, 0.0])
    environment.step(0)
    environment._cumulative = np.array([0.0, 1.0])  # from here on it is the other one's turn, which still stands at 0
    with pytest.raises(InputError, match=r"ShownLine led from .*observation 1.* to .*observation 1.*cannot lead"):
        environment.step(0)


def test_an_environment_that_truncates_by_itself_is_an_error():
    environment = lines(Line(truncates=True))
    environment.begin([1.0])
    with pytest.raises(InputError, match="Line was truncated at observation 1; truncation is not the goal"):
        environment.step(0)


def test_penalties_and_giving_up_are_as_in_the_problem():
    maps = [gymnasium.make("FrozenLake-v1", desc=rows, is_slippery=False) for rows in (["SFG", "FFF"], ["SHG", "FFF"])]
    read, environment = mixed(maps, failures=penalty_exit(loss=0.75))
    environment.begin([0.0, 1.0])
    assert environment.step(RIGHT)[2:] == (0.75, read.problem.support.states)
    read, environment = mixed(maps, failures=give_up(loss=0.5))
    environment.begin([0.0, 1.0])
    assert environment.step(RIGHT)[2:] == (0.1, read.failure_state)
    assert environment.step(read.give_up_action)[2:] == (0.5, read.problem.support.states)


@pytest.mark.parametrize("kind", ["mixed", "parametric"])
@pytest.mark.parametrize(
    ("context", "message"),
    [
        ([0.5, 0.5], r"context has shape \(2,\); it needs 3 numbers, one per component"),
        ([0.5, 0.5, 0.5], "context sums to 1.5, not 1"),
        ([1.5, -0.5, 0.0], r"context\[0\]: weight 1.5 is not in \[0, 1\]"),
    ],
)
def test_what_is_no_context_is_an_error(kind, context, message):
    read, environment = mixed(lakes())
    if kind == "parametric":
        environment = ParametricGymEnvironment(read, lake_at, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=message):
        environment.begin(context)
    with pytest.raises(InputError, match="no episode is open"):
        environment.step(0)


def test_a_component_can_be_named():
    read = from_environments(taxis(), component_names=["dry", "rain"])
    environment = ContextualGymEnvironment(read, taxis(), rng=np.random.default_rng(0))
    again = ContextualGymEnvironment(read, taxis(), rng=np.random.default_rng(0))
    assert environment.begin("rain") == again.begin([0.0, 1.0])
    assert [environment.step(1) for _ in range(20)] == [again.step(1) for _ in range(20)]


def test_other_environments_than_those_read_are_named():
    read, rng = from_environments(lakes()), np.random.default_rng(0)
    one, two, three = lakes()
    with pytest.raises(InputError, match="2 environments for 3 components; give those"):
        ContextualGymEnvironment(read, [one, two], rng=rng)
    with pytest.raises(InputError, match=r"environment 1 \(FrozenLake-v1\) is not what component 1 of the problem was"):
        ContextualGymEnvironment(read, [one, three, two], rng=rng)
    with pytest.raises(InputError, match="fickle_passenger"):
        ContextualGymEnvironment(read, [one, two, gymnasium.make("Taxi-v4", fickle_passenger=True)], rng=rng)
    with pytest.raises(InputError, match=r"rng is of the type int; it is a generator"):
        ContextualGymEnvironment(read, [one, two, three], rng=0)
    with pytest.raises(InputError, match=r"rng is of the type int; it is a generator"):
        ParametricGymEnvironment(read, lake_at, rng=0)
