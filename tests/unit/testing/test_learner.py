"""Each check of a learner's contract is triggered by a learner that breaks this one thing, and by nothing else."""

import json

import numpy as np
import pytest

from goalbound import LRCSSP, Clairvoyant, LinearCSSP
from goalbound.around.contexts import ContextBlind
from goalbound.errors import InputError
from goalbound.learners.card import LearnerCard
from goalbound.models.simulated import VALUE_TOLERANCE, suboptimality_gap
from goalbound.simulation import ModelEnvironment
from goalbound.testing import ContractError, check_learner, small_problem


class Cautious:
    """Keeps every rule: plays the dearest action under wet contexts, the first one else, never "wait"."""

    def __init__(self, problem: LinearCSSP) -> None:
        self.problem = problem
        self.observed = 0

    def begin(self, context):
        return CautiousEpisode(self, np.array(context))

    def choice(self, context, state, step):
        actions = [0, 1] if state == 0 else [1] if state == 1 else [0, 1]
        return actions[-1] if context[1] > 0.5 else actions[0]


class CautiousEpisode:
    def __init__(self, learner, context):
        self.learner, self.context = learner, context

    def act(self, state):
        return self.learner.choice(self.context, state, self.learner.observed)

    def observe(self, step):
        self.learner.observed += 1


def findings(make, **options):
    with pytest.raises(ContractError) as error:
        check_learner(make, **options)
    return error.value.findings


def test_learners_that_keep_the_contract_pass_in_silence():
    assert check_learner(Cautious) is None
    assert check_learner(Clairvoyant) is None
    assert check_learner(lambda problem: LRCSSP(problem.support, problem.context_size, loss_floor=0.2)) is None
    assert check_learner(lambda problem: ContextBlind(LRCSSP(problem.support, 1, loss_floor=0.2))) is None


def test_a_learner_is_made_as_an_experiment_makes_it():
    given = []

    def make(problem, *, episodes, rng, scale=1.0):
        given.append((problem, episodes, rng.random(), scale))
        return Cautious(problem)

    check_learner(make, episodes=7)
    assert {(episodes, drawn, scale) for _, episodes, drawn, scale in given} == {(7, given[0][2], 1.0)}


def test_what_is_no_function_is_refused():
    with pytest.raises(InputError, match="give a function that makes a new learner"):
        check_learner(Cautious(small_problem()))


def test_an_error_of_the_learner_is_a_finding_with_its_cause():
    def make(problem):
        raise KeyError("weights")

    with pytest.raises(ContractError, match=r"make: raised KeyError: 'weights'") as error:
        check_learner(make)
    assert isinstance(error.value.__cause__, KeyError)


def test_act_and_observe_are_missing():
    class Empty(Cautious):
        def begin(self, context):
            return object()

    with pytest.raises(ContractError, match="Empty: 2 things are wrong") as error:
        check_learner(Empty)
    assert [line.split(":")[0] for line in error.value.findings] == ["act", "observe"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (1.0, "in state 0 it gave 1.0, a float; give the number of an action, an int"),
        (True, "in state 0 it gave True, a bool"),
        ("run", "in state 0 it gave 'run', a str"),
        (None, "in state 0 it gave None"),
        (0, "in state 1 it gave 0, which that state does not have; there it has [1]"),
        (2, "in state 0 it gave 2, which that state does not have; there it has [0, 1]"),
    ],
)
def test_an_action_is_a_number_that_the_state_has(answer, message):
    class Wrong(Cautious):
        def choice(self, context, state, step):
            return answer

    (line,) = findings(Wrong)
    assert line.startswith("act: ")
    assert message in line


def test_the_context_is_not_the_learners_to_change():
    class Sorting(Cautious):
        def begin(self, context):
            episode = super().begin(context)
            if context.flags.writeable:
                context.sort()
            return episode

    (line,) = findings(Sorting)
    assert line == "begin: the array of the context was changed; change a copy: np.array(context)"


def test_a_learner_that_waits_for_ever_does_not_arrive():
    class Waiting(Cautious):
        def choice(self, context, state, step):
            return 2 if state == 2 else 1

    (line,) = findings(Waiting, step_limit=100)
    assert "episode 0 did not reach the goal in 100 steps" in line
    assert "next_state=2" in line


def test_what_is_random_comes_from_the_generator():
    class Moody(Cautious):
        made = 0

        def __init__(self, problem):
            super().__init__(problem)
            Moody.made += 1
            self.mood = Moody.made % 2

        def choice(self, context, state, step):
            return self.mood if state == 0 else super().choice(context, state, step)

    (line,) = findings(Moody)
    assert line.startswith("rng: two learners made alike, from the same rng, played differently (episode 0, step 0: ")


def test_act_says_the_same_until_observe():
    class Fickle(Cautious):
        asked = 0

        def choice(self, context, state, step):
            self.asked += 1
            return self.asked % 2 if state == 0 else super().choice(context, state, step)

    lines = findings(Fickle)
    assert any(
        "called again before observe, it gave another action: in state 0, step 0, it gave" in line for line in lines
    )


def test_asking_again_changes_nothing_later():
    class Counting(Cautious):
        """Counts in act what it should count in observe, and looks at the count when an episode begins."""

        asked = 0

        def begin(self, context):
            return CountingEpisode(self, self.asked % 2)

    class CountingEpisode(CautiousEpisode):
        def act(self, state):
            self.learner.asked += 1
            return self.context if state == 0 else 1

    (line,) = findings(Counting)
    assert line.startswith("act: calling it again before observe changed what it played later (episode ")


def test_an_episode_keeps_its_own_context():
    class OneAtATime(Cautious):
        def begin(self, context):
            self.context = np.array(context)
            return super().begin(context)

        def choice(self, context, state, step):
            return super().choice(self.context, state, step)

    (line,) = findings(OneAtATime)
    assert line == (
        "several open episodes: an episode gave another action when another was begun; "
        "keep context and plan in the episode, not in the learner"
    )


class Compiled(Cautious):
    """With a loop of its own, that a subclass may get wrong."""

    def play_episodes(self, environment, contexts, values, *, step_limit, results):
        mine = ModelEnvironment(environment.problem, rng=environment.rng, losses=environment.losses)
        for k, context in enumerate(contexts):
            state, steps = mine.begin(context), 0
            results.start[k] = state
            while state != environment.problem.support.states and steps < step_limit:
                step = mine.step(self.choice(context, state, self.observed))
                self.observed += 1
                results.loss[k] += step.loss
                pair = mine.problem.support.pair(step.state, step.action)
                results.expected_regret[k] += suboptimality_gap.python(
                    mine.components, pair, step.state, mine._context, values[k], VALUE_TOLERANCE
                )
                state, steps = step.next_state, steps + 1
            results.steps[k] = steps


def test_a_loop_of_its_own_that_plays_the_same_passes():
    check_learner(Compiled)


def test_a_loop_of_its_own_plays_what_act_and_observe_play():
    class Hasty(Compiled):
        def play_episodes(self, environment, contexts, values, *, step_limit, results):
            super().play_episodes(environment, contexts[:, ::-1], values, step_limit=step_limit, results=results)

    (line,) = findings(Hasty)
    assert line.startswith("play_episodes: loss of episode ")
    assert "by begin, act and observe; both must draw, learn and add up in the same order" in line


def test_a_loop_of_its_own_takes_no_numbers_more():
    class Greedy(Compiled):
        def play_episodes(self, environment, contexts, values, *, step_limit, results):
            super().play_episodes(environment, contexts, values, step_limit=step_limit, results=results)
            environment.rng.random()

    (line,) = findings(Greedy)
    assert line.startswith("play_episodes: it took more or fewer numbers from environment.rng")


class Saving(Cautious):
    """Changes its ways after 20 steps; so what it counted matters."""

    def choice(self, context, state, step):
        return 1 if step < 20 else super().choice(context, state, step)

    def save(self, path):
        path.write_text(json.dumps({"observed": self.observed}))

    @classmethod
    def load(cls, path):
        learner = cls(small_problem())
        learner.observed = json.loads(path.read_text())["observed"]
        return learner


def test_a_learner_that_is_saved_whole_passes():
    check_learner(Saving)


def test_what_was_loaded_goes_on_as_if_there_had_been_no_stop():
    class Forgetting(Saving):
        @classmethod
        def load(cls, path):
            return cls(small_problem())

    (line,) = findings(Forgetting)
    assert line.startswith("save and load: what was loaded played differently from what was saved (episode ")


def test_what_can_be_saved_can_be_loaded():
    class OneWay(Cautious):
        def save(self, path):
            path.write_text("all of it")

    (line,) = findings(OneWay)
    assert line == (
        "load: a OneWay has save, but neither load nor restored; "
        "give its class load(path), or a fresh learner restored(path)"
    )


def test_everything_that_is_wrong_is_reported_at_once():
    class Bad(Cautious):
        made = 0

        def __init__(self, problem):
            super().__init__(problem)
            Bad.made += 1
            self.mood = Bad.made % 2

        def begin(self, context):
            self.context = np.array(context)
            return super().begin(context)

        def choice(self, context, state, step):
            return self.mood if state == 2 else super().choice(self.context, state, step)

    lines = findings(Bad)
    assert [line.split(":")[0] for line in lines] == ["rng", "several open episodes"]


def with_card(card, base=Cautious):
    return type("Carded", (base,), {"card": card})


def test_a_card_that_is_true_passes():
    check_learner(with_card(LearnerCard(sees="contexts", guarantee="none")))


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("sees contexts", "card: it is 'sees contexts', a str; give a LearnerCard, or leave it out"),
        (None, "card: it is None, a NoneType; give a LearnerCard"),
        (LearnerCard(guarantee="proven"), "card: guarantee is proven, and theorem is empty; name the theorem"),
        (LearnerCard(guarantee="none", delta=1.5), "card: delta is 1.5; it is a probability between 0 and 1"),
        (LearnerCard(guarantee="none", scale=0.0), "card: scale is 0.0; it is a positive factor"),
    ],
)
def test_a_card_is_coherent(card, message):
    (line,) = findings(with_card(card))
    assert line.startswith(message)


def test_a_card_that_cannot_be_made_is_a_finding():
    class Broken(Cautious):
        @property
        def card(self):
            return LearnerCard(sees="everything")

    (line,) = findings(Broken)
    assert line.startswith("card: raised ArgumentError: the learner's card is ")


def test_learners_made_alike_have_the_same_card():
    class Counted(Cautious):
        made = 0

        def __init__(self, problem):
            super().__init__(problem)
            Counted.made += 1
            self.card = LearnerCard(guarantee="none", others={"made": Counted.made})

    (line,) = findings(Counted)
    assert line == "card: two learners made alike have different cards; derive it from the settings alone"


def test_a_learner_that_says_it_sees_nothing_plays_the_same_under_all_contexts():
    (line,) = findings(with_card(LearnerCard(sees="nothing", guarantee="none")))
    assert line.startswith("card: sees is nothing, and under another context episode ")

    class Constant(Cautious):
        card = LearnerCard(sees="nothing", guarantee="none")

        def choice(self, context, state, step):
            return 1

    check_learner(Constant)


class Counting(Cautious):
    """Its episodes count the steps in state 0 as unknown ones."""

    def begin(self, context):
        return CountingEpisode(self, np.array(context))


class CountingEpisode(CautiousEpisode):
    unknown_steps = 0

    def observe(self, step):
        super().observe(step)
        self.unknown_steps += step.state == 0


def test_unknown_steps_are_counted_by_learners_with_a_known_test():
    check_learner(with_card(LearnerCard(sees="contexts", guarantee="none", has_known_test=True), Counting))
    check_learner(Counting)
    check_learner(with_card(LearnerCard(sees="contexts", guarantee="none"), Counting))
    (line,) = findings(with_card(LearnerCard(sees="contexts", guarantee="none", has_known_test=True)))
    assert line.startswith("card: has_known_test is True, and episode 0, of ")
    assert "has unknown_steps None; count the steps" in line
