// Where the policy changes: the colours of the simplex, the strips of the sliders, and the list of policies.
"use strict";

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
    const labels = view.policies.filter(
      ({ share, weights, policy }) => share > 0.025 && keyOf(policyAt(weights)) === keyOf(policy),
    );
    if (view.colour === "policy")
      simplex.regions.append(...labels.map(({ policy, weights }) => simplex.label(policyName(policy), weights)));
  } else simplex.paintLattice(certified.contexts, certified.steps, view.lattice, keyFor, placeFor);
}

/** The best policy at a context; each begins with the one before. */
function policyAt(context) {
  view.lastPolicy = solvedAt(model, context, view.lastPolicy ?? null).policy;
  return view.lastPolicy;
}

function findRegions() {
  if (names.length === 1)
    return listPolicies("The problem has one component, so its policy does not depend on a context.");
  if (!explorer.exact) return latticeRegions();
  if (names.length === 2) {
    view.stretches = stretchesOf((x) => policyAt([1 - x, x]), 8 * BASE, SAME);
    collectStretches();
    return listPolicies(
      `Found by solving at ${8 * BASE + 1} contexts and halving between those that differ; ` +
        `a stretch that is shorter than 1/${8 * BASE} may be missing.`,
    );
  }
  if (names.length > 3)
    return listPolicies(
      "The strips below the sliders show where the policy changes as one weight is moved " +
        "and the others keep their proportions.",
    );
  view.map = new TriangleMap(policyAt, BASE, DEPTH);
  const { map } = view,
    limit = 1000 * REGION_SECONDS;
  const more = () => {
    if (!map.work(14)) return setTimeout(more, 0);
    const closer = map.canCut && map.nextCost() <= limit - map.spent; // a level that is begun is ended
    tellRegions(`1/${map.resolution} of a side`, closer);
    if (closer) map.cut();
    return setTimeout(closer ? more : sharpen, 0);
  };
  const sharpen = () => {
    const sharp = map.sharpen(14);
    if (!sharp && map.spent < 1.5 * limit) return setTimeout(sharpen, 0);
    const finer = `, and to 1/${map.resolution * 2 ** HALVINGS} where they cross the edges of that lattice`;
    tellRegions(`1/${map.resolution} of a side${sharp ? finer : ""}`, false);
    document.body.dataset.regions = "done";
    return null;
  };
  return more();
}

function tellRegions(resolution, closer) {
  view.policies = policyShares(view.map);
  listPolicies(
    `Solved at ${view.map.solved.size.toLocaleString("en")} contexts; borders are known to ${resolution}. ` +
      `A region that is narrower than 1/${BASE} may be missing.${closer ? " Looking closer ..." : ""}`,
  );
}

function collectStretches() {
  const found = new Map();
  for (const { from, to, policy } of view.stretches) {
    const one = found.get(keyOf(policy)) ?? { policy, share: 0, longest: 0 };
    one.share += to - from;
    if (to - from > one.longest)
      Object.assign(one, { longest: to - from, weights: [1 - (from + to) / 2, (from + to) / 2] });
    found.set(keyOf(policy), one);
  }
  view.policies = sharesInOrder([...found.values()]);
}

function latticeRegions() {
  const { contexts } = certified,
    found = new Map();
  view.lattice = contexts.map((_, place) => pairsOf(certified.policy[place]));
  view.lattice.forEach((policy, place) => {
    const one = found.get(keyOf(policy)) ?? { policy, share: 0, weights: contexts[place] };
    one.share += 1 / contexts.length;
    found.set(keyOf(policy), one);
  });
  view.policies = sharesInOrder([...found.values()]);
  if (names.length === 2) {
    const order = contexts.map((_, place) => place).sort((one, two) => contexts[one][1] - contexts[two][1]);
    const middle = (at) =>
      at <= 0 ? 0 : at >= order.length ? 1 : (contexts[order[at - 1]][1] + contexts[order[at]][1]) / 2;
    view.stretches = order
      .map((place, at) => ({ from: middle(at), to: middle(at + 1), policy: view.lattice[place] }))
      .reduce((list, one) => {
        const last = list.at(-1);
        if (last && keyOf(last.policy) === keyOf(one.policy)) last.to = one.to;
        else list.push(one);
        return list;
      }, []);
  }
  listPolicies(`Of the ${contexts.length} contexts that goalbound has solved; shares are shares of them.`);
}

/** Where the policy changes on the line, to six digits; what is even closer together, or to an end, is said once. */
function changesText() {
  const places = [...new Set(view.stretches.slice(1).map(({ from }) => +from.toFixed(6)))].filter(
    (one) => one > 0 && one < 1,
  );
  const some = places.slice(0, 8).join(", ");
  return places.length
    ? `The policy changes at ${names[1]} = ${some}${places.length > 8 ? ` and ${places.length - 8} more` : ""}.`
    : "The same policy is best everywhere.";
}

/** The policies and what they do where they differ. */
function listPolicies(note) {
  view.note = note;
  const shown = view.policies.slice(0, MOST_LISTED),
    rest = view.policies.length - shown.length;
  const differ = model.states.flatMap((_, state) =>
      new Set(shown.map(({ policy }) => policy[state])).size > 1 ? [state] : [],
    ),
    listed = differ.slice(0, 12);
  const count = `${view.policies.length} best ${view.policies.length === 1 ? "policy" : "policies"} found`,
    of = rest > 0 ? `, of which the ${MOST_LISTED} with the largest share are listed` : "",
    many = view.policies.length ? `${count}${of}. ` : "";
  const columns = differ.length > 12 ? ` They differ in ${differ.length} states; 12 are shown.` : "";
  element("policies-note").textContent = many + note + columns;
  element("simplex-note").textContent =
    view.stretches && explorer.exact
      ? changesText()
      : view.policies.length
        ? `${count}. Drag, or use the arrow keys.`
        : "";
  if (!view.policies.length) {
    element("policy-table").replaceChildren();
    return paintRegions();
  }
  view.places ??= new Map();
  const body = document.createElement("tbody");
  shown.forEach(({ policy, share, weights }, at) => {
    const row = body.insertRow(),
      head = cell("", "th", "text"),
      swatch = cell("", "span", "swatch");
    const go = Object.assign(document.createElement("button"), { type: "button", textContent: `P${at + 1}` });
    placeFor(view.colour === "policy" ? keyOf(policy) : keyFor(policy));
    swatch.style.background = fillOf(view.colour === "policy" ? placeFor(keyOf(policy)) : placeFor(keyFor(policy)));
    go.addEventListener("click", () => setContext(weights));
    head.append(swatch, go);
    row.append(
      head,
      cell(`${(100 * share).toFixed(1)}%`),
      ...listed.map((state) => cell(actionAt(state, policy[state]), "td", "text")),
    );
  });
  element("policy-table").replaceChildren(
    tableHead(["policy", "share", ...listed.map((state) => model.states[state])], 1),
    body,
  );
  return paintRegions();
}

/** Strips of the sliders, when the context has come to rest. */
function paintStrips() {
  clearTimeout(view.stripping);
  if (!explorer.exact) return;
  view.stripping = setTimeout(() => {
    const { context } = view,
      until = performance.now() + 1000 * STRIP_SECONDS;
    view.places ??= new Map();
    for (let place = 0; place < names.length && performance.now() < until; place += 1) {
      const found = stretchesOf((x) => policyAt(withWeight(context, place, x)), 20, 0.002);
      sliders.paint(place, found, (policy) => fillOf(placeFor(keyFor(policy))));
    }
    document.body.dataset.strips = "done";
  }, 80);
}
