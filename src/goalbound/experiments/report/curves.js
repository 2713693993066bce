// Curves over episodes: regret with its bands, guides and bounds; shares of steps. One cursor moves over all of them.
"use strict";

const GUIDES = [[1 / 2, "1/2"], [2 / 3, "2/3"]]; // powers of K, and how they are written

/** Charts that share what is shown: the kind of axes, the hidden learners, and the episode under the cursor. */
class Curves {
  constructor(learners) {
    this.learners = learners;
    this.charts = [];
    this.shown = { log: true, bands: true, guides: true, bounds: false };
    this.hidden = new Set();
    this.episode = Infinity;
  }

  add(chart) {
    this.charts.push(chart);
    chart.draw();
  }

  set(name, value) {
    this.shown[name] = value;
    this.redraw();
  }

  toggle(learner) {
    if (!this.hidden.delete(learner)) this.hidden.add(learner);
    this.redraw();
  }

  /** Hide all learners, or none. */
  hideAll(hide) {
    this.hidden = new Set(hide ? this.learners.keys() : []);
    this.redraw();
  }

  /** One learner stands out while it is pointed at; null: all are alike again. */
  emphasise(learner) {
    for (const chart of this.charts) {
      for (const part of chart.canvas.querySelectorAll("[data-learner]")) {
        part.classList.toggle("faint", learner !== null && +part.dataset.learner !== learner);
      }
    }
  }

  redraw() {
    for (const chart of this.charts) chart.draw();
  }

  look(episode) {
    this.episode = episode;
    for (const chart of this.charts) chart.point();
  }
}

/**
 * One chart of lines.
 * `panel.episode` is the common grid; a line has { learner, values, low?, high?, bound? } on that grid;
 * `power` says whether the value axis may be logarithmic and has the guides.
 */
class Chart {
  constructor(curves, holder, { panel, lines, title, readout, power = false, ceiling = null }) {
    Object.assign(this, { curves, holder, panel, lines, title, readout, power, ceiling });
    this.clip = `clip${curves.charts.length}`;
    this.canvas = svg("svg", { "aria-hidden": "true" });
    holder.append(this.canvas);
    this.moved = explorable(holder, {
      count: () => panel.episode.length,
      label: `${title}; ${panel.title}. Arrow keys move along the episodes.`,
      nearest: (x) => this.nearest(x),
      show: (item) => curves.look(panel.episode[item]),
      say: (item) => this.said(item),
      first: panel.episode.length - 1,
    });
  }

  get visible() {
    return this.lines.filter((line) => !this.curves.hidden.has(line.learner));
  }

  get item() {
    const grid = this.panel.episode, wanted = this.curves.episode;
    const next = grid.findIndex((episode) => episode >= wanted);
    return next < 0 ? grid.length - 1 : next;
  }

  nearest(x) {
    const grid = this.panel.episode;
    let best = 0;
    for (let at = 1; at < grid.length; at += 1) {
      if (Math.abs(this.x.at(grid[at]) - x) < Math.abs(this.x.at(grid[best]) - x)) best = at;
    }
    return best;
  }

  said(item) {
    const names = this.visible.map((line) => `${this.curves.learners[line.learner].label} ${exact(line.values[item])}`);
    return `episode ${exact(this.panel.episode[item])}: ${names.join("; ") || "all learners are hidden"}`;
  }

  draw() {
    const shown = this.holder.clientWidth >= 200; // not while hidden, or while the window is being made
    const width = shown ? this.holder.clientWidth : 600, height = shown ? this.holder.clientHeight : 320;
    const wide = width >= 520, names = this.lines.map((line) => widthOf(this.curves.learners[line.learner].label));
    const margin = wide ? Math.min(44 + Math.max(0, ...names), 0.3 * width) : 30;
    this.frame = { left: 52, right: width - margin, top: 26, bottom: height - 42, width };
    this.axes();
    filled(this.canvas, { viewBox: `0 0 ${width} ${height}`, width, height }, []);
    this.canvas.replaceChildren(this.room(), ...this.ruler(), this.curvesOf(), ...this.names(wide));
    this.pointer = svg("g", { class: "pointer" });
    this.canvas.append(this.pointer);
    this.point();
  }

  axes() {
    const { left, right, top, bottom } = this.frame, { log, bands, bounds } = this.curves.shown;
    const grid = this.panel.episode, logarithmic = this.power && log;
    const values = this.visible.flatMap((line) => [
      ...line.values, ...(bands && line.high ? line.high : []), ...(bounds && line.bound ? [line.bound] : [])]);
    const high = this.ceiling || Math.max(...values.filter(Number.isFinite), logarithmic ? 1e-12 : 0) || 1;
    const positive = this.visible.flatMap((line) => line.values).filter((value) => value > high / 10 ** DECADES);
    this.logarithmic = logarithmic;
    this.x = scaleOf(log ? grid[0] : 0, Math.max(grid.at(-1), grid[0] + 1), left, right, log);
    const floor = logarithmic ? Math.min(high / 10, ...positive) : Math.min(0, ...values.filter(Number.isFinite));
    this.y = scaleOf(floor, high * (logarithmic ? 1.15 : 1), bottom, top, logarithmic);
  }

  /** Pixels of a point; where a logarithmic axis cannot show a value, its lower end. */
  place(at, value) {
    const shown = this.logarithmic ? Math.max(value, this.y.low) : value;
    return `${px(this.x.at(this.panel.episode[at]))} ${px(this.y.at(shown))}`;
  }

  drawable(value) {
    return value !== null && (!this.logarithmic || value >= this.y.low * (1 - 1e-9));
  }

  room() {
    const { left, right, top, bottom } = this.frame;
    const inside = { x: left, y: top - 6, width: right - left + 6, height: bottom - top + 12 };
    return svg("clipPath", { id: this.clip }, svg("rect", inside));
  }

  ruler() {
    const { left, right, bottom } = this.frame;
    const parts = [text(2, 14, this.title, "start", "title")];
    for (const tick of this.y.ticks) {
      const y = px(this.y.at(tick));
      parts.push(svg("path", { class: "rule", d: `M${left} ${y}H${right}` }));
      parts.push(text(left - 7, y + 4, short(tick), "end"));
    }
    let last = -Infinity;
    for (const tick of this.x.ticks) {
      const x = this.x.at(tick);
      parts.push(svg("path", { class: "rule", d: `M${px(x)} ${bottom}v5` }));
      if (x - last < 34) continue;
      parts.push(text(x, bottom + 19, short(tick), "middle"));
      last = x;
    }
    return [...parts, text((left + right) / 2, bottom + 37, "episodes so far, K", "middle"),
      svg("path", { class: "axis", d: `M${left} ${bottom}H${right}` })];
  }

  curvesOf() {
    const group = svg("g", { "clip-path": `url(#${this.clip})` });
    const { bands, guides, bounds } = this.curves.shown;
    if (bands) group.append(...this.visible.filter((line) => line.low).map((line) => this.band(line)));
    if (guides && this.power) group.append(...this.guides());
    for (const line of this.visible) {
      const path = { class: `line ${style(line.learner)}`, d: this.path(line), "data-learner": line.learner };
      group.append(svg("path", path));
      group.append(...this.marks(line));
    }
    const bounded = this.visible.filter((line) => bounds && line.bound);
    group.append(...bounded.flatMap((line) => this.bound(line)));
    return group;
  }

  path(line) {
    let pen = "M";
    return line.values.map((value, at) => {
      if (!this.drawable(value)) { pen = "M"; return ""; }
      const move = pen + this.place(at, value);
      pen = "L";
      return move;
    }).join("");
  }

  band(line) {
    const inside = line.values.map((value, at) => at).filter((at) => this.drawable(line.high[at]));
    const upper = inside.map((at) => this.place(at, line.high[at]));
    const lower = inside.map((at) => this.place(at, line.low[at])).reverse();
    const d = inside.length ? `M${[...upper, ...lower].join("L")}Z` : "";
    return svg("path", { class: `band ${style(line.learner)}`, d, "data-learner": line.learner });
  }

  /** A few markers, not at the same places for all lines. */
  marks(line) {
    const { left, right } = this.frame, parts = [];
    const gap = Math.max(70, (right - left) / 6);
    let next = left + gap * (0.35 + 0.61 * (line.learner % 5) / 5);
    this.panel.episode.forEach((episode, at) => {
      const x = this.x.at(episode);
      if (x < next || !this.drawable(line.values[at])) return;
      parts.push(marker(line.learner, x, this.y.at(line.values[at])));
      next = x + gap;
    });
    return parts;
  }

  /** Powers of K that meet the first visible line at its end; their names stand where they come into the picture. */
  guides() {
    const { left, right } = this.frame, grid = this.panel.episode, last = grid.at(-1);
    const learns = (line) => this.curves.learners[line.learner].card.sees !== "truth" && line.values.at(-1) > this.y.low;
    const end = this.visible.find(learns)?.values.at(-1);
    if (!end) return [];
    return GUIDES.flatMap(([power, word], place) => {
      const height = (episode) => this.y.at(Math.max(end * (episode / last) ** power, 1e-300));
      const points = grid.map((episode) => `${px(this.x.at(episode))} ${px(height(episode))}`);
      const bottom = Math.max(grid[0], last * (this.y.low / end) ** (1 / power));
      const enters = this.logarithmic ? bottom : last * (0.3 + 0.25 * place);
      const x = Math.min(this.x.at(enters) + (this.logarithmic ? 12 : 0), left + 0.8 * (right - left));
      const at = this.logarithmic ? grid[0] * (last / grid[0]) ** ((x - left) / (right - left)) : enters;
      const y = height(at) + (place && !this.logarithmic ? 20 : -8);
      const name = text(x, y, "∝ K", "start", "halo");
      name.append(svg("tspan", { dy: -4, class: "power" }, word));
      return [svg("path", { class: "guide", d: `M${points.join("L")}` }), name];
    });
  }

  bound(line) {
    const y = this.y.at(line.bound), { right } = this.frame, tag = this.curves.learners[line.learner].tag;
    return [svg("path", { class: `bound ${style(line.learner)}`, d: `M${right - 46} ${px(y)}H${right}m-5 -5v10` }),
      text(right - 52, y + 4, `bound of ${tag} ${short(line.bound)}`, "end", "halo")];
  }

  /** The tag and the name of each line at its end. */
  names(wide) {
    const { right, top, bottom, width } = this.frame;
    const lines = this.visible.filter((line) => this.drawable(line.values.at(-1)));
    const ends = lines.map((line) => this.y.at(line.values.at(-1)));
    return apart(ends, 16, top, bottom).flatMap((y, at) => {
      const { tag, label } = this.curves.learners[lines[at].learner];
      const name = text(right + 14, y + 4, svg("tspan", { class: "tag" }, tag), "start", "name");
      name.dataset.learner = lines[at].learner;
      if (wide) name.append(` ${fitted(label, width - right - 34)}`);
      const leader = `M${right} ${px(ends[at])}L${right + 10} ${px(y)}`;
      return [svg("path", { class: `leader ${style(lines[at].learner)}`, d: leader }), name];
    });
  }

  /** The cursor, and the numbers under it. */
  point() {
    const at = this.item, { top, bottom } = this.frame;
    const x = this.x.at(this.panel.episode[at]);
    const parts = [];
    if (Number.isFinite(this.curves.episode)) {
      parts.push(svg("path", { class: "cursor", d: `M${px(x)} ${top}V${bottom + 5}` }),
        text(x, bottom + 19, exact(this.panel.episode[at]), "middle", "halo name over"));
      for (const line of this.visible.filter((one) => this.drawable(one.values[at]))) {
        const middle = { cx: px(x), cy: px(this.y.at(line.values[at])), r: 4.5 };
        parts.push(svg("circle", { class: `dot ${style(line.learner)}`, ...middle }));
      }
    }
    this.pointer.replaceChildren(...parts);
    this.moved(at);
    if (this.readout) this.read(at);
  }

  read(at) {
    const rows = this.lines.map((line) => {
      const { tag, label } = this.curves.learners[line.learner];
      const gone = this.curves.hidden.has(line.learner);
      const band = line.low ? ` (${exact(line.low[at])} to ${exact(line.high[at])})` : "";
      return html("tr", gone ? { class: "gone" } : {},
        html("th", { scope: "row" }, sample(line.learner), html("b", { class: "tag" }, tag), ` ${label}`),
        html("td", {}, exact(line.values[at]), html("small", {}, band)),
        html("td", {}, exact(line.values[at] / this.panel.episode[at])));
    });
    this.readout.querySelector("caption b").textContent = exact(this.panel.episode[at]);
    this.readout.querySelector("tbody").replaceChildren(...rows);
  }
}
