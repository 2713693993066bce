// The simplex of contexts as a control: a line for two components, a triangle for three; sliders for any number.
"use strict";

const TOP = [
  [220, 34],
  [26, 366],
  [414, 366],
]; // the first component is on top, then lower left and lower right
const LINE = [24, 416],
  BAND = [40, 84];
const fillOf = (place) => `color-mix(in srgb, var(--c${place % 8}) ${place < 8 ? 34 : 17}%, var(--page))`;

/** A point of the simplex: no weight below 0, and they sum to 1. */
function onSimplex(weights) {
  const kept = weights.map((weight) => Math.max(0, weight)),
    sum = kept.reduce((one, two) => one + two, 0);
  return sum > 0 ? kept.map((weight) => weight / sum) : kept.map(() => 1 / kept.length);
}

/** The context with one weight changed; the others keep their proportions. */
function withWeight(context, place, weight) {
  const rest = context.reduce((sum, one, at) => (at === place ? sum : sum + one), 0);
  return context.map((one, at) =>
    at === place ? weight : rest > 0 ? (one / rest) * (1 - weight) : (1 - weight) / (context.length - 1),
  );
}

const distance = (one, two) => Math.hypot(...one.map((weight, at) => weight - two[at]));

/** The place of the nearest of some contexts. */
function nearestOf(contexts, context) {
  let best = 0;
  contexts.forEach((other, at) => {
    if (distance(other, context) < distance(contexts[best], context) - 1e-12) best = at;
  });
  return best;
}

/** What a line and a triangle share: drag anywhere, or move the handle by the arrow keys. */
class SimplexControl {
  constructor(holder, names, moved) {
    Object.assign(this, { names, moved });
    this.regions = svg("g");
    this.marks = svg("g");
    this.handle = svg(
      "g",
      {
        class: "handle",
        tabindex: 0,
        role: "slider",
        "aria-label": "Context",
        "aria-valuemin": 0,
        "aria-valuemax": 1,
      },
      svg("circle", { r: 10 }),
      svg("circle", { class: "middle", r: 2.6 }),
    );
    this.root = svg(
      "svg",
      { viewBox: this.box, role: "group", "aria-label": "The simplex of contexts. Arrow keys move the context." },
      this.regions,
      this.frame(),
      this.marks,
      this.handle,
    );
    holder.replaceChildren(this.root);
    const drag = (event) => {
      const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.root.getScreenCTM().inverse());
      moved(this.weightsAt([at.x, at.y]));
    };
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      this.handle.focus({ preventScroll: true });
      drag(event);
      event.preventDefault();
    });
    this.root.addEventListener("pointermove", (event) => {
      if (this.root.hasPointerCapture(event.pointerId)) drag(event);
    });
    this.handle.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (!way) return;
      event.preventDefault();
      this.step(way, event.shiftKey ? 0.1 : 0.01);
    });
  }

  set(context) {
    this.context = context;
    this.handle.setAttribute("transform", `translate(${this.placeOf(context).join(" ")})`);
    this.handle.setAttribute("aria-valuenow", context[0]);
    this.handle.setAttribute(
      "aria-valuetext",
      this.names.map((name, at) => `${name} ${(100 * context[at]).toFixed(1)}%`).join(", "),
    );
  }

  /** Small rings at the contexts where the learner was looked at, and a larger one around the nearest. */
  mark(contexts, nearest) {
    this.marks.replaceChildren(
      ...contexts.map((context, at) => {
        const [cx, cy] = this.placeOf(context);
        return svg("circle", {
          class: at === nearest ? "nearest" : "lattice",
          cx,
          cy,
          r: at === nearest ? 13.5 : 2.2,
        });
      }),
    );
  }

  /** name: the text in a region; weights: where. */
  label(name, weights) {
    const [x, y] = this.placeOf(weights);
    return svg("text", { class: "region-name", x, y: y + 4 }, name);
  }
}

class TriangleControl extends SimplexControl {
  get box() {
    return "0 0 440 400";
  }

  placeOf(context) {
    return [0, 1].map((side) => context.reduce((sum, weight, at) => sum + weight * TOP[at][side], 0));
  }

  weightsAt([x, y]) {
    const first = (TOP[1][1] - y) / (TOP[1][1] - TOP[0][1]),
      along = (x - TOP[1][0]) / (TOP[2][0] - TOP[1][0]);
    const third = along - first / 2;
    return onSimplex([first, 1 - first - third, third]);
  }

  step([x, y], size) {
    const [a, b, c] = this.context;
    this.moved(
      onSimplex(y ? [a - y * size, b + (y * size) / 2, c + (y * size) / 2] : [a, b - x * size, c + x * size]),
    );
  }

  frame() {
    const side = [
        [220, 22],
        [44, 388],
        [396, 388],
      ],
      anchor = ["middle", "start", "end"];
    return svg(
      "g",
      {},
      svg("path", { class: "edge", d: `M${TOP.map((one) => one.join(" ")).join("L")}Z` }),
      ...this.names.map((name, at) =>
        svg(
          "text",
          { x: at ? (at === 1 ? 10 : 430) : side[0][0], y: side[at][1], style: `text-anchor:${anchor[at]}` },
          shortened(name, 24),
        ),
      ),
    );
  }

  /** Parts of the same colour are one path. Where corners differ, the border goes between them. */
  paint(map, keyFor, placeFor) {
    const paths = new Map(),
      borders = [];
    const text = (points) => `M${points.map((point) => point.map((one) => one.toFixed(2)).join(" ")).join("L")}`;
    const fill = (key, points) => paths.set(key, `${paths.get(key) ?? ""}${text(points)}Z`);
    for (const { corners, policies } of map.triangles) {
      const keys = policies.map(keyFor),
        points = corners.map((corner) => this.placeOf(map.weights(corner)));
      const odd = [0, 1, 2].find((at) => keys[(at + 1) % 3] === keys[(at + 2) % 3]);
      const middle = (one, two) => this.placeOf(map.crossing(corners[one], corners[two]));
      if (odd === undefined) {
        const centre = points[0].map((_, side) => (points[0][side] + points[1][side] + points[2][side]) / 3);
        for (const at of [0, 1, 2]) {
          const [next, last] = [(at + 1) % 3, (at + 2) % 3];
          fill(keys[at], [points[at], middle(at, next), centre, middle(at, last)]);
          borders.push(text([middle(at, next), centre]));
        }
      } else if (keys[odd] === keys[(odd + 1) % 3]) fill(keys[odd], points);
      else {
        const [next, last] = [(odd + 1) % 3, (odd + 2) % 3],
          cut = [middle(odd, next), middle(odd, last)];
        fill(keys[odd], [points[odd], ...cut]);
        fill(keys[next], [points[next], points[last], cut[1], cut[0]]);
        borders.push(text(cut));
      }
    }
    this.regions.replaceChildren(
      ...[...paths].map(([key, d]) => {
        const colour = fillOf(placeFor(key));
        return svg("path", { class: "region", d, style: `fill:${colour};stroke:${colour}` });
      }),
      svg("path", { class: "border", d: borders.join("") }),
    );
  }

  /** The cells of a lattice: a hexagon around each context, cut off at the edges. */
  paintLattice(contexts, steps, policies, keyFor, placeFor) {
    const turns = [
      [2, -1, -1],
      [1, 1, -2],
      [-1, 2, -1],
      [-2, 1, 1],
      [-1, -1, 2],
      [1, -2, 1],
    ];
    const clip = svg(
      "clipPath",
      { id: "inside" },
      svg("path", { d: `M${TOP.map((one) => one.join(" ")).join("L")}Z` }),
    );
    this.regions.setAttribute("clip-path", "url(#inside)");
    this.regions.replaceChildren(
      clip,
      ...contexts.map((context, at) => {
        const corners = turns.map((turn) =>
          this.placeOf(context.map((weight, part) => weight + turn[part] / (3 * steps))),
        );
        const fill = fillOf(placeFor(keyFor(policies[at])));
        return svg("path", {
          class: "region",
          d: `M${corners.map((one) => one.join(" ")).join("L")}Z`,
          style: `fill:${fill};stroke:var(--page)`,
        });
      }),
    );
  }
}

class LineControl extends SimplexControl {
  get box() {
    return "0 0 440 126";
  }

  placeOf([, second]) {
    return [LINE[0] + second * (LINE[1] - LINE[0]), (BAND[0] + BAND[1]) / 2];
  }

  weightsAt([x]) {
    const second = Math.min(1, Math.max(0, (x - LINE[0]) / (LINE[1] - LINE[0])));
    return [1 - second, second];
  }

  step([x, y], size) {
    const second = Math.min(1, Math.max(0, this.context[1] + (x - y) * size));
    this.moved([1 - second, second]);
  }

  frame() {
    return svg(
      "g",
      {},
      svg("rect", { class: "edge", x: LINE[0], y: BAND[0], width: LINE[1] - LINE[0], height: BAND[1] - BAND[0] }),
      ...this.names.map((name, at) =>
        svg("text", { x: at ? 430 : 10, y: 24, style: `text-anchor:${at ? "end" : "start"}` }, shortened(name, 26)),
      ),
    );
  }

  paint(stretches, keyFor, placeFor, names) {
    const width = LINE[1] - LINE[0],
      parts = [];
    for (const { from, to, policy } of stretches) {
      const x = LINE[0] + from * width,
        key = keyFor(policy);
      parts.push(
        svg("rect", {
          class: "region",
          x,
          y: BAND[0],
          width: (to - from) * width,
          height: BAND[1] - BAND[0],
          style: `fill:${fillOf(placeFor(key))}`,
        }),
      );
      if (from > 0) parts.push(svg("path", { class: "border", d: `M${x} ${BAND[0] - 5}V${BAND[1] + 5}` }));
      const name = names(policy);
      if (name && (to - from) * width > 26)
        parts.push(svg("text", { class: "region-name", x: x + ((to - from) * width) / 2, y: BAND[1] + 20 }, name));
    }
    this.regions.replaceChildren(...parts);
  }
}

/** A slider for each component; each has a strip that shows where the policy changes as it is moved alone. */
class Sliders {
  constructor(holder, names, moved, strips) {
    this.rows = names.map((name, at) => {
      const input = Object.assign(document.createElement("input"), {
        type: "range",
        min: 0,
        max: 1,
        step: "any",
        id: `weight-${at}`,
      });
      const label = Object.assign(document.createElement("label"), {
        htmlFor: input.id,
        textContent: name,
        title: name,
      });
      const output = Object.assign(document.createElement("output"), { htmlFor: input.id });
      const strip = strips
        ? svg("svg", { class: "strip", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" })
        : null;
      const row = Object.assign(document.createElement("div"), { className: "slider" });
      row.append(label, input, output, ...(strip ? [strip] : []));
      input.addEventListener("input", () => moved(withWeight(this.context, at, +input.value)));
      input.addEventListener("keydown", (event) => {
        // browsers step by any amount where the step is "any"
        const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
        if (!way) return;
        event.preventDefault();
        moved(
          withWeight(
            this.context,
            at,
            Math.min(1, Math.max(0, this.context[at] + way * (event.shiftKey ? 0.1 : 0.01))),
          ),
        );
      });
      holder.append(row);
      return { input, output, strip };
    });
  }

  set(context) {
    this.context = context;
    this.rows.forEach(({ input, output }, at) => {
      input.value = context[at];
      input.setAttribute("aria-valuetext", `${(100 * context[at]).toFixed(1)}%`);
      output.textContent = context[at].toFixed(3);
    });
  }

  paint(place, stretches, fill) {
    const { strip } = this.rows[place];
    strip.replaceChildren(
      ...stretches.map(({ from, to, policy }) =>
        svg("rect", { x: 100 * from, width: 100 * (to - from), height: 8, style: `fill:${fill(policy)}` }),
      ),
      ...stretches
        .slice(1)
        .map(({ from }) => svg("rect", { x: 100 * from - 0.3, width: 0.6, height: 8, style: "fill:var(--ink)" })),
    );
  }
}
