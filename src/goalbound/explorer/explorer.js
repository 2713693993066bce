// The explorer: one context, what is best under it, and what a learner would do. See solver.js, regions.js, pictures.js.
"use strict";

const explorer = page.explorer, { certified, courses } = explorer, names = explorer.model.components;
const model = explorer.exact ? prepared(explorer.model) : { ...explorer.model, count: explorer.model.states.length, size: names.length, pairState: pairStates(explorer.model) };
const MOST_ROWS = 300, MOST_LISTED = 8, REGION_SECONDS = 4, STRIP_SECONDS = 0.4;
const BASE = model.count <= 60 ? 24 : 12, DEPTH = model.count <= 20 ? 3 : 2, SAME = 1e-9;
const view = { context: null, state: startState(), course: 0, time: 0, colour: "policy", hint: null, policies: [], map: null, waiting: false };
const element = (id) => document.getElementById(id);
const exactly = (value) => (!Number.isFinite(value) ? "infinite" : value === 0 ? "0"
  : Math.abs(value) >= 1e7 || Math.abs(value) < 1e-4 ? value.toExponential(4) : String(+value.toPrecision(6)));
/** A bound in few digits, rounded to the side on which it stays one: way -1 for lower bounds, 1 for upper ones. */
const boundText = (value, way, digits = 6) => {
  if (value === null || !Number.isFinite(value)) return "∞";
  const text = +value.toPrecision(digits), unit = 10 ** (Math.floor(Math.log10(Math.abs(value) || 1)) - digits + 1);
  return String(+((text - value) * way < 0 ? text + way * unit : text).toPrecision(digits));
};
const weightsText = (context) => context.map((weight) => +weight.toFixed(4)).join(", ");

function startLaw(context) {
  const { start } = model;
  if (typeof start === "number") return model.states.map((_, state) => +(state === start));
  return start.map((one) => (Array.isArray(one) ? one.reduce((sum, weight, part) => sum + weight * context[part], 0) : one));
}

function startState() {
  const law = startLaw(names.map(() => 1 / names.length));
  return law.indexOf(Math.max(...law));
}

const mean = (values, law) => law.reduce((sum, weight, state) => (weight > 0 ? sum + weight * values[state] : sum), 0);
const pairOf = (state, action) => {
  for (let pair = model.pairStart[state]; pair < model.pairStart[state + 1]; pair += 1) if (model.pairAction[pair] === action) return pair;
  return -1;
};
const pairsOf = (actions) => Int32Array.from(actions, (action, state) => pairOf(state, action));
const actionAt = (state, pair) => (pair < 0 ? "no proper policy" : model.actions[model.pairAction[pair]]);

// What is best ----------------------------------------------------------------------------------------------------
/** The solution of goalbound at one of its contexts; values are upper bounds, which are those of the policy. */
function certifiedAt(place) {
  const fill = (row) => Float64Array.from([...row.map((one) => (one === null ? Infinity : one)), 0]);
  return { context: certified.contexts[place], policy: pairsOf(certified.policy[place]), values: fill(certified.upper[place]),
    lower: fill(certified.lower[place]), steps: fill(certified.times[place]), certified: true };
}

function solutionAt(context) {
  if (!explorer.exact) return certifiedAt(nearestOf(certified.contexts, context));
  const found = solvedAt(model, context, view.hint), place = certified.contexts.findIndex((one) => distance(one, context) < 1e-12);
  view.hint = found.policy;
  if (place < 0) return found;
  const { values: upper, lower } = certifiedAt(place);
  return { ...found, lower, upper };
}

/** The largest relative distance of what the page computes from the certified intervals, at all of them. */
function checkSolver() {
  let worst = 0;
  certified.contexts.forEach((context, place) => {
    const { values, policy } = solvedAt(model, context), { values: upper, lower } = certifiedAt(place);
    policy.forEach((pair, state) => {
      if ((pair < 0) !== (upper[state] === Infinity)) worst = Infinity;
      else if (pair >= 0 && upper[state] > 0) worst = Math.max(worst, (values[state] - upper[state]) / upper[state], (lower[state] - values[state]) / upper[state]);
    });
  });
  return worst;
}

// What the learner would do ---------------------------------------------------------------------------------------
const course = () => courses[view.course];

/** What the learner would do at the nearest context at which it was looked at; null without learner or plan. */
function learnedAt(context, time = view.time) {
  if (!courses.length) return null;
  const found = course().views[time], place = nearestOf(course().contexts, context), policy = found.policy[place];
  return { place, context: course().contexts[place], policy: policy && pairsOf(policy), lower: found.lower[place],
    estimate: found.estimate[place], upper: found.upper[place], known: found.known[place] };
}

/** The true loss of what the learner would do, at the context at which it was looked at. */
function trueValues(learned) {
  if (!learned?.policy || !explorer.exact || explorer.estimated) return null;
  return evaluatedPolicy(model, mixedAt(model, learned.context), learned.policy).values;
}

// Showing ---------------------------------------------------------------------------------------------------------
function setContext(context) {
  const snapped = element("snap")?.checked ? course().contexts[nearestOf(course().contexts, context)] : context;
  view.context = snapped.slice();
  if (view.waiting) return;
  view.waiting = true;
  requestAnimationFrame(() => { view.waiting = false; render(); });
}

function render() {
  const { context } = view, solution = solutionAt(context), learned = learnedAt(context);
  solution.largest = Math.max(...solution.values.filter(Number.isFinite));
  view.solution = solution;
  view.learned = learned;
  view.truth = trueValues(learned);
  simplex?.set(context);
  simplex?.mark(courses.length ? course().contexts : [], learned?.place);
  sliders.set(context);
  if (document.activeElement !== element("weights")) element("weights").value = weightsText(context);
  showNumbers(solution);
  showLearner(learned);
  picture?.draw({ solution, learned, selected: view.state, number: (value) => (Number.isFinite(value) ? String(+value.toPrecision(3)) : "∞") });
  showActions(solution, learned);
  showStates(solution, learned);
  showCourse();
  if (names.length > 3) paintStrips();
}

function showNumbers(solution) {
  const law = startLaw(solution.context), { values, steps, lower, upper } = solution;
  const put = (id, text, note = "") => {
    const small = Object.assign(document.createElement("small"), { textContent: note });
    element(id)?.replaceChildren(text, ...(note ? [small] : []));
  };
  const proven = (low, high) => (high - low < 1e-6 * high ? `certified within ${((high - low) / high).toExponential(0).replace("-", "\u2011")}`
    : `certified: ${boundText(low * model.scale, -1)} to ${boundText(high * model.scale, 1)}`);
  const high = upper ?? (solution.certified ? values : null), one = law.filter((weight) => weight > 0).length === 1;
  put("start-value", exactly(mean(values, law) * model.scale), lower ? proven(mean(lower, law), mean(high, law)) : "");
  put("start-steps", exactly(mean(steps, law)), one ? `from ${shortened(model.states[law.indexOf(1)] ?? "the start", 22)}` : "over the start states");
  const worst = (numbers) => numbers.slice(0, -1).reduce((best, value, state) => (value > numbers[best] ? state : best), 0);
  for (const [id, numbers, scale] of [["largest-value", values, model.scale], ["largest-steps", steps, 1]]) {
    put(id, exactly(numbers[worst(numbers)] * scale), `from ${shortened(model.states[worst(numbers)], 26)}`);
  }
  const where = explorer.exact ? (lower ? "Computed in the page; goalbound has certified values at this context, as shown."
    : "Computed in the page at this context.") : `The nearest of ${certified.contexts.length} contexts that goalbound has solved: (${weightsText(solution.context)}). Certified there.`;
  element("origin").textContent = where;
}

function showBounds() {
  for (const [id, found, scale] of [["loss-bound", explorer.bounds?.loss, model.scale], ["time-bound", explorer.bounds?.time, 1]]) {
    if (!found) continue;
    const number = (value, way) => (value === null ? "∞" : boundText(value * scale, way, 4));
    const go = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "where" });
    go.addEventListener("click", () => { choose(found.state); setContext(found.context); });
    const small = Object.assign(document.createElement("small"), { textContent: `certified${found.status === "converged" ? "" : ", search stopped"} ` });
    const narrow = found.upper !== null && found.upper - found.lower < 1e-5 * found.upper;
    const text = narrow ? exactly(found.upper * scale) : `${number(found.lower, -1)} to ${number(found.upper, 1)}`;
    small.title = found.status;
    small.append(go);
    element(id).replaceChildren(text, small);
  }
}

function showLearner(learned) {
  if (!courses.length) return;
  const { views } = course(), episodes = views[view.time].episodes;
  Object.assign(element("time"), { max: views.length - 1, value: view.time });
  element("time-label").hidden = views.length < 2 && episodes === null;
  element("time").hidden = views.length < 2;
  const text = episodes === null ? "" : `${episodes.toLocaleString("en")} episodes`;
  element("time-text").textContent = text;
  element("time").setAttribute("aria-valuetext", text);
  const away = distance(learned.context, view.context), parts = [];
  if (away > 1e-9) parts.push(`Looked at under the nearest context, (${weightsText(learned.context)}), ${away.toFixed(3)} away.`);
  if (!learned.policy) parts.push("It has no plan here.");
  else {
    const differs = [...learned.policy].filter((pair, state) => pair !== view.solution.policy[state]).length;
    parts.push(differs ? `It differs from the ${explorer.estimated ? "estimate's " : ""}best policy in ${differs} of ${model.count} states.` : "It plays the best policy.");
    if (learned.known) parts.push(`${[...learned.known].filter((one) => one === "1").length} of ${learned.known.length} pairs are known.`);
    if (!learned.lower) parts.push("It has no bounds of what it loses.");
  }
  element("learner-note").textContent = parts.join(" ");
}

const cell = (text, tag = "td", className = "") => Object.assign(document.createElement(tag), { textContent: text, className });

function tableHead(heads, texts) {
  const head = document.createElement("thead"), row = head.insertRow();
  heads.forEach((text, at) => { const one = cell(text, "th", at < texts ? "text" : ""); one.scope = "col"; row.append(one); });
  return head;
}

/** The actions of the chosen state, each with what it is worth. */
function showActions({ mixed, values, policy }, learned) {
  const { state } = view, table = document.createElement("table"), body = document.createElement("tbody");
  element("state-heading").textContent = model.states[state];
  const heads = ["action", ...(mixed ? ["loss of the step", "worth", "beyond the best", "leads to"] : []), ...(learned?.known ? ["known"] : []), ""];
  for (let pair = model.pairStart[state]; pair < model.pairStart[state + 1]; pair += 1) {
    const row = body.insertRow(), said = [];
    row.append(cell(actionAt(state, pair), "th", "text"));
    if (mixed) {
      let worth = mixed.losses[pair];
      const next = [];
      for (let at = model.nextStart[pair]; at < model.nextStart[pair + 1]; at += 1) {
        if (mixed.rows[at] > 0) { worth += mixed.rows[at] * values[model.nextState[at]]; next.push([mixed.rows[at], model.states[model.nextState[at]] ?? "goal"]); }
      }
      next.sort((one, two) => two[0] - one[0]);
      const listed = next.slice(0, 4).map(([share, name]) => `${shortened(name, 22)} ${(100 * share).toFixed(1)}%`).join(", ");
      row.append(cell(exactly(mixed.losses[pair] * model.scale)), cell(exactly(worth * model.scale)),
        cell(exactly(Math.max(0, worth - values[state]) * model.scale).replace(/^.*e-1[0-9]$/, "0")), cell(listed + (next.length > 4 ? ` and ${next.length - 4} more` : ""), "td", "text"));
    }
    if (learned?.known) row.append(cell(learned.known[pair] === "1" ? "yes" : "no"));
    if (pair === policy[state]) said.push(["best", "key-best"]);
    if (learned?.policy && pair === learned.policy[state]) said.push(["the learner's", "key-learned"]);
    const last = cell("", "td", "text");
    said.forEach(([text, kind], at) => last.append(at ? ", " : "", cell(text, "span", kind)));
    row.append(last);
  }
  const caption = cell(mixed ? "Worth: the loss of the step, and that of the best policy after it." : "The page has no losses and rows of so large a problem.", "caption");
  table.append(caption, tableHead(heads, 1), body);
  const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
  scroll.append(table);
  element("actions").replaceChildren(scroll);
}

/** Rows of the table: all states, or of many those that are searched for. */
function listedStates() {
  const word = element("search").value.trim().toLowerCase();
  const found = model.states.flatMap((name, state) => (name.toLowerCase().includes(word) ? [state] : []));
  element("found").textContent = found.length > MOST_ROWS ? `${found.length.toLocaleString("en")} states; the first ${MOST_ROWS} are shown` : "";
  return found.slice(0, MOST_ROWS);
}

function buildStates() {
  const heads = ["state", "best action", "value", ...(explorer.exact ? [] : ["at least"]), "steps"];
  if (courses.length) heads.push("learner's action", "at least", "estimate", "at most", ...(explorer.exact && !explorer.estimated ? ["in truth"] : []), "known");
  const body = document.createElement("tbody");
  view.rows = listedStates().map((state) => {
    const row = body.insertRow(), head = cell("", "th", "text"), button = Object.assign(document.createElement("button"), { type: "button", textContent: model.states[state] });
    button.addEventListener("click", () => choose(state));
    head.scope = "row";
    head.append(button);
    row.append(head, ...heads.slice(1).map((_, at) => cell("", "td", at === 0 || (courses.length && heads[at + 1] === "learner's action") ? "text" : "")));
    return { state, row, cells: [...row.cells].slice(1) };
  });
  element("state-table").replaceChildren(tableHead(heads, 2), body);
}

function showStates({ policy, values, steps, lower }, learned) {
  for (const { state, row, cells } of view.rows) {
    const texts = [actionAt(state, policy[state]), exactly(values[state] * model.scale), ...(explorer.exact ? [] : [boundText(lower[state] * model.scale, -1)]), exactly(steps[state])];
    cells[1].dataset.value = values[state];
    if (courses.length) {
      const mine = (numbers, way) => (!numbers ? "–" : numbers[state] === null ? "∞" : boundText(numbers[state] * model.scale, way)), pair = learned.policy?.[state];
      texts.push(pair === undefined ? "–" : actionAt(state, pair), mine(learned.lower, -1), mine(learned.estimate, 0), mine(learned.upper, 1));
      if (explorer.exact && !explorer.estimated) texts.push(view.truth ? exactly(view.truth[state] * model.scale) : "–");
      const pairs = [model.pairStart[state], model.pairStart[state + 1]];
      texts.push(learned.known ? `${[...learned.known.slice(...pairs)].filter((one) => one === "1").length} of ${pairs[1] - pairs[0]}` : "–");
      cells[explorer.exact ? 3 : 4].classList.toggle("other", pair !== undefined && pair !== policy[state]);
    }
    texts.forEach((text, at) => { if (cells[at].textContent !== text) cells[at].textContent = text; });
    row.setAttribute("aria-selected", state === view.state);
  }
}

/** The chart along the episodes: bounds, estimate and truth at the chosen state, under the nearest context. */
function showCourse() {
  if (!page.charts.course) return;
  const { views } = course(), chosen = view.state, here = views.map((_, time) => learnedAt(view.context, time));
  const x = views.map(({ episodes }) => episodes.toLocaleString("en")), scaled = (value) => (value === null || value === undefined || !Number.isFinite(value) ? null : value * model.scale);
  const line = (name, y, place, dash) => ({ type: "scatter", mode: "lines+markers", name, x, y: y.map(scaled), meta: { role: "line" },
    line: { color: `var(--c${place})`, dash, width: 2.2 }, marker: { size: 7, color: `var(--c${place})` } });
  const traces = [["at least", "lower", 2, "8px,4px"], ["estimate", "estimate", 0, "solid"], ["at most", "upper", 1, "8px,4px"]]
    .map(([name, key, place, dash]) => line(name, here.map((one) => one[key]?.[chosen]), place, dash)).filter(({ y }) => y.some((value) => value !== null));
  const at = solutionAtQuietly(here[0].context);
  if (explorer.exact && !explorer.estimated) traces.push(line("in truth", here.map((one) => trueValues(one)?.[chosen]), 3, "2px,3px"));
  traces.push({ type: "scatter", mode: "lines", name: "optimal", x, y: x.map(() => scaled(at.values[chosen])), line: { color: "var(--soft)", dash: "2px,4px", width: 1.6 }, meta: { role: "line" } });
  const most = Math.max(...traces.flatMap(({ y }) => y.map((value) => value ?? 0)));
  const shownMost = Math.min(most, Math.max(5 * scaled(at.values[chosen]), ...["estimate", "lower"].flatMap((key) => here.map((one) => scaled(one[key]?.[chosen]) ?? 0))));
  Object.assign(page.charts.course, { traces });
  page.charts.course.layout.yaxis.range = [0, 1.08 * shownMost || 1];
  page.charts.course.layout.xaxis.type = "category";
  page.charts.course.layout.xaxis.title.text = "episodes (not to scale)";
  element("course-note").textContent = `${model.states[chosen]}, ${course().label}, under the context (${weightsText(here[0].context)}). `
    + (here.some((one) => one.upper && one.upper[chosen] === null) ? "Where \"at most\" is missing, some plausible model never arrives. " : "")
    + (most > shownMost ? `Values up to ${exactly(most)} are beyond the chart; saved as CSV they are whole.` : "");
  const holder = document.querySelector("[data-chart=course]");
  if (holder && visible(holder) && state.drawn.has(holder)) draw(holder);
}

/** As solutionAt, without a change of what the next solution begins with. */
function solutionAtQuietly(context) {
  const { hint } = view, found = solutionAt(context);
  view.hint = hint;
  return found;
}

// Where the policy changes ----------------------------------------------------------------------------------------
const keyFor = (policy) => (view.colour === "policy" ? keyOf(policy) : actionAt(view.state, policy[view.state]));

/** The place of a colour: by the order in which policies were found, or by action. */
function placeFor(key) {
  if (view.colour === "state") return Math.max(0, model.actions.indexOf(key));
  if (!view.places.has(key)) view.places.set(key, view.places.size);
  return view.places.get(key);
}

const policyName = (policy) => {
  const at = view.policies.findIndex((one) => keyOf(one.policy) === keyOf(policy));
  return view.colour === "state" ? actionAt(view.state, policy[view.state]) : at < 0 ? "" : `P${at + 1}`;
};

function paintRegions() {
  if (!simplex) return;
  view.places ??= new Map();
  for (const { policy } of view.policies) placeFor(view.colour === "policy" ? keyOf(policy) : keyFor(policy));
  if (names.length === 2) simplex.paint(view.stretches, keyFor, placeFor, policyName);
  else if (explorer.exact) {
    simplex.paint(view.map, keyFor, placeFor);
    const labels = view.policies.filter(({ share, weights, policy }) => share > 0.025 && keyOf(view.at(weights)) === keyOf(policy));
    if (view.colour === "policy") simplex.regions.append(...labels.map(({ policy, weights }) => simplex.label(policyName(policy), weights)));
  } else simplex.paintLattice(certified.contexts, certified.steps, view.lattice, keyFor, placeFor);
}

function findRegions() {
  let hint = null;
  view.at = (context) => { const found = solvedAt(model, context, hint); hint = found.policy; return found.policy; };
  if (names.length === 1) return listPolicies("The problem has one component, so its policy does not depend on a context.");
  if (!explorer.exact) return latticeRegions();
  if (names.length === 2) {
    view.stretches = stretchesOf((x) => view.at([1 - x, x]), 8 * BASE, SAME);
    collectStretches();
    return listPolicies(`Found by solving at ${8 * BASE + 1} contexts and halving between those that differ; a stretch that is shorter than 1/${8 * BASE} may be missing.`);
  }
  if (names.length > 3) return listPolicies("The strips below the sliders show where the policy changes as one weight is moved and the others keep their proportions.");
  view.map = new TriangleMap(view.at, BASE, DEPTH);
  const until = performance.now() + 1000 * REGION_SECONDS;
  const more = () => {
    const { map } = view, whole = map.work(14), late = performance.now() > until;
    const goes = whole ? !late && map.level < map.depth && map.mixed.length > 0 : map.level === 0 || !late;
    if (whole || !goes) tellRegions(`1/${whole ? map.resolution : map.resolution / 2} of a side`, " Looking closer ...");
    if (goes && whole) map.cut();
    setTimeout(goes ? more : sharpen, 0);
  };
  const sharpen = () => {
    const { map } = view, sharp = map.sharpen(14);
    if (!sharp && performance.now() < until) { setTimeout(sharpen, 0); return; }
    tellRegions(`1/${map.resolution} of a side${sharp ? `, and to 1/${map.resolution * 2 ** HALVINGS} where they cross the edges of that lattice` : ""}`);
    document.body.dataset.regions = "done";
  };
  return more();
}

function tellRegions(resolution, more = "") {
  view.policies = policyShares(view.map);
  listPolicies(`Solved at ${view.map.solved.size.toLocaleString("en")} contexts; borders are known to ${resolution}. `
    + `A region that is narrower than 1/${BASE} may be missing.${more}`);
}

function collectStretches() {
  const found = new Map();
  for (const { from, to, policy } of view.stretches) {
    const one = found.get(keyOf(policy)) ?? { policy, share: 0, longest: 0 };
    one.share += to - from;
    if (to - from > one.longest) Object.assign(one, { longest: to - from, weights: [1 - (from + to) / 2, (from + to) / 2] });
    found.set(keyOf(policy), one);
  }
  view.policies = sharesInOrder([...found.values()]);
}

function latticeRegions() {
  const { contexts } = certified, found = new Map();
  view.lattice = contexts.map((_, place) => pairsOf(certified.policy[place]));
  view.lattice.forEach((policy, place) => {
    const one = found.get(keyOf(policy)) ?? { policy, share: 0, weights: contexts[place] };
    one.share += 1 / contexts.length;
    found.set(keyOf(policy), one);
  });
  view.policies = sharesInOrder([...found.values()]);
  if (names.length === 2) {
    const order = contexts.map((_, place) => place).sort((one, two) => contexts[one][1] - contexts[two][1]);
    const middle = (at) => (at <= 0 ? 0 : at >= order.length ? 1 : (contexts[order[at - 1]][1] + contexts[order[at]][1]) / 2);
    view.stretches = order.map((place, at) => ({ from: middle(at), to: middle(at + 1), policy: view.lattice[place] }))
      .reduce((list, one) => { const last = list.at(-1); if (last && keyOf(last.policy) === keyOf(one.policy)) last.to = one.to; else list.push(one); return list; }, []);
  }
  listPolicies(`Of the ${contexts.length} contexts that goalbound has solved; shares are shares of them.`);
}

/** Where the policy changes on the line, to six digits; what is even closer together, or to an end, is said once. */
function changesText() {
  const places = [...new Set(view.stretches.slice(1).map(({ from }) => +from.toFixed(6)))].filter((one) => one > 0 && one < 1);
  const some = places.slice(0, 8).join(", ");
  return places.length ? `The policy changes at ${names[1]} = ${some}${places.length > 8 ? ` and ${places.length - 8} more` : ""}.`
    : "The same policy is best everywhere.";
}

/** The policies and what they do where they differ. */
function listPolicies(note) {
  view.note = note;
  const shown = view.policies.slice(0, MOST_LISTED), rest = view.policies.length - shown.length;
  const differ = model.states.flatMap((_, state) => (new Set(shown.map(({ policy }) => policy[state])).size > 1 ? [state] : [])), listed = differ.slice(0, 12);
  const many = view.policies.length ? `${view.policies.length} ${view.policies.length === 1 ? "policy" : "policies"}${rest > 0 ? `, of which the ${MOST_LISTED} with the largest share are listed` : ""}. ` : "";
  const columns = differ.length > 12 ? ` They differ in ${differ.length} states; 12 are shown.` : "";
  element("policies-note").textContent = many + note + columns;
  element("simplex-note").textContent = view.stretches && explorer.exact
    ? changesText()
    : view.policies.length ? `${view.policies.length} best ${view.policies.length === 1 ? "policy" : "policies"} found. Drag, or use the arrow keys.` : "";
  if (!view.policies.length) { element("policy-table").replaceChildren(); return paintRegions(); }
  view.places ??= new Map();
  const body = document.createElement("tbody");
  shown.forEach(({ policy, share, weights }, at) => {
    const row = body.insertRow(), head = cell("", "th", "text"), swatch = cell("", "span", "swatch");
    const go = Object.assign(document.createElement("button"), { type: "button", textContent: `P${at + 1}` });
    placeFor(view.colour === "policy" ? keyOf(policy) : keyFor(policy));
    swatch.style.background = fillOf(view.colour === "policy" ? placeFor(keyOf(policy)) : placeFor(keyFor(policy)));
    go.addEventListener("click", () => setContext(weights));
    head.append(swatch, go);
    row.append(head, cell(`${(100 * share).toFixed(1)}%`), ...listed.map((state) => cell(actionAt(state, policy[state]), "td", "text")));
  });
  element("policy-table").replaceChildren(tableHead(["policy", "share", ...listed.map((state) => model.states[state])], 1), body);
  return paintRegions();
}

/** Strips of the sliders, when the context has come to rest. */
function paintStrips() {
  clearTimeout(view.stripping);
  if (!explorer.exact) return;
  view.stripping = setTimeout(() => {
    const { context } = view, until = performance.now() + 1000 * STRIP_SECONDS;
    view.places ??= new Map();
    for (let place = 0; place < names.length && performance.now() < until; place += 1) {
      const found = stretchesOf((x) => view.at(withWeight(context, place, x)), 20, 0.002);
      sliders.paint(place, found, (policy) => fillOf(placeFor(keyFor(policy))));
    }
    document.body.dataset.strips = "done";
  }, 80);
}

// Wiring ----------------------------------------------------------------------------------------------------------
function choose(place) {
  view.state = place;
  if (view.colour === "state") { paintRegions(); }
  render();
}

/** "0.2, 0.3, 0.5" or "1/3, 1/3, 1/3" as weights; null if it is no point of the simplex. */
function typedWeights(text) {
  const weights = text.split(",").map((word) => { const [above, below = "1"] = word.split("/"); return word.trim() === "" ? NaN : +above / +below; });
  const sum = weights.reduce((one, two) => one + two, 0);
  const fine = weights.length === names.length && weights.every((weight) => weight >= 0 && weight <= 1) && Math.abs(sum - 1) < 1e-3;
  return fine ? weights.map((weight) => weight / sum) : null;
}

function wire() {
  element("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    const weights = typedWeights(element("weights").value);
    element("weights").setAttribute("aria-invalid", !weights);
    element("weights-note").textContent = weights ? "" : `Give ${names.length} numbers that are not negative and sum to 1, with commas between them.`;
    if (weights) { if (element("snap")) element("snap").checked = false; setContext(weights); }
  });
  const points = [...(names.length <= 6 ? names.map((name, at) => [name, names.map((_, other) => +(other === at))]) : []), ["middle", names.map(() => 1 / names.length)]];
  for (const [name, weights] of points) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: shortened(name, 18) });
    button.addEventListener("click", () => setContext(weights));
    element("corners").append(button);
  }
  choice("colour", (value) => { view.colour = value; view.places = new Map(); paintRegions(); if (view.policies.length) listPolicies(view.note); render(); });
  element("snap")?.addEventListener("change", () => setContext(view.context));
  element("course")?.addEventListener("change", (event) => { view.course = +event.target.value; view.time = course().views.length - 1; setContext(view.context); });
  element("time")?.addEventListener("input", (event) => { view.time = +event.target.value; render(); });
  element("search").addEventListener("input", () => { buildStates(); render(); });
  window.addEventListener("hashchange", fromHash);
}

/** A link may say where to look: #c=0.2,0.3,0.5&state=4&time=2 */
function fromHash() {
  const said = new URLSearchParams(location.hash.slice(1)), weights = typedWeights(said.get("c") ?? "");
  if (said.has("state")) view.state = Math.min(model.count - 1, Math.max(0, Math.trunc(+said.get("state")) || 0));
  if (said.has("time") && courses.length) view.time = Math.min(course().views.length - 1, Math.max(0, Math.trunc(+said.get("time")) || 0));
  if (weights && element("snap")) element("snap").checked = false;
  setContext(weights ?? view.context ?? names.map(() => 1 / names.length));
}

const Control = { 2: LineControl, 3: TriangleControl }[names.length];
const simplex = Control ? new Control(element("simplex"), names, setContext) : null;
const sliders = new Sliders(element("sliders"), names, setContext, names.length > 3 && explorer.exact);
const Drawing = { grid: GridPicture, graph: GraphPicture }[explorer.layout.kind];
const picture = Drawing ? new Drawing(element("picture"), model, explorer.layout, choose) : null;

element("context").hidden = names.length === 1;
document.querySelector(".simplex").hidden = !simplex;
element("colour-by").hidden = !simplex && !(names.length > 3 && explorer.exact);
element("find-state").hidden = model.count <= MOST_ROWS;
element("picture-note").textContent = !picture ? `${model.count.toLocaleString("en")} states are too many for a picture; they are in the table.`
  : [explorer.layout.kind === "grid" ? "Straight arrows: actions that name a direction; wavy ones: others, the way they lead on average." : "Arrows lead to the next states, the wider the more likely.",
    "The stronger the colour of a state, the larger its value.", ...(courses.length ? ["Orange: the learner, where it would do otherwise; green dots: known pairs."] : [])].join(" ");
if (explorer.exact) {
  const worst = checkSolver();
  element("check").textContent = worst <= SAME ? `When the page was opened, its values at ${certified.contexts.length} contexts were within ${worst <= 0 ? "the certified bounds" : `${worst.toExponential(0)} (relative) of the certified bounds`} of goalbound.`
    : `WARNING: at ${certified.contexts.length} contexts its values were up to ${worst.toExponential(1)} (relative) outside of the certified bounds of goalbound; do not rely on them.`;
  element("check").className = worst <= SAME ? "" : "warning";
}
if (courses.length) view.time = course().views.length - 1;
buildStates();
showBounds();
wire();
fromHash();
setTimeout(findRegions, 30);
