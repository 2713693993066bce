// Numbers, tables and the chart along the episodes.
"use strict";

function showNumbers(solution) {
  const law = startLaw(solution.context),
    { values, steps, lower, upper } = solution;
  const put = (id, text, note = "") => {
    const small = Object.assign(document.createElement("small"), { textContent: note });
    element(id)?.replaceChildren(text, ...(note ? [small] : []));
  };
  const proven = (low, high) =>
    high - low < 1e-6 * high
      ? `certified within ${((high - low) / high).toExponential(0).replace("-", "\u2011")}`
      : `certified: ${boundText(low * model.scale, -1)} to ${boundText(high * model.scale, 1)}`;
  const high = upper ?? (solution.certified ? values : null),
    one = law.filter((weight) => weight > 0).length === 1;
  put(
    "start-value",
    exactly(mean(values, law) * model.scale),
    lower ? proven(mean(lower, law), mean(high, law)) : "",
  );
  put(
    "start-steps",
    exactly(mean(steps, law)),
    one ? `from ${shortened(model.states[law.indexOf(1)] ?? "the start", 22)}` : "over the start states",
  );
  const worst = (numbers) =>
    numbers.slice(0, -1).reduce((best, value, state) => (value > numbers[best] ? state : best), 0);
  for (const [id, numbers, scale] of [
    ["largest-value", values, model.scale],
    ["largest-steps", steps, 1],
  ]) {
    put(id, exactly(numbers[worst(numbers)] * scale), `from ${shortened(model.states[worst(numbers)], 26)}`);
  }
  const where = explorer.exact
    ? lower
      ? "Computed in the page; goalbound has certified values at this context, as shown."
      : "Computed in the page at this context."
    : `The nearest of ${certified.contexts.length} contexts that goalbound has solved: ` +
      `(${weightsText(solution.context)}). Certified there.`;
  element("origin").textContent = where;
}

function showBounds() {
  for (const [id, found, scale] of [
    ["loss-bound", explorer.bounds?.loss, model.scale],
    ["time-bound", explorer.bounds?.time, 1],
  ]) {
    if (!found) continue;
    const number = (value, way) => (value === null ? "∞" : boundText(value * scale, way, 4));
    const go = Object.assign(document.createElement("button"), {
      type: "button",
      className: "plain",
      textContent: "where",
    });
    go.addEventListener("click", () => {
      choose(found.state);
      setContext(found.context);
    });
    const small = Object.assign(document.createElement("small"), {
      textContent: `certified${found.status === "converged" ? "" : ", search stopped"} `,
    });
    const narrow = found.upper !== null && found.upper - found.lower < 1e-5 * found.upper;
    const text = narrow ? exactly(found.upper * scale) : `${number(found.lower, -1)} to ${number(found.upper, 1)}`;
    small.title = found.status;
    small.append(go);
    element(id).replaceChildren(text, small);
  }
}

function showLearner(learned) {
  if (!courses.length) return;
  const { views } = course(),
    episodes = views[view.time].episodes;
  Object.assign(element("time"), { max: views.length - 1, value: view.time });
  element("time-label").hidden = views.length < 2 && episodes === null;
  element("time").hidden = views.length < 2;
  const text = episodes === null ? "" : `${episodes.toLocaleString("en")} episodes`;
  element("time-text").textContent = text;
  element("time").setAttribute("aria-valuetext", text);
  const away = distance(learned.context, view.context),
    parts = [];
  if (away > 1e-9)
    parts.push(`Looked at under the nearest context, (${weightsText(learned.context)}), ${away.toFixed(3)} away.`);
  if (!learned.policy) parts.push("It has no plan here.");
  else {
    const there = solutionAtQuietly(learned.context),
      worse = [...learned.policy].filter((pair, state) => isWorse(there, state, pair)).length,
      best = explorer.estimated ? "best in its estimate" : "best";
    parts.push(
      worse ? `In ${worse} of ${model.count} states its action is not ${best}.` : `All its actions are ${best}.`,
    );
    if (learned.known)
      parts.push(
        `${[...learned.known].filter((one) => one === "1").length} of ${learned.known.length} pairs are known.`,
      );
    if (!learned.lower) parts.push("It has no bounds of what it loses.");
  }
  element("learner-note").textContent = parts.join(" ");
}

const cell = (text, tag = "td", className = "") =>
  Object.assign(document.createElement(tag), { textContent: text, className });

function tableHead(heads, texts) {
  const head = document.createElement("thead"),
    row = head.insertRow();
  heads.forEach((text, at) => {
    const one = cell(text, "th", at < texts ? "text" : "");
    one.scope = "col";
    row.append(one);
  });
  return head;
}

/** The actions of the chosen state, each with what it is worth. */
function showActions({ mixed, values, policy }, learned) {
  const { state } = view,
    table = document.createElement("table"),
    body = document.createElement("tbody");
  element("state-heading").textContent = model.states[state];
  const heads = [
    "action",
    ...(mixed ? ["loss of the step", "worth", "beyond the best", "leads to"] : []),
    ...(learned?.known ? ["known"] : []),
    "",
  ];
  for (let pair = model.pairStart[state]; pair < model.pairStart[state + 1]; pair += 1) {
    const row = body.insertRow(),
      said = [];
    row.append(cell(actionAt(state, pair), "th", "text"));
    if (mixed) {
      let worth = mixed.losses[pair];
      const next = [];
      for (let at = model.nextStart[pair]; at < model.nextStart[pair + 1]; at += 1) {
        if (mixed.rows[at] > 0) {
          worth += mixed.rows[at] * values[model.nextState[at]];
          next.push([mixed.rows[at], model.states[model.nextState[at]] ?? "goal"]);
        }
      }
      next.sort((one, two) => two[0] - one[0]);
      const listed = next
        .slice(0, 4)
        .map(([share, name]) => `${shortened(name, 22)} ${(100 * share).toFixed(1)}%`)
        .join(", ");
      row.append(
        cell(exactly(mixed.losses[pair] * model.scale)),
        cell(exactly(worth * model.scale)),
        cell(exactly(Math.max(0, worth - values[state]) * model.scale).replace(/^.*e-1[0-9]$/, "0")),
        cell(listed + (next.length > 4 ? ` and ${next.length - 4} more` : ""), "td", "text"),
      );
    }
    if (learned?.known) row.append(cell(learned.known[pair] === "1" ? "yes" : "no"));
    if (pair === policy[state]) said.push(["best", "key-best"]);
    if (learned?.policy && pair === learned.policy[state]) said.push(["the learner's", "key-learned"]);
    const last = cell("", "td", "text");
    said.forEach(([text, kind], at) => last.append(at ? ", " : "", cell(text, "span", kind)));
    row.append(last);
  }
  const caption = cell(
    mixed
      ? "Worth: the loss of the step, and that of the best policy after it."
      : "The page has no losses and rows of so large a problem.",
    "caption",
  );
  table.append(caption, tableHead(heads, 1), body);
  const scroll = Object.assign(document.createElement("div"), { className: "scroll" });
  scroll.append(table);
  element("actions").replaceChildren(scroll);
}

/** Rows of the table: all states, or of many those that are searched for. */
function listedStates() {
  const word = element("search").value.trim().toLowerCase();
  const found = model.states.flatMap((name, state) => (name.toLowerCase().includes(word) ? [state] : []));
  element("found").textContent =
    found.length > MOST_ROWS ? `${found.length.toLocaleString("en")} states; the first ${MOST_ROWS} are shown` : "";
  return found.slice(0, MOST_ROWS);
}

function buildStates() {
  const heads = ["state", "best action", "value", ...(explorer.exact ? [] : ["at least"]), "steps"];
  if (courses.length)
    heads.push(
      "learner's action",
      "at least",
      "estimate",
      "at most",
      ...(explorer.exact && !explorer.estimated ? ["in truth"] : []),
      "known",
    );
  const body = document.createElement("tbody");
  view.rows = listedStates().map((state) => {
    const row = body.insertRow(),
      head = cell("", "th", "text"),
      button = Object.assign(document.createElement("button"), { type: "button", textContent: model.states[state] });
    button.addEventListener("click", () => choose(state));
    head.scope = "row";
    head.append(button);
    row.append(
      head,
      ...heads
        .slice(1)
        .map((_, at) =>
          cell("", "td", at === 0 || (courses.length && heads[at + 1] === "learner's action") ? "text" : ""),
        ),
    );
    return { state, row, cells: [...row.cells].slice(1) };
  });
  element("state-table").replaceChildren(tableHead(heads, 2), body);
}

function showStates({ policy, values, steps, lower }, learned) {
  for (const { state, row, cells } of view.rows) {
    const texts = [
      actionAt(state, policy[state]),
      exactly(values[state] * model.scale),
      ...(explorer.exact ? [] : [boundText(lower[state] * model.scale, -1)]),
      exactly(steps[state]),
    ];
    cells[1].dataset.value = values[state];
    if (courses.length) {
      const mine = (numbers, way) =>
          !numbers ? "–" : numbers[state] === null ? "∞" : boundText(numbers[state] * model.scale, way),
        pair = learned.policy?.[state];
      texts.push(
        pair === undefined ? "–" : actionAt(state, pair),
        mine(learned.lower, -1),
        mine(learned.estimate, 0),
        mine(learned.upper, 1),
      );
      if (explorer.exact && !explorer.estimated)
        texts.push(view.truth ? exactly(view.truth[state] * model.scale) : "–");
      const pairs = [model.pairStart[state], model.pairStart[state + 1]];
      texts.push(
        learned.known
          ? `${[...learned.known.slice(...pairs)].filter((one) => one === "1").length} of ${pairs[1] - pairs[0]}`
          : "–",
      );
      cells[explorer.exact ? 3 : 4].classList.toggle(
        "other",
        pair !== undefined && isWorse(view.solution, state, pair),
      );
    }
    texts.forEach((text, at) => {
      if (cells[at].textContent !== text) cells[at].textContent = text;
    });
    row.setAttribute("aria-selected", state === view.state);
  }
}

/** The chart along the episodes: bounds, estimate and truth at the chosen state, under the nearest context. */
function showCourse() {
  if (!page.charts.course) return;
  const { views } = course(),
    chosen = view.state,
    here = views.map((_, time) => learnedAt(view.context, time));
  const x = views.map(({ episodes }) => episodes.toLocaleString("en")),
    scaled = (value) =>
      value === null || value === undefined || !Number.isFinite(value) ? null : value * model.scale;
  const line = (name, y, place, dash) => ({
    type: "scatter",
    mode: "lines+markers",
    name,
    x,
    y: y.map(scaled),
    meta: { role: "line" },
    line: { color: `var(--c${place})`, dash, width: 2.2 },
    marker: { size: 7, color: `var(--c${place})` },
  });
  const traces = [
    ["at least", "lower", 2, "8px,4px"],
    ["estimate", "estimate", 0, "solid"],
    ["at most", "upper", 1, "8px,4px"],
  ]
    .map(([name, key, place, dash]) =>
      line(
        name,
        here.map((one) => one[key]?.[chosen]),
        place,
        dash,
      ),
    )
    .filter(({ y }) => y.some((value) => value !== null));
  const at = solutionAtQuietly(here[0].context);
  if (explorer.exact && !explorer.estimated)
    traces.push(
      line(
        "in truth",
        here.map((one) => trueValues(one)?.[chosen]),
        3,
        "2px,3px",
      ),
    );
  traces.push({
    type: "scatter",
    mode: "lines",
    name: "optimal",
    x,
    y: x.map(() => scaled(at.values[chosen])),
    line: { color: "var(--soft)", dash: "2px,4px", width: 1.6 },
    meta: { role: "line" },
  });
  const most = Math.max(...traces.flatMap(({ y }) => y.map((value) => value ?? 0)));
  const shownMost = Math.min(
    most,
    Math.max(
      5 * scaled(at.values[chosen]),
      ...["estimate", "lower"].flatMap((key) => here.map((one) => scaled(one[key]?.[chosen]) ?? 0)),
    ),
  );
  Object.assign(page.charts.course, { traces });
  page.charts.course.layout.yaxis.range = [0, 1.08 * shownMost || 1];
  page.charts.course.layout.xaxis.type = "category";
  page.charts.course.layout.xaxis.title.text = "episodes (not to scale)";
  element("course-note").textContent =
    `${model.states[chosen]}, ${course().label}, under the context (${weightsText(here[0].context)}). ` +
    (here.some((one) => one.upper && one.upper[chosen] === null)
      ? 'Where "at most" is missing, some plausible model never arrives. '
      : "") +
    (most > shownMost ? `Values up to ${exactly(most)} are beyond the chart; saved as CSV they are whole.` : "");
  const holder = document.querySelector("[data-chart=course]");
  if (holder && visible(holder) && state.drawn.has(holder)) draw(holder);
}

/** As solutionAt, without a change of what the next solution begins with. */
function solutionAtQuietly(context) {
  const { hint } = view,
    found = solutionAt(context);
  view.hint = hint;
  return found;
}
