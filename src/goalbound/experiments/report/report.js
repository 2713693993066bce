// Puts the pictures into the page and wires its switches. All data is in the page itself.
"use strict";

const data = JSON.parse(document.getElementById("report-data").textContent);
const curves = new Curves(data.learners);
const all = (selector) => [...document.querySelectorAll(selector)];
const chosen = { own: true, learner: 0 };

const KINDS = { // of the charts over episodes
  regret: { title: "expected regret so far", power: true },
  known: { title: "share of the steps so far at known pairs", ceiling: 1 },
  intervals: { title: "intervals per episode so far" },
};

function drawCurves() {
  for (const holder of all(".chart")) {
    const panel = data.panels[+holder.dataset.panel], kind = holder.dataset.kind;
    const lines = panel.results.filter((result) => result[kind])
      .map((result) => ({ learner: result.learner, ...result[kind] }));
    const readout = holder.parentElement.querySelector(".readout");
    curves.add(new Chart(curves, holder, { panel, lines, readout, ...KINDS[kind] }));
  }
}

function figure(result, name = data.learners[result.learner].label) {
  const { tag } = data.learners[result.learner];
  return html("figure", { class: "small" }, html("figcaption", {}, html("b", { class: "tag" }, tag), ` ${name}`));
}

function drawSimplex(holder, panel) {
  const results = panel.results.filter((result) => result.simplex);
  const fields = results.flatMap((result) => result.simplex.map((pair) => ({ result, pair })))
    .filter(({ result }) => panel.context_size <= 3 || result.learner === chosenLearner(results));
  const values = fields.map(({ pair }) => largest(pair.value));
  const common = Math.max(...values, 0);
  holder.replaceChildren(...fields.map(({ result, pair }, at) => {
    const three = panel.context_size === 3, names = pair.components.map((one) => panel.components[one]);
    const place = figure(result, panel.context_size > 3 ? names.join(" and ") : undefined);
    const components = three ? panel.components : names;
    const label = `Regret per episode of ${data.learners[result.learner].label} by context; ${panel.title}`;
    const settings = { ...pair, components, bins: panel.bins, most: chosen.own ? values[at] : common, label, three };
    (panel.context_size === 2 ? simplexLine : simplexCells)(place, settings);
    return place;
  }));
}

function chosenLearner(results) {
  return results.some((result) => result.learner === chosen.learner) ? chosen.learner : results[0].learner;
}

function drawPolicies(holder, panel) {
  const { contexts, best } = panel.policies, components = panel.components;
  const results = panel.results.filter((result) => result.policy);
  const values = results.map((result) => largest(result.policy.gap));
  const common = Math.max(...values, 0);
  const figures = [];
  if (panel.context_size === 3) {
    const caption = html("figcaption", {}, html("b", {}, "best policy"), ", by number");
    const place = html("figure", { class: "small" }, caption), label = `Best policy by context; ${panel.title}`;
    policyTernary(place, { components, contexts, best, policy: null, most: 0, label });
    figures.push(place);
  }
  results.forEach((result, at) => {
    const place = figure(result), most = chosen.own ? values[at] : common;
    const label = `Learned policy of ${data.learners[result.learner].label} by context; ${panel.title}`;
    const settings = { components, contexts, best, policy: result.policy, most, label };
    (panel.context_size === 2 ? policyLine : policyTernary)(place, settings);
    figures.push(place);
  });
  holder.replaceChildren(...figures);
}

function drawFields() {
  for (const holder of all("[data-simplex]")) drawSimplex(holder, data.panels[+holder.dataset.simplex]);
  for (const holder of all("[data-policies]")) drawPolicies(holder, data.panels[+holder.dataset.policies]);
}

/** A group of buttons of which one is pressed. */
function choice(selector, act) {
  const buttons = all(selector);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", other.dataset.value === button.dataset.value);
      act(button.dataset.value);
    });
  }
}

function wireSwitches() {
  choice("[data-choose=theme]", (value) => { document.documentElement.dataset.theme = value; });
  choice("[data-choose=axes]", (value) => curves.set("log", value === "log"));
  choice("[data-choose=colours]", (value) => { chosen.own = value === "own"; drawFields(); });
  choice("[data-choose=pane]", (value) => {
    for (const pane of all("[data-pane]")) pane.hidden = pane.dataset.pane !== value;
    curves.redraw();
  });
  for (const input of all("input[data-show]")) {
    input.addEventListener("change", () => curves.set(input.dataset.show, input.checked));
  }
  for (const select of all("select[data-learner]")) {
    select.addEventListener("change", () => { chosen.learner = +select.value; drawFields(); });
  }
  for (const button of all("[data-toggle]")) {
    const learner = +button.dataset.toggle;
    button.prepend(sample(learner));
    button.addEventListener("click", () => {
      curves.toggle(learner);
      button.setAttribute("aria-pressed", !curves.hidden.has(learner));
    });
    for (const over of ["pointerenter", "focus"]) button.addEventListener(over, () => curves.emphasise(learner));
    for (const away of ["pointerleave", "blur"]) button.addEventListener(away, () => curves.emphasise(null));
  }
  for (const button of all("[data-all]")) {
    button.addEventListener("click", () => {
      curves.hideAll(button.dataset.all === "none");
      for (const key of all("[data-toggle]")) key.setAttribute("aria-pressed", button.dataset.all === "all");
    });
  }
}

/** Tables sort by a click on a heading: first downwards for numbers, then the other way. */
function wireTables() {
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const numeric = [...table.tBodies[0].rows].every((row) => key(row) === "" || !Number.isNaN(+key(row)));
      const now = head.getAttribute("aria-sort");
      const up = now ? now === "descending" : !numeric || head.dataset.first === "up";
      const before = (a, b) => (numeric ? +a - +b : a.localeCompare(b));
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === ""); // what is not known goes last
        return (up ? 1 : -1) * before(key(a), key(b));
      });
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      table.tBodies[0].append(...rows);
    }));
  }
}

drawCurves();
drawFields();
wireSwitches();
wireTables();
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  curves.redraw();
});
