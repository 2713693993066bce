// Pictures over contexts: a line for two components, a triangle for three, pairs of components for more.
"use strict";

const ROOT3 = Math.sqrt(3) / 2;

/** Contexts as pixels of a triangle: the first component at the left, the second at the right, the third on top. */
function ternary(size) {
  return ([first, second]) => {
    const third = 1 - first - second;
    return [18 + (second + third / 2) * size, 18 + (1 - third) * ROOT3 * size];
  };
}

/** Two components of a longer context: the first to the right, the second up. */
function twoOf(size) {
  return ([first, second]) => [30 + first * size, 12 + (1 - second) * size];
}

/** The corners of cell (i, j) of n x n, cut at first + second = 1. */
function cellCorners(i, j, n) {
  const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
  return (i + j === n - 1 ? corners.filter((_, at) => at !== 2) : corners).map((corner) => corner.map((part) => part / n));
}

function polygon(points) {
  return `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}Z`;
}

/** How much of the darkest colour a value gets: 0 is the lightest. */
function heat(element, share) {
  element.style.fill = `color-mix(in oklab, var(--heat-low), var(--heat-high) ${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%)`;
}

/**
 * A picture of items: { d: outline, x, y: where it is, share: 0..1 or null for none, word?: text on it, say: its text }.
 * `before` are elements under the items, `after` over them; `summary` is what the line below says at first.
 */
function field(holder, { width, height, label, items, before = [], after = [], summary }) {
  const cursor = svg("path", { class: "chosen", d: "" });
  const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...before);
  for (const item of items) {
    const shape = svg("path", { class: item.class || (item.share === null ? "empty" : "cell"), d: item.d });
    if (!item.class && item.share !== null) heat(shape, item.share);
    canvas.append(shape);
    if (item.word) canvas.append(svg("text", { x: item.x, y: item.y + 4, "text-anchor": "middle", class: "word" }, item.word));
  }
  canvas.append(...after, cursor);
  const place = html("div", { class: "field" }, canvas), line = html("p", { class: "read" }, summary);
  holder.append(place, line);
  explorable(place, {
    count: () => items.length,
    label: `${label}. Arrow keys move over the contexts.`,
    nearest: (x, y) => {
      const ratio = width / place.clientWidth;
      return items.reduce((best, item, at) => {
        const far = (one) => (one.x - x * ratio) ** 2 + (one.y - y * ratio) ** 2;
        return far(item) < far(items[best]) ? at : best;
      }, 0);
    },
    show: (at) => { cursor.setAttribute("d", items[at].d); line.textContent = items[at].say; },
    say: (at) => items[at].say,
    first: 0,
  });
}

function frame(components, project, corners) {
  const outline = svg("path", { class: "outline", d: polygon(corners.map(([first, second]) => project([first, second]))) });
  return [outline, ...corners.map(([first, second], at) => {
    const [x, y] = project([first, second]);
    const below = y > 60;
    return svg("text", { x: x.toFixed(1), y: (y + (below ? 16 : -6)).toFixed(1), "text-anchor": ["start", "end", "middle"][at] },
      fitted(components[at], at === 2 ? 150 : 92));
  })];
}

/** A key of the colours: from 0 to the largest value. */
function heatKey(most, unit, x, y) {
  const parts = [svg("text", { x: x - 4, y: y + 9, "text-anchor": "end" }, "0")];
  for (let step = 0; step <= 10; step += 1) {
    const box = svg("rect", { x: x + step * 8, y, width: 8.2, height: 10 });
    heat(box, step / 10);
    parts.push(box);
  }
  parts.push(svg("text", { x: x + 92, y: y + 9 }, `${short(most)}${unit}`));
  return parts;
}

const largest = (values) => Math.max(0, ...values.filter((value) => value !== null));
const range = (from, bins) => `${exact(from / bins)} to ${exact((from + 1) / bins)}`;

/** Two components: bars of the regret per episode along the line, 12 of them. */
function simplexLine(holder, { components, bins, count, value, most, label }) {
  const left = 44, top = 14, wide = 300, high = 110, step = wide / bins;
  const before = evenly(0, most || 1, 3).flatMap((tick) => {
    const y = (top + high * (1 - tick / (most || 1))).toFixed(1);
    return [svg("path", { class: "rule", d: `M${left} ${y}h${wide}` }), svg("text", { x: left - 6, y: +y + 4, "text-anchor": "end" }, short(tick))];
  });
  const items = count.map((episodes, at) => {
    const tall = most ? Math.max(1, (high * (value[at] || 0)) / most) : 1, x = left + at * step;
    const empty = episodes === 0;
    return {
      d: empty ? `M${x + 1} ${top}h${step - 2}v${high}h${2 - step}z` : `M${x + 1} ${(top + high - tall).toFixed(1)}h${step - 2}v${tall.toFixed(1)}h${2 - step}z`,
      x: x + step / 2, y: top + high / 2, share: empty ? null : 0.75,
      say: `${components[0]} ${range(at, bins)}: ${empty ? "no episodes" : `${exact(value[at])} per episode, ${exact(episodes)} episodes`}`,
    };
  });
  const after = [svg("path", { class: "axis", d: `M${left} ${top + high}h${wide}` }),
    svg("text", { x: left, y: top + high + 17 }, fitted(`all ${components[1]}`, 145)),
    svg("text", { x: left + wide, y: top + high + 17, "text-anchor": "end" }, fitted(`all ${components[0]}`, 145))];
  field(holder, { width: 352, height: 148, label, items, before, after, summary: overall(count, value) });
}

/** Cells of two components, in a triangle of three components or in their square. */
function simplexCells(holder, { components, bins, count, value, most, label, three }) {
  const project = three ? ternary(224) : twoOf(190);
  const cells = [];
  for (let i = 0; i < bins; i += 1) for (let j = 0; i + j < bins; j += 1) cells.push([i, j]);
  const items = cells.map(([i, j], at) => {
    const corners = cellCorners(i, j, bins).map(project);
    const x = corners.reduce((sum, corner) => sum + corner[0], 0) / corners.length;
    const y = corners.reduce((sum, corner) => sum + corner[1], 0) / corners.length;
    const where = `${components[0]} ${range(i, bins)}, ${components[1]} ${range(j, bins)}`;
    return { d: polygon(corners), x, y, share: count[at] ? (most ? value[at] / most : 0) : null,
      say: `${where}: ${count[at] ? `${exact(value[at])} per episode, ${exact(count[at])} episodes` : "no episodes"}` };
  });
  const after = three ? frame(components, project, [[1, 0], [0, 1], [0, 0]]) : [
    svg("path", { class: "outline", d: polygon([[0, 0], [1, 0], [0, 1]].map(project)) }),
    svg("text", { x: 220, y: 218, "text-anchor": "end" }, `${fitted(components[0], 150)} →`),
    svg("text", { x: 22, y: 12, transform: "rotate(-90 22 12)", "text-anchor": "end" }, `${fitted(components[1], 150)} →`)];
  const key = three ? heatKey(most, "", 78, 246) : heatKey(most, "", 120, 30);
  field(holder, { width: three ? 260 : 240, height: three ? 262 : 226, label, items, after: [...after, ...key], summary: overall(count, value) });
}

function overall(count, value) {
  const episodes = count.reduce((sum, one) => sum + one, 0);
  const regret = count.reduce((sum, one, at) => sum + (one ? one * value[at] : 0), 0);
  return `${exact(+(regret / episodes).toPrecision(4))} per episode over all ${exact(episodes)} episodes`;
}

function gapWords(policy, at) {
  if (policy.improper[at]) {
    const runs = `not proper in ${policy.improper[at]} of ${policy.runs} runs`;
    return policy.gap[at] === null ? runs : `${runs}, else ${exact(policy.gap[at])} above the best`;
  }
  return `${exact(policy.gap[at])} above the best loss; another action in ${exact(+(100 * policy.differs[at]).toPrecision(3))}% of the states`;
}

function mixture(context, components) {
  return context.map((share, at) => [share, components[at]]).filter(([share]) => share > 0)
    .map(([share, name]) => `${exact(+(100 * share).toPrecision(3))}% ${name}`).join(", ");
}

/** Two components: how much worse the learned policy is (bars) above the best policies by number (strip). */
function policyLine(holder, { components, contexts, best, policy, most, label }) {
  const left = 44, top = 14, wide = 300, high = 90, count = contexts.length, step = wide / count;
  const order = contexts.map((_, at) => at).sort((a, b) => contexts[a][0] - contexts[b][0]);
  const before = evenly(0, most || 1, 3).flatMap((tick) => {
    const y = (top + high * (1 - tick / (most || 1))).toFixed(1);
    return [svg("path", { class: "rule", d: `M${left} ${y}h${wide}` }), svg("text", { x: left - 6, y: +y + 4, "text-anchor": "end" }, short(tick))];
  });
  const items = order.map((at, place) => {
    const x = left + place * step, gap = policy.gap[at];
    const tall = most && gap ? Math.max(1, (high * gap) / most) : 1;
    return {
      d: policy.improper[at] ? `M${x.toFixed(2)} ${top}h${step}v${high}h${-step}z` : `M${(x + 0.6).toFixed(2)} ${(top + high - tall).toFixed(1)}h${(step - 1.2).toFixed(2)}v${tall.toFixed(1)}h${(1.2 - step).toFixed(2)}z`,
      x: x + step / 2, y: top + high / 2, share: policy.improper[at] ? null : 0.75, class: policy.improper[at] ? "improper" : "",
      say: `${mixture(contexts[at], components)}: best policy ${best[at] + 1}; learned: ${gapWords(policy, at)}`,
    };
  });
  const strip = [];
  for (let place = 0; place < count;) {
    let end = place;
    while (end < count && best[order[end]] === best[order[place]]) end += 1;
    const number = best[order[place]], x = left + place * step, room = (end - place) * step;
    strip.push(svg("path", { class: `kind k${number % 4}`, d: `M${x.toFixed(1)} ${top + high + 8}h${room.toFixed(1)}v18h${(-room).toFixed(1)}z` }));
    if (room >= 14) strip.push(svg("text", { x: (x + room / 2).toFixed(1), y: top + high + 21, "text-anchor": "middle", class: "word" }, `${number + 1}`));
    place = end;
  }
  const after = [...strip, svg("text", { x: left - 6, y: top + high + 21, "text-anchor": "end" }, "best"),
    svg("text", { x: left, y: top + high + 43 }, fitted(`all ${components[1]}`, 145)),
    svg("text", { x: left + wide, y: top + high + 43, "text-anchor": "end" }, fitted(`all ${components[0]}`, 145))];
  field(holder, { width: 352, height: 154, label, items, before, after, summary: policySummary(policy) });
}

function policySummary(policy) {
  const right = policy.gap.filter((gap, at) => !policy.improper[at] && policy.differs[at] === 0).length;
  const lost = policy.improper.filter(Boolean).length;
  const worst = largest(policy.gap);
  return `optimal in every state at ${right} of ${policy.gap.length} contexts; at worst ${exact(+worst.toPrecision(4))} above the best`
    + (lost ? `; not proper somewhere at ${lost}` : "");
}

/** Three components: a dot for each context of the grid. With `policy` its gap, without it the best policy's number. */
function policyTernary(holder, { components, contexts, best, policy, most, label }) {
  const project = ternary(224), radius = 9.4;
  const circle = (x, y) => `M${(x - radius).toFixed(1)} ${y.toFixed(1)}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0z`;
  const items = contexts.map((context, at) => {
    const [x, y] = project(context), where = mixture(context, components);
    if (!policy) return { d: circle(x, y), x, y, share: null, class: `kind k${best[at] % 4}`, word: `${best[at] + 1}`, say: `${where}: best policy ${best[at] + 1}` };
    const improper = policy.improper[at] > 0;
    return { d: circle(x, y), x, y, share: improper ? null : most ? policy.gap[at] / most : 0, class: improper ? "improper" : "",
      word: improper ? "×" : "", say: `${where}: ${gapWords(policy, at)}` };
  });
  const after = [[1, 0], [0, 1], [0, 0]].map(([first, second], at) => {
    const [x, y] = project([first, second]);
    return svg("text", { x: (x + [-16, 16, 0][at]).toFixed(1), y: (y + (at === 2 ? -13 : 24)).toFixed(1), "text-anchor": ["start", "end", "middle"][at] }, fitted(components[at], at === 2 ? 150 : 92));
  });
  const summary = policy ? policySummary(policy) : `${new Set(best).size} different best policies at ${best.length} contexts`;
  const canvas = { width: 260, height: 270, label, items, summary };
  field(holder, { ...canvas, after: policy ? [...after, ...heatKey(most, "", 78, 256)] : after });
}
