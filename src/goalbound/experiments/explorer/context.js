// What the page knows: the model, the context and what was chosen; what is best there, and what the learner would do.
"use strict";

const explorer = page.explorer,
  { certified, courses } = explorer,
  names = explorer.model.components;
const model = explorer.exact
  ? prepared(explorer.model)
  : {
      ...explorer.model,
      count: explorer.model.states.length,
      size: names.length,
      pairState: pairStates(explorer.model),
    };
const MOST_ROWS = 300,
  MOST_LISTED = 8,
  REGION_SECONDS = 4,
  STRIP_SECONDS = 0.4;
const BASE = model.count <= 60 ? 24 : 12,
  DEPTH = model.count <= 20 ? 3 : 2,
  SAME = 1e-9;
const view = {
  context: null,
  state: startState(),
  course: 0,
  time: 0,
  colour: "policy",
  hint: null,
  policies: [],
  map: null,
  waiting: false,
};
const element = (id) => document.getElementById(id);
const exactly = (value) =>
  !Number.isFinite(value)
    ? "infinite"
    : value === 0
      ? "0"
      : Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4
        ? value.toExponential(4)
        : String(+value.toPrecision(6));
/** A bound in few digits, rounded to the side on which it stays one: way -1 for lower bounds, 1 for upper ones. */
const boundText = (value, way, digits = 6) => {
  if (value === null || !Number.isFinite(value)) return "∞";
  const text = +value.toPrecision(digits),
    unit = 10 ** (Math.floor(Math.log10(Math.abs(value) || 1)) - digits + 1);
  return String(+((text - value) * way < 0 ? text + way * unit : text).toPrecision(digits));
};
const weightsText = (context) => context.map((weight) => +weight.toFixed(4)).join(", ");

function startLaw(context) {
  const { start } = model;
  if (typeof start === "number") return model.states.map((_, state) => +(state === start));
  return start.map((one) =>
    Array.isArray(one) ? one.reduce((sum, weight, part) => sum + weight * context[part], 0) : one,
  );
}

function startState() {
  const law = startLaw(names.map(() => 1 / names.length));
  return law.indexOf(Math.max(...law));
}

const mean = (values, law) =>
  law.reduce((sum, weight, state) => (weight > 0 ? sum + weight * values[state] : sum), 0);
const pairOf = (state, action) => {
  for (let pair = model.pairStart[state]; pair < model.pairStart[state + 1]; pair += 1)
    if (model.pairAction[pair] === action) return pair;
  return -1;
};
const pairsOf = (actions) => Int32Array.from(actions, (action, state) => pairOf(state, action));
/** Whether a pair is not best in a state; pairs that tie with the best are. */
const isWorse = ({ mixed, values, policy }, state, pair) =>
  pair !== policy[state] &&
  !(mixed && pair >= 0 && pairValue(model, mixed, pair, values) <= values[state] * (1 + SAME));
const actionAt = (state, pair) => (pair < 0 ? "no proper policy" : model.actions[model.pairAction[pair]]);

// What is best ----------------------------------------------------------------------------------------------------
/** The solution of goalbound at one of its contexts; values are upper bounds, which are those of the policy. */
function certifiedAt(place) {
  const fill = (row) => Float64Array.from([...row.map((one) => (one === null ? Infinity : one)), 0]);
  return {
    context: certified.contexts[place],
    policy: pairsOf(certified.policy[place]),
    values: fill(certified.upper[place]),
    lower: fill(certified.lower[place]),
    steps: fill(certified.times[place]),
    certified: true,
  };
}

function solutionAt(context) {
  if (!explorer.exact) return certifiedAt(nearestOf(certified.contexts, context));
  const found = solvedAt(model, context, view.hint),
    place = certified.contexts.findIndex((one) => distance(one, context) < 1e-12);
  view.hint = found.policy;
  if (place < 0) return found;
  const { values: upper, lower } = certifiedAt(place);
  return { ...found, lower, upper };
}

/** The largest relative distance of what the page computes from the certified intervals, at all of them. */
function checkSolver() {
  let worst = 0;
  certified.contexts.forEach((context, place) => {
    const { values, policy } = solvedAt(model, context),
      { values: upper, lower } = certifiedAt(place);
    policy.forEach((pair, state) => {
      if (pair < 0 !== (upper[state] === Infinity)) worst = Infinity;
      else if (pair >= 0 && upper[state] > 0)
        worst = Math.max(
          worst,
          (values[state] - upper[state]) / upper[state],
          (lower[state] - values[state]) / upper[state],
        );
    });
  });
  return worst;
}

// What the learner would do ---------------------------------------------------------------------------------------
const course = () => courses[view.course];

/** What the learner would do at the nearest context at which it was looked at; null without learner or plan. */
function learnedAt(context, time = view.time) {
  if (!courses.length) return null;
  const found = course().views[time],
    place = nearestOf(course().contexts, context),
    policy = found.policy[place];
  return {
    place,
    context: course().contexts[place],
    policy: policy && pairsOf(policy),
    lower: found.lower[place],
    estimate: found.estimate[place],
    upper: found.upper[place],
    known: found.known[place],
  };
}

/** The true loss of what the learner would do, at the context at which it was looked at. */
function trueValues(learned) {
  if (!learned?.policy || !explorer.exact || explorer.estimated) return null;
  return evaluatedPolicy(model, mixedAt(model, learned.context), learned.policy).values;
}
