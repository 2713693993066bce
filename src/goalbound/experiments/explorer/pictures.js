// The policy drawn on the grid or graph of the problem: one group of SVG elements for each state, changed in place.
"use strict";

const CELL = 60,
  ACROSS = 168,
  DOWN = 92,
  BOX = [118, 66],
  MANY = 40; // of more arrows, those of the chosen state stand out
const ARROW = "M-13 0H12M5 -7L12 0L5 7",
  WAVY = "M-15 0q4 -7 8 0t8 0h10M5 -6.5L11 0L5 6.5",
  STILL = "M-9 0a9 9 0 1 0 18 0a9 9 0 1 0 -18 0";

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Common parts of both pictures: a group for each state that can be chosen by mouse and by keyboard. */
class Picture {
  constructor(holder, model, layout, choose) {
    Object.assign(this, { model, layout, choose, groups: [] });
    this.root = svg("svg", { class: layout.kind, role: "group", "aria-label": "The policy, state by state" });
    holder.replaceChildren(this.root);
    this.build();
    this.cursor = this.groups[0].part("box").cloneNode();
    this.cursor.setAttribute("class", "cursor");
    this.root.append(this.cursor);
    this.root.addEventListener("click", (event) => {
      const group = event.target.closest("[data-state]");
      if (group) choose(+group.dataset.state);
    });
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  /** A picture is one stop of the tab key; arrows go to the state that lies that way. */
  key(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const group = event.target.closest("[data-state]");
    if (!way || !group) return;
    event.preventDefault();
    const { places } = this.layout,
      here = places[+group.dataset.state];
    let best = Infinity,
      found = -1;
    places.forEach((place, state) => {
      const [x, y] = [place[0] - here[0], place[1] - here[1]];
      const along = x * way[0] + y * way[1],
        aside = Math.abs(x * way[1]) + Math.abs(y * way[0]);
      if (along > 1e-9 && along + 3 * aside < best) {
        best = along + 3 * aside;
        found = state;
      }
    });
    if (found >= 0) {
      this.choose(found);
      this.groups[found].root.focus();
    }
  }

  group(state, x, y, ...children) {
    const root = svg(
      "g",
      {
        class: "state",
        "data-state": state,
        transform: `translate(${x} ${y})`,
        role: "button",
        tabindex: state ? "-1" : "0",
      },
      ...children,
    );
    this.groups[state] = { root, part: (name) => root.querySelector(`.${name}`) };
    return root;
  }

  /** Dots of the actions of a state, filled where the pair is known. */
  dots(state) {
    const { pairStart } = this.model,
      count = Math.min(pairStart[state + 1] - pairStart[state], 10);
    return svg(
      "g",
      { class: "dots" },
      ...Array.from({ length: count }, (_, at) => svg("circle", { cx: 7 * (at - (count - 1) / 2), r: 2.4 })),
    );
  }

  mark(state, { solution, learned, selected, number }) {
    const { root, part } = this.groups[state],
      { actions, states, pairAction, pairStart, scale } = this.model;
    const pair = solution.policy[state],
      action = pair < 0 ? "no proper policy" : actions[pairAction[pair]];
    const value = number(solution.values[state] * scale),
      other = learned?.policy ? learned.policy[state] : null;
    const differs = other !== null && isWorse(solution, state, other);
    root.classList.toggle("selected", state === selected);
    root.classList.toggle("differs", differs);
    root.setAttribute("tabindex", state === selected ? "0" : "-1");
    root.setAttribute("aria-pressed", state === selected);
    root.setAttribute(
      "aria-label",
      `${states[state]}: ${action}, value ${value}` + (differs ? `; the learner: ${actions[pairAction[other]]}` : ""),
    );
    part("value").textContent = value;
    const share =
      solution.largest > 0 && Number.isFinite(solution.values[state]) ? solution.values[state] / solution.largest : 0;
    part("box").style.fill = `color-mix(in srgb, var(--heat-high) ${(42 * share).toFixed(1)}%, var(--card))`;
    const dots = part("dots");
    dots.toggleAttribute("hidden", !learned?.known);
    if (learned?.known)
      [...dots.children].forEach((dot, at) =>
        dot.classList.toggle("known", learned.known[pairStart[state] + at] === "1"),
      );
    return { pair, other: differs ? other : null };
  }

  draw(shown) {
    this.cursor.setAttribute("transform", this.groups[shown.selected].root.getAttribute("transform"));
    this.groups.forEach((_, state) => this.show(state, this.mark(state, shown), shown));
  }
}

class GridPicture extends Picture {
  build() {
    const {
      size: [columns, rows],
      places,
      goal,
    } = this.layout;
    this.root.setAttribute("viewBox", `-1 -1 ${columns * CELL + 2} ${rows * CELL + 2}`);
    this.root.style.maxWidth = `${columns * 92}px`;
    this.root.style.minWidth = `${columns * 34}px`;
    const taken = new Set(places.map(([x, y]) => `${x},${y}`));
    for (let y = 0; y < rows; y += 1) {
      for (let x = 0; x < columns; x += 1) {
        if (!taken.has(`${x},${y}`))
          this.root.append(svg("rect", { class: "empty", x: x * CELL, y: y * CELL, width: CELL, height: CELL }));
      }
    }
    if (goal)
      this.root.append(
        svg(
          "g",
          {
            class: "goal",
            transform: `translate(${(goal[0] + 0.5) * CELL} ${(goal[1] + 0.5) * CELL})`,
            role: "img",
            "aria-label": "goal",
          },
          svg("rect", { class: "cell", x: -CELL / 2, y: -CELL / 2, width: CELL, height: CELL }),
          svg("path", { class: "pole", d: "M-8 16V-16" }),
          svg("path", { class: "flag", d: "M-7 -16L14 -9L-7 -2Z" }),
        ),
      );
    places.forEach(([x, y], state) => {
      this.root.append(
        this.group(
          state,
          (x + 0.5) * CELL,
          (y + 0.5) * CELL,
          svg("title"),
          svg("rect", { class: "box cell", x: -CELL / 2, y: -CELL / 2, width: CELL, height: CELL }),
          svg("g", { class: "best" }, svg("path")),
          svg("g", { class: "learned" }, svg("path")),
          svg("text", { class: "value", y: 24 }),
          svg("g", { transform: "translate(0 -24)" }, this.dots(state)),
        ),
      );
    });
  }

  show(state, { pair, other }, shown) {
    const { part, root } = this.groups[state];
    part("best").setAttribute("transform", `translate(${other === null ? 0 : -12} -4)`);
    part("learned").setAttribute("transform", "translate(13 -4)");
    this.arrow(part("best").firstChild, state, pair, shown);
    this.arrow(part("learned").firstChild, state, other, shown);
    part("learned").toggleAttribute("hidden", other === null);
    root.querySelector("title").textContent = root.getAttribute("aria-label");
  }

  /** Straight where the name of the action says where to; else wavy, the way it leads on average. */
  arrow(path, state, pair, { solution }) {
    if (pair === null || pair < 0) {
      path.setAttribute("d", pair === null ? "" : "M-7 -7L7 7M7 -7L-7 7");
      path.removeAttribute("transform");
      return;
    }
    const named = this.layout.moves[this.model.pairAction[pair]],
      [x, y] = named ?? this.drift(state, pair, solution);
    const still = !named && Math.hypot(x, y) < 0.03,
      small = this.groups[state].root.classList.contains("differs") ? " scale(.8)" : "";
    path.setAttribute("d", still ? STILL : named ? ARROW : WAVY);
    path.setAttribute("transform", `rotate(${still ? 0 : Math.round((Math.atan2(y, x) * 180) / Math.PI)})${small}`);
  }

  drift(state, pair, { mixed, context }) {
    const { places, goal, drifts } = this.layout,
      { nextStart, nextState } = this.model,
      here = places[state],
      sum = [0, 0];
    if (!mixed)
      return (drifts?.[pair] ?? []).reduce(
        ([x, y], move, part) => [x + context[part] * move[0], y + context[part] * move[1]],
        sum,
      );
    for (let at = nextStart[pair]; at < nextStart[pair + 1]; at += 1) {
      const to = places[nextState[at]] ?? goal ?? here;
      for (const side of [0, 1]) sum[side] += mixed.rows[at] * (to[side] - here[side]);
    }
    return sum;
  }
}

class GraphPicture extends Picture {
  build() {
    const {
        size: [columns, rows],
        places,
        goal,
      } = this.layout,
      [width, height] = BOX;
    const whole = [(columns - 1) * ACROSS + width + 40, (rows - 1) * DOWN + height + 64];
    this.root.setAttribute("viewBox", `0 0 ${whole[0]} ${whole[1]}`);
    this.root.style.maxWidth = `${whole[0] * 1.1}px`;
    this.root.style.minWidth = `${Math.min(whole[0] * 0.62, 1100)}px`;
    const head = (name) =>
      svg(
        "marker",
        {
          id: `head-${name}`,
          class: name,
          viewBox: "0 0 10 10",
          refX: 8,
          refY: 5,
          markerWidth: 9,
          markerHeight: 9,
          orient: "auto-start-reverse",
          markerUnits: "userSpaceOnUse",
        },
        svg("path", { d: "M0 0.5L10 5L0 9.5Z" }),
      );
    this.edges = svg("g", { class: "edges" });
    this.root.append(svg("defs", {}, head("best"), head("learned")), this.edges);
    const at = ([x, y]) => [x * ACROSS + width / 2 + 16, y * DOWN + height / 2 + 34];
    this.centres = [...places.map(at), at(goal)];
    places.forEach((_, state) => {
      this.root.append(
        this.group(
          state,
          ...this.centres[state],
          svg("title"),
          svg("rect", { class: "box", x: -width / 2, y: -height / 2, width, height, rx: 8 }),
          svg("text", { class: "name", y: -17 }, shortened(this.model.states[state], 17)),
          svg("text", { class: "action", y: -1 }),
          svg("text", { class: "value", y: 15 }),
          svg("g", { transform: "translate(0 25)" }, this.dots(state)),
        ),
      );
    });
    this.root.append(
      svg(
        "g",
        { class: "goal", transform: `translate(${this.centres.at(-1).join(" ")})` },
        svg("circle", { r: 24 }),
        svg("text", { class: "name", y: 4 }, "goal"),
      ),
    );
  }

  draw(shown) {
    this.edges.replaceChildren();
    super.draw(shown);
    this.edges.classList.toggle("many", this.edges.childElementCount > MANY);
  }

  show(state, { pair, other }, shown) {
    const { part, root } = this.groups[state],
      { actions, pairAction } = this.model;
    const name = (one) => (one < 0 ? "no proper policy" : actions[pairAction[one]]);
    part("action").textContent =
      other === null ? shortened(name(pair), 18) : `${shortened(name(pair), 9)} / ${shortened(name(other), 9)}`;
    root.querySelector("title").textContent = root.getAttribute("aria-label");
    if (other !== null) this.lines(state, other, "learned", shown);
    if (pair >= 0) this.lines(state, pair, "best", shown);
  }

  /** An arrow to each next state, the wider the more likely. */
  lines(state, pair, kind, { solution: { mixed }, selected }) {
    if (!mixed) return;
    const { nextStart, nextState } = this.model;
    for (let at = nextStart[pair]; at < nextStart[pair + 1]; at += 1) {
      const share = mixed.rows[at];
      if (share < 0.005) continue;
      const look = {
        class: state === selected ? `${kind} of-selected` : kind,
        "stroke-width": (0.8 + 4 * share).toFixed(2),
        "stroke-opacity": (0.3 + 0.7 * share).toFixed(2),
      };
      this.edges.append(
        nextState[at] === state
          ? svg("path", { ...look, d: this.loop(state, kind) })
          : svg("path", { ...look, d: this.curve(state, nextState[at], kind), "marker-end": `url(#head-${kind})` }),
      );
    }
  }

  loop(state, kind) {
    const [x, y] = this.centres[state],
      top = y - BOX[1] / 2,
      side = kind === "best" ? 34 : -34;
    return `M${x + side - 12} ${top}c-4 -22 28 -22 24 0`;
  }

  curve(from, to, kind) {
    const [a, b] = [this.centres[from], this.centres[to]],
      bend = kind === "best" ? 0.1 : -0.1;
    const middle = [(a[0] + b[0]) / 2 + bend * (b[1] - a[1]), (a[1] + b[1]) / 2 - bend * (b[0] - a[0])];
    const edge = (centre, towards, goal) => {
      const [x, y] = [towards[0] - centre[0], towards[1] - centre[1]],
        far = Math.hypot(x, y) || 1;
      const scale = goal
        ? 26 / far
        : Math.min((BOX[0] / 2 + 3) / (Math.abs(x) || 1e-9), (BOX[1] / 2 + 3) / (Math.abs(y) || 1e-9));
      return [centre[0] + x * scale, centre[1] + y * scale];
    };
    const start = edge(a, middle, false),
      end = edge(b, middle, to === this.model.states.length);
    const point = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
    return `M${point(start)}Q${point(middle)} ${point(end)}`;
  }
}
