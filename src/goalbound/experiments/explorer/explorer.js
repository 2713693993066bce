// The explorer: a context is chosen, and everything follows. The other scripts come before this one.
"use strict";

function setContext(context) {
  const snapped = element("snap")?.checked ? course().contexts[nearestOf(course().contexts, context)] : context;
  view.context = snapped.slice();
  if (view.waiting) return;
  view.waiting = true;
  requestAnimationFrame(() => {
    view.waiting = false;
    render();
  });
}

function render() {
  const { context } = view,
    solution = solutionAt(context),
    learned = learnedAt(context);
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
  picture?.draw({
    solution,
    learned,
    selected: view.state,
    number: (value) => (Number.isFinite(value) ? String(+value.toPrecision(3)) : "∞"),
  });
  showActions(solution, learned);
  showStates(solution, learned);
  showCourse();
  if (names.length > 3) paintStrips();
}

function choose(place) {
  view.state = place;
  if (view.colour === "state") {
    paintRegions();
  }
  render();
}

/** "0.2, 0.3, 0.5" or "1/3, 1/3, 1/3" as weights; null if it is no point of the simplex. */
function typedWeights(text) {
  const weights = text.split(",").map((word) => {
    const [above, below = "1"] = word.split("/");
    return word.trim() === "" ? NaN : +above / +below;
  });
  const sum = weights.reduce((one, two) => one + two, 0);
  const fine =
    weights.length === names.length &&
    weights.every((weight) => weight >= 0 && weight <= 1) &&
    Math.abs(sum - 1) < 1e-3;
  return fine ? weights.map((weight) => weight / sum) : null;
}

function wire() {
  element("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    const weights = typedWeights(element("weights").value);
    element("weights").setAttribute("aria-invalid", !weights);
    element("weights-note").textContent = weights
      ? ""
      : `Give ${names.length} numbers that are not negative and sum to 1, with commas between them.`;
    if (weights) {
      if (element("snap")) element("snap").checked = false;
      setContext(weights);
    }
  });
  const points = [
    ...(names.length <= 6 ? names.map((name, at) => [name, names.map((_, other) => +(other === at))]) : []),
    ["middle", names.map(() => 1 / names.length)],
  ];
  for (const [name, weights] of points) {
    const button = Object.assign(document.createElement("button"), {
      type: "button",
      className: "plain",
      textContent: shortened(name, 18),
    });
    button.addEventListener("click", () => setContext(weights));
    element("corners").append(button);
  }
  choice("colour", (value) => {
    view.colour = value;
    view.places = new Map();
    paintRegions();
    if (view.policies.length) listPolicies(view.note);
    render();
  });
  element("snap")?.addEventListener("change", () => setContext(view.context));
  element("course")?.addEventListener("change", (event) => {
    view.course = +event.target.value;
    view.time = course().views.length - 1;
    setContext(view.context);
  });
  element("time")?.addEventListener("input", (event) => {
    view.time = +event.target.value;
    render();
  });
  element("search").addEventListener("input", () => {
    buildStates();
    render();
  });
  window.addEventListener("hashchange", fromHash);
}

/** A link may say where to look: #c=0.2,0.3,0.5&state=4&time=2 */
function fromHash() {
  const said = new URLSearchParams(location.hash.slice(1)),
    weights = typedWeights(said.get("c") ?? "");
  if (said.has("state")) view.state = Math.min(model.count - 1, Math.max(0, Math.trunc(+said.get("state")) || 0));
  if (said.has("time") && courses.length)
    view.time = Math.min(course().views.length - 1, Math.max(0, Math.trunc(+said.get("time")) || 0));
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
element("picture-note").textContent = !picture
  ? `${model.count.toLocaleString("en")} states are too many for a picture; they are in the table.`
  : [
      explorer.layout.kind === "grid"
        ? "Straight arrows: actions that name a direction; wavy ones: others, the way they lead on average."
        : "Arrows lead to the next states, the wider the more likely.",
      "The stronger the colour of a state, the larger its value.",
      ...(courses.length ? ["Orange: the learner, where it would do otherwise; green dots: known pairs."] : []),
    ].join(" ");
if (explorer.exact) {
  const worst = checkSolver(),
    at = `its values at ${certified.contexts.length} contexts were`,
    off = worst <= 0 ? "" : `${worst.toExponential(1)} (relative) of `;
  element("check").textContent =
    worst <= SAME
      ? `When the page was opened, ${at} within ${off}the certified bounds of goalbound.`
      : `WARNING: ${at} up to ${off}a value outside of the certified bounds of goalbound. Do not rely on them.`;
  element("check").className = worst <= SAME ? "" : "warning";
}
if (courses.length) view.time = course().views.length - 1;
buildStates();
showBounds();
wire();
fromHash();
setTimeout(findRegions, 30);
