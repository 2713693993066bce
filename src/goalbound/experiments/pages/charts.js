// Draws the charts of a page by Plotly and wires its switches. All data is in the page itself; nothing is loaded.
"use strict";

const page = JSON.parse(document.getElementById("page-data").textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const state = {
  panel: 0, preset: null, shown: new Set(page.learners.map((_, at) => at)), log: true, unit: "episodes",
  roles: { bound: false }, drawn: new Set(),
};
const MOST_BANDS = 10; // of more learners the bands would hide the lines
const DECADES = 6; // the most that a logarithmic axis shows
const UNITS = { episodes: "episodes, K", steps: "steps so far", seconds: "seconds of computing so far" };
const number = (value) => (value === null || value === undefined ? "–"
  : value.toLocaleString("en", { maximumSignificantDigits: 4 }));

// Colours ----------------------------------------------------------------------------------------------------------
const probe = document.body.appendChild(document.createElement("span"));
probe.hidden = true;

/** "var(--c0)" or "var(--c0) 0.2" as the colour that it has under the theme of now. */
function colour(token) {
  const [, variable, alpha] = /^(var\(--[\w-]+\))(?: ([\d.]+))?$/.exec(token) ?? [];
  if (!variable) return token;
  probe.style.color = variable;
  const found = getComputedStyle(probe).color;
  return alpha ? found.replace("rgb(", "rgba(").replace(")", `, ${alpha})`) : found;
}

/** A copy with colours resolved, and with the arrays that it names. */
function resolved(value, key = "") {
  if (typeof value === "string") {
    if (/^[xy]$/.test(key)) return page.arrays[value];
    return /colou?r$/i.test(key) ? colour(value) : value;
  }
  if (key === "colorscale") return value.map(([at, one]) => [at, colour(one)]);
  if (Array.isArray(value)) return value[0]?.constructor === Object ? value.map((one) => resolved(one)) : value;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolved(one, name)]));
}

// What a chart shows now -------------------------------------------------------------------------------------------
const isShown = ({ meta = {} }) => (meta.learner === undefined || state.shown.has(meta.learner))
  && state.roles[meta.role] !== false && (meta.role !== "band" || state.shown.size <= MOST_BANDS) && (meta.unit === undefined || meta.unit === state.unit);

/** The traces of a chart under the switches of now. */
function tracesOf(chart) {
  const { options } = chart, traces = chart.traces.filter(isShown).map((trace) => resolved(trace));
  if (options.units && state.unit !== "episodes") traces.forEach((trace) => inUnit(trace));
  if (options.scales && state.log) hideTiny(traces);
  if (state.ownScale) for (const { marker } of traces) if (marker?.colorscale) delete marker.cmax;
  if (options.rows) traces.reverse().sort((a, b) => b.x[0] - a.x[0]) // the least is on top
   .forEach((trace, at) => { trace.y = [at]; });
  for (const trace of traces.filter(({ meta }) => meta?.role === "line")) withEnds(trace, traces);
  if (options.best) traces.sort((a, b) => rank(options.panel, a.meta) - rank(options.panel, b.meta));
  return traces;
}

const rank = (panel, { learner }) => {
  const place = (page.panels[panel]?.ranking ?? []).indexOf(learner);
  return place < 0 ? Infinity : place;
};

/** Steps or seconds instead of episodes; seconds are steps at the median speed of the learner's runs. */
function inUnit(trace) {
  const { steps, speed } = trace.meta;
  if (!steps) return;
  const per = state.unit === "seconds" ? speed : 1;
  const along = page.arrays[steps].map((one) => (per === null ? null : one * per));
  trace.x = trace.meta.seeds ? trace.x.map((_, at) => along[at % (along.length + 1)] ?? null) : along;
}

/** Values that a logarithmic axis would make room for, though they say nothing. */
function hideTiny(traces) {
  const top = Math.max(...traces.flatMap(({ y }) => y.filter(Number.isFinite)));
  for (const trace of traces) trace.y = trace.y.map((value) => (value > top / 10 ** DECADES ? value : null));
}

/** A line says its band too when it is pointed at. */
function withEnds(trace, traces) {
  const ends = ["low", "high"].map((end) => traces.find(({ meta }) => meta?.role === "band" && meta.end === end
    && meta.learner === trace.meta.learner && meta.panel === trace.meta.panel)?.y);
  if (ends.every(Boolean)) trace.customdata = trace.y.map((_, at) => ends.map((end) => end[at]));
  const band = ends.every(Boolean) ? " (%{customdata[0]:,.3~r} to %{customdata[1]:,.3~r})" : "";
  trace.hovertemplate ??= `${trace.name}: %{y:,.4~r}${band}<extra></extra>`;
}

/** The layout of a chart: its own, in the colours of the page, and under the switches of now. */
function layoutOf(chart, traces, width) {
  const { options } = chart, narrow = width < 560;
  const layout = structuredClone(chart.layout);
  const axis = { gridcolor: "var(--rule)", linecolor: "var(--strong)", zerolinecolor: "var(--strong)", ticks: "outside",
    tickcolor: "var(--strong)", showline: true, title: { standoff: 8 } };
  for (const name of ["xaxis", "yaxis"]) layout[name] = merged(axis, layout[name] ?? {});
  if (options.scales) {
    for (const name of ["xaxis", "yaxis"]) {
      const linear = { type: "linear", dtick: undefined, minor: undefined, rangemode: "tozero" };
      if (!state.log) Object.assign(layout[name], linear);
    }
  }
  for (const name of ["x", "y"]) {
    const shape = layout[`${name}axis`], values = traces.flatMap((trace) => trace[name] ?? []).filter((one) => one > 0);
    if (shape.type === "log" && Math.max(...values) / Math.min(...values) > 300) shape.dtick = 1; // only the decades
  }
  if (options.units) layout.xaxis.title.text = UNITS[state.unit];
  if (options.rows) {
    const names = traces.map((trace) => short(trace.name, Math.round(width / 19)));
    Object.assign(layout.yaxis, { tickvals: traces.map((_, at) => at), ticktext: names, range: [-0.6, traces.length - 0.4],
      showgrid: true, zeroline: false, ticks: "" });
  }
  const legend = narrow ? { orientation: "h", y: -0.22, yanchor: "top" } : { x: 1.01, y: 1, xanchor: "left" };
  return resolved(merged({
    paper_bgcolor: "var(--page)", plot_bgcolor: "var(--page)", font: { color: "var(--ink)", size: 12.5,
      family: "system-ui, -apple-system, Segoe UI, Roboto, sans-serif" },
    margin: { l: 56, r: 16, t: 12, b: 46 }, height: heightOf(chart, traces, narrow), hovermode: "closest",
    dragmode: narrow ? false : "zoom", hoverlabel: { bgcolor: "var(--card)", bordercolor: "var(--strong)",
      font: { color: "var(--ink)" }, namelength: 40 },
    legend: { font: { size: 12 }, traceorder: "normal", ...legend },
  }, layout));
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function heightOf(chart, traces, narrow) {
  if (chart.options.rows) return Math.max(150, 70 + 26 * traces.length);
  const named = narrow ? 20 * traces.filter(({ name, showlegend }) => name && showlegend !== false).length : 0;
  return chart.height + (chart.layout.showlegend && !chart.layout.legend ? named : 0);
}

function merged(base, over) {
  const both = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const deep = value && typeof value === "object" && !Array.isArray(value);
    both[name] = deep ? merged(both[name] ?? {}, value) : value;
  }
  return both;
}

// Drawing ----------------------------------------------------------------------------------------------------------
const CONFIG = { displayModeBar: false, responsive: true }; // drag to zoom, double click for all

function draw(holder) {
  const chart = page.charts[holder.dataset.chart];
  const traces = tracesOf(chart), layout = layoutOf(chart, traces, holder.clientWidth);
  holder.style.height = `${layout.height}px`;
  state.drawn.add(holder);
  Plotly.react(holder, traces, layout, CONFIG);
  holder.item = null;
}

const visible = (holder) => holder.offsetParent !== null;

function redraw() {
  for (const holder of state.drawn) if (visible(holder)) draw(holder); else state.drawn.delete(holder);
  watchAll();
}

/** Charts are drawn when they come near the window. */
const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting && !state.drawn.has(target) && visible(target)) draw(target);
  }
}, { rootMargin: "300px" });

function watchAll() {
  for (const holder of all("[data-chart]")) { watcher.unobserve(holder); watcher.observe(holder); }
}

// Reading by keyboard, and saving ----------------------------------------------------------------------------------
/** The numbers of the shown traces: [series, ...values] by row. */
function rowsOf(chart) {
  const traces = tracesOf(chart).filter(({ meta }) => meta?.role !== "band" && meta?.role !== "guide");
  return traces.flatMap((trace) => {
    const count = Math.max(trace.x?.length ?? 0, trace.a?.length ?? 0);
    return Array.from({ length: count }, (_, at) => [decoded(trace.name), ...valuesAt(trace, at)])
      .filter((row) => row.some((value, place) => place && typeof value === "number"));
  });
}

function valuesAt(trace, at) {
  if (trace.a) return [trace.a[at], trace.b[at], trace.c[at], trace.marker.color[at] ?? null];
  const { error_x: across, error_y: up } = trace, values = trace.meta?.role === "point" && chart_rows(trace) ? [trace.x[at]]
    : [trace.x[at], trace.y[at]];
  if (trace.customdata) return [...values, ...trace.customdata[at]];
  const errors = across ?? up, middle = across ? trace.x[at] : trace.y[at];
  return errors ? [...values, middle - (errors.arrayminus ?? errors.array)[at], middle + errors.array[at]] : values;
}

const chart_rows = (trace) => trace.y.length === 1 && trace.meta.row;
const decoded = (text) => new DOMParser().parseFromString(text ?? "", "text/html").body.textContent;
const quoted = (value) => (value === null || value === undefined ? ""
  : typeof value === "number" ? String(+value.toPrecision(10)) : `"${escaped(value).replaceAll('"', '""')}"`);
const escaped = (value) => (FORMULA.test(value) ? `'${value}` : value); // as csv_cells.py: no label is a formula
const FORMULA = /^'*(?!'|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$)[=+\-@\t\r\n]/;

function csv(chart) {
  const units = chart.options.units ? chart.columns.map((name) => (name === "episodes" ? state.unit : name)) : chart.columns;
  return [units, ...rowsOf(chart)].map((row) => row.map(quoted).join(",")).join("\r\n");
}

function save(name, href) {
  const link = Object.assign(document.createElement("a"), { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

async function saveAs(kind, holder) {
  const name = holder.dataset.chart, chart = page.charts[name];
  if (kind === "csv") {
    save(`${name}.csv`, URL.createObjectURL(new Blob([csv(chart)], { type: "text/csv" })));
    return;
  }
  if (!state.drawn.has(holder)) draw(holder);
  const { clientWidth: width, clientHeight: height } = holder;
  save(`${name}.${kind}`, await Plotly.toImage(holder, { format: kind, width, height, scale: kind === "png" ? 2 : 1 }));
}

/** Arrow keys move over the points of a chart: along x for lines, one by one for others; what is there is read out. */
function move(holder, key) {
  const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 20, PageDown: -20 }[key];
  if (!step && key !== "Home" && key !== "End") return false;
  const traces = holder.data, lines = traces.flatMap((trace, at) => (trace.meta?.role === "line" ? [at] : []));
  const points = lines.length ? traces[lines[0]].x.map((_, at) => lines.map((curve) => [curve, at]))
    : traces.flatMap((trace, curve) => (trace.meta?.role === "guide" ? [] : (trace.x ?? trace.a).map((_, at) => [[curve, at]])));
  const last = points.length - 1, now = holder.item ?? (step > 0 ? -1 : last + 1);
  holder.item = key === "Home" ? 0 : key === "End" ? last : Math.min(Math.max(now + step, 0), last);
  const here = points[holder.item] ?? [];
  Plotly.Fx.hover(holder, here.map(([curveNumber, pointNumber]) => ({ curveNumber, pointNumber })),
    traces[0]?.a ? "ternary" : undefined);
  say(holder, here.map(([curve, at]) => pointText(page.charts[holder.dataset.chart], traces[curve], at)), lines.length
    ? number(traces[lines[0]].x[holder.item]) : "");
  return true;
}

function pointText(chart, trace, at) {
  const [first, ...rest] = valuesAt(trace, at), name = decoded(trace.name);
  if (trace.meta?.role === "line") {
    const [mean, low, high] = rest;
    return `${name} ${number(mean)}${low === undefined ? "" : ` (${number(low)} to ${number(high)})`}`;
  }
  if (trace.hovertemplate && !trace.hovertemplate.includes("%")) return decoded(trace.hovertemplate.replace("<extra></extra>", ""));
  const values = [first, ...rest].map((value) => (typeof value === "number" ? number(value) : value));
  return `${name}: ${chart.columns.slice(1).map((column, place) => `${column} ${values[place] ?? "–"}`).join(", ")}`;
}

function say(holder, parts, where) {
  const text = `${where ? `${UNITS[state.unit] && page.charts[holder.dataset.chart].options.units ? state.unit : "at"} ${where}: `
    : ""}${parts.join("; ")}`;
  holder.setAttribute("aria-valuetext", text);
  const read = holder.parentElement.querySelector(".read");
  if (read) read.textContent = text;
}

// Switches ---------------------------------------------------------------------------------------------------------
/** The learners that are shown at first, of many: the best five of the panel, and the best one that is proven. */
function bestLearners() {
  const { ranking, proven } = page.panels[state.panel];
  return new Set([...ranking.slice(0, 5), ...(proven === null ? [] : [proven])]);
}

function show(learners, preset) {
  state.shown = learners;
  state.preset = preset;
  update();
}

/** What depends on the panel and on the learners shown. */
function update() {
  for (const part of all("[data-panel]")) part.hidden = part.dataset.panel !== String(state.panel);
  for (const part of all("[data-learner]")) part.hidden = !state.shown.has(+part.dataset.learner);
  for (const key of all("[data-toggle]")) key.setAttribute("aria-pressed", state.shown.has(+key.dataset.toggle));
  for (const key of all("[data-preset]")) key.setAttribute("aria-pressed", key.dataset.preset === state.preset);
  for (const text of all("[data-count]")) text.textContent = `${state.shown.size} of ${page.learners.length}`;
  redraw();
}

/** A group of buttons of which one is pressed. */
function choice(name, act) {
  const buttons = all(`[data-choose=${name}]`);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", other.dataset.value === button.dataset.value);
      act(button.dataset.value);
    });
  }
}

function wireSwitches() {
  choice("theme", (value) => { document.documentElement.dataset.theme = value; redraw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  choice("axes", (value) => { state.log = value === "log"; redraw(); });
  choice("maps", (value) => { state.ownScale = value === "own"; redraw(); });
  choice("unit", (value) => { state.unit = value; redraw(); });
  choice("panel", (value) => { state.panel = +value; if (state.preset === "top") state.shown = bestLearners(); update(); });
  for (const input of all("input[data-role]")) {
    input.addEventListener("change", () => { state.roles[input.dataset.role] = input.checked; redraw(); });
  }
  for (const key of all("[data-toggle]")) {
    key.addEventListener("click", () => {
      const learners = new Set(state.shown), learner = +key.dataset.toggle;
      if (!learners.delete(learner)) learners.add(learner);
      show(learners, null);
    });
  }
  for (const key of all("[data-preset]")) key.addEventListener("click", () => show(presets[key.dataset.preset](), key.dataset.preset));
  for (const input of all("[data-search], [data-guarantee]")) input.addEventListener("input", narrowKeys);
}

const everyone = () => page.learners.map((_, at) => at);
const presets = { top: bestLearners, all: () => new Set(everyone()), none: () => new Set(),
  matching: () => new Set(all("[data-toggle]").filter((key) => !key.hidden).map((key) => +key.dataset.toggle)) };

/** Of the keys of learners, those whose name and guarantee match. */
function narrowKeys() {
  const word = document.querySelector("[data-search]")?.value.toLowerCase() ?? "";
  const guarantee = document.querySelector("[data-guarantee]")?.value ?? "";
  for (const key of all("[data-toggle]")) {
    const { label, guarantee: theirs } = page.learners[+key.dataset.toggle];
    key.hidden = !label.toLowerCase().includes(word) || (guarantee !== "" && theirs !== guarantee);
  }
}

/** Tables sort by a click on a heading: first downwards for numbers, then the other way. */
function sortTable(table, heads, column) {
  const body = table.tBodies[0], head = heads[column];
  const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
  const numeric = [...body.rows].every((row) => key(row) === "" || !Number.isNaN(+key(row)));
  const now = head.getAttribute("aria-sort"), up = now ? now === "descending" : !numeric;
  const rows = [...body.rows].sort((a, b) => {
    if (key(a) === "" || key(b) === "") return (key(a) === "") - (key(b) === ""); // what is not known goes last
    return (up ? 1 : -1) * (numeric ? +key(a) - +key(b) : key(a).localeCompare(key(b)));
  });
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...rows);
}

function wirePage() {
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => head.querySelector("button")?.addEventListener("click", () => sortTable(table, heads, at)));
  }
  for (const holder of all("[data-chart]")) {
    holder.addEventListener("keydown", (event) => { if (move(holder, event.key)) event.preventDefault(); });
  }
  for (const button of all("[data-save]")) {
    const holder = button.closest("figure").querySelector("[data-chart]");
    button.addEventListener("click", () => saveAs(button.dataset.save, holder));
  }
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", () => {
      const text = document.getElementById(button.dataset.copy);
      getSelection().selectAllChildren(text);
      const copied = document.execCommand("copy"); // also where the page is a file
      button.textContent = copied ? "Copied" : "Selected: press Ctrl+C";
    });
  }
  window.addEventListener("beforeprint", () => all("[data-chart]").filter(visible).forEach(draw));
}

wireSwitches();
wirePage();
if (page.fold) { state.preset = "top"; state.shown = bestLearners(); }
if (page.panels.length) update(); else watchAll();
