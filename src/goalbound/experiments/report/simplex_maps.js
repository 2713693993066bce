// Pictures over contexts: a line for two components, a triangle for three, pairs of components for more.
"use strict";

const CORNERS = [[1, 0], [0, 1], [0, 0]]; // the first two components of each corner of a triangle
const largest = (values) => Math.max(0, ...values.filter((value) => value !== null));
const range = (from, bins) => `${exact(from / bins)} to ${exact((from + 1) / bins)}`;
const percent = (share) => `${exact(+(100 * share).toPrecision(3))}%`;

/** Contexts as pixels of a triangle: the first component at the left, the second at the right, the third on top. */
function ternary([first, second]) {
  const third = 1 - first - second, size = 224;
  return [18 + (second + third / 2) * size, 22 + (1 - third) * (Math.sqrt(3) / 2) * size];
}

/** Two components of a longer context: the first to the right, the second up. */
function twoOf([first, second]) {
  return [30 + first * 190, 12 + (1 - second) * 190];
}

/** The corners of cell (i, j) of n x n, cut at first + second = 1. */
function cellCorners(i, j, n) {
  const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map((corner) => corner.map((part) => part / n));
  return i + j === n - 1 ? corners.filter((_, at) => at !== 2) : corners;
}

function polygon(points) {
  return `M${points.map((point) => point.map((part) => part.toFixed(1)).join(" ")).join("L")}Z`;
}

function box(x, y, wide, high) {
  return polygon([[x, y], [x + wide, y], [x + wide, y + high], [x, y + high]]);
}

/** How much of the darkest colour an element gets. The root shows small values beside large ones. */
function heat(element, share) {
  const part = (100 * Math.sqrt(Math.min(1, Math.max(0, share)))).toFixed(1);
  element.style.fill = `color-mix(in oklab, var(--heat-low), var(--heat-high) ${part}%)`;
}

/** The key of the colours: from 0 to the largest value, and a quarter of it, which is half way. */
function heatKey(most, x, y) {
  const parts = [];
  for (let step = 0; step < 12; step += 1) {
    const patch = svg("rect", { x: x + step * 12, y, width: 12.3, height: 9 });
    heat(patch, (step / 11) ** 2);
    parts.push(patch);
  }
  const at = [[0, x, "start"], [most / 4, x + 72, "middle"], [most, x + 144, "end"]];
  return [...parts, ...at.map(([value, place, anchor]) => text(place, y + 22, short(value), anchor))];
}

/**
 * A picture of items: { d: outline, x, y: its middle, share: 0..1 or null, class?: instead of a colour, word?, say }.
 * `before` are elements under the items, `after` over them; `summary` is what the line below says at first.
 */
function field(holder, { width, height, label, items, before = [], after = [], summary }) {
  const cursor = svg("path", { class: "chosen", d: "" });
  const canvas = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, ...before);
  for (const item of items) {
    const shape = svg("path", { class: item.class || (item.share === null ? "empty" : "cell"), d: item.d });
    if (!item.class && item.share !== null) heat(shape, item.share);
    canvas.append(shape);
    if (item.word) canvas.append(text(item.x, item.y + 4, item.word, "middle", "word"));
  }
  canvas.append(...after, cursor);
  const place = html("div", { class: "field" }, canvas), line = html("p", { class: "read" }, summary);
  holder.append(place, line);
  explorable(place, {
    count: () => items.length,
    label: `${label}. Arrow keys move over the contexts.`,
    nearest: (x, y) => {
      const ratio = width / place.clientWidth;
      const far = (item) => (item.x - x * ratio) ** 2 + (item.y - y * ratio) ** 2;
      return items.reduce((best, item, at) => (far(item) < far(items[best]) ? at : best), 0);
    },
    show: (at) => { cursor.setAttribute("d", items[at].d); line.textContent = items[at].say; },
    say: (at) => items[at].say,
    first: 0,
  });
}

/** Two components: bars along the line. A column has { value, class: instead of a bar the whole height, say }. */
function bars(holder, { columns, components, most, label, summary, under = () => [], below = 0 }) {
  const left = 44, top = 10, wide = 300, high = 100, step = wide / columns.length, pad = Math.min(1, step / 12);
  const scale = scaleOf(0, most || 1, top + high, top, false);
  const before = scale.ticks.flatMap((tick) => [
    svg("path", { class: "rule", d: `M${left} ${px(scale.at(tick))}h${wide}` }),
    text(left - 6, scale.at(tick) + 4, short(tick), "end")]);
  const items = columns.map((column, at) => {
    const tall = column.class ? high : Math.max(1, (column.value / (most || 1)) * high);
    const d = box(left + at * step + pad, top + high - tall, step - 2 * pad, tall);
    return { ...column, d, x: left + (at + 0.5) * step, y: top + high / 2, share: 0.55 };
  });
  const bottom = top + high + below;
  const ends = [[left, "start", components[1]], [left + wide, "end", components[0]]];
  const after = [svg("path", { class: "axis", d: `M${left} ${top + high}h${wide}` }), ...under(left, step, top + high),
    ...ends.map(([x, anchor, name]) => text(x, bottom + 17, fitted(`all ${name}`, 145), anchor))];
  field(holder, { width: 352, height: bottom + 24, label, items, before, after, summary });
}

function episodesWords(count, value) {
  return count ? `${exact(value)} per episode, ${exact(count)} ${count === 1 ? "episode" : "episodes"}` : "no episodes";
}

function overall(count, value) {
  const episodes = count.reduce((sum, one) => sum + one, 0);
  const regret = count.reduce((sum, one, at) => sum + (one ? one * value[at] : 0), 0);
  return `${exact(+(regret / episodes).toPrecision(4))} per episode over all ${exact(episodes)} episodes`;
}

/** Two components: the regret per episode along the line. */
function simplexLine(holder, { components, bins, count, value, most, label }) {
  const columns = count.map((episodes, at) => ({
    value: value[at], class: episodes ? "" : "empty",
    say: `${components[0]} ${range(at, bins)}: ${episodesWords(episodes, value[at])}`,
  }));
  bars(holder, { columns, components, most, label, summary: overall(count, value) });
}

/** Cells of two components, in a triangle of three components or in their square. */
function simplexCells(holder, { components, bins, count, value, most, label, three }) {
  const project = three ? ternary : twoOf, items = [];
  for (let i = 0; i < bins; i += 1) {
    for (let j = 0; i + j < bins; j += 1) {
      const at = items.length, corners = cellCorners(i, j, bins).map(project);
      const [x, y] = [0, 1].map((axis) => corners.reduce((sum, corner) => sum + corner[axis], 0) / corners.length);
      const where = `${components[0]} ${range(i, bins)}, ${components[1]} ${range(j, bins)}`;
      items.push({ d: polygon(corners), x, y, share: count[at] ? value[at] / (most || 1) : null,
        say: `${where}: ${episodesWords(count[at], value[at])}` });
    }
  }
  const outline = svg("path", { class: "outline", d: polygon(CORNERS.map(project)) });
  const after = three ? [outline, ...cornerNames(components, 0), ...heatKey(most, 58, 244)] : [outline,
    text(220, 218, `${fitted(components[0], 150)} →`, "end"),
    svg("g", { transform: "rotate(-90 22 12)" }, text(22, 12, `${fitted(components[1], 150)} →`, "end")),
    ...heatKey(most, 90, 14)];
  const size = three ? { width: 260, height: 270 } : { width: 240, height: 226 };
  field(holder, { ...size, label, items, after, summary: overall(count, value) });
}

function cornerNames(components, room) {
  return CORNERS.map((corner, at) => {
    const [x, y] = ternary(corner);
    const below = at === 2 ? -6 - room / 2 : 15 + room / 2, name = fitted(components[at], at === 2 ? 150 : 100);
    return text(x + [-room, room, 0][at], y + below, name, ["start", "end", "middle"][at]);
  });
}

function mixture(context, components) {
  return context.map((share, at) => [share, components[at]]).filter(([share]) => share > 0)
    .map(([share, name]) => `${percent(share)} ${name}`).join(", ");
}

/** What is said about the learned policy at a context. */
function gapWords(policy, at) {
  const gap = policy.gap[at] === null ? "" : `${exact(policy.gap[at])} above the best`;
  if (policy.improper[at]) {
    return `not proper in ${policy.improper[at]} of ${policy.runs} runs${gap && `, else ${gap}`}`;
  }
  if (!policy.gap[at]) return "as good as the best";
  return `${gap}; another action in ${percent(policy.differs[at])} of the states`;
}

function policySummary(policy) {
  const right = policy.gap.filter((gap, at) => !policy.improper[at] && !gap).length;
  const lost = policy.improper.filter(Boolean).length, worst = largest(policy.gap);
  return `as good as the best at ${right} of ${policy.gap.length} contexts`
    + (worst ? `; at worst ${exact(worst)} above it` : "") + (lost ? `; not proper at ${lost}` : "");
}

/** Two components: how much worse the learned policy is (bars), over the numbers of the best policies (strip). */
function policyLine(holder, { components, contexts, best, policy, most, label }) {
  const order = contexts.map((_, at) => at).sort((a, b) => contexts[a][0] - contexts[b][0]);
  const columns = order.map((at) => ({
    value: policy.gap[at], class: policy.improper[at] ? "improper" : "",
    say: `${mixture(contexts[at], components)}: best policy ${best[at] + 1}; learned: ${gapWords(policy, at)}`,
  }));
  const strip = (left, step, y) => {
    const parts = [text(left - 6, y + 21, "best", "end")];
    for (let first = 0, next; first < order.length; first = next) {
      const number = best[order[first]];
      for (next = first; next < order.length && best[order[next]] === number;) next += 1;
      const x = left + first * step, room = (next - first) * step;
      parts.push(svg("path", { class: `kind k${number % 8}`, d: box(x, y + 8, room, 18) }));
      if (room >= 14) parts.push(text(x + room / 2, y + 21, `${number + 1}`, "middle", "word"));
    }
    return parts;
  };
  bars(holder, { columns, components, most, label, summary: policySummary(policy), under: strip, below: 26 });
}

/** Three components: a dot for each context of the grid. With `policy` its gap, without it the best policy's number. */
function policyTernary(holder, { components, contexts, best, policy, most, label }) {
  const items = contexts.map((context, at) => {
    const [x, y] = ternary(context), where = mixture(context, components), number = best[at] + 1;
    const dot = { d: `M${x - 9.4} ${y}a9.4 9.4 0 1 0 18.8 0a9.4 9.4 0 1 0 -18.8 0z`, x, y, share: null };
    const is = `${where}: best policy ${number}`;
    if (!policy) return { ...dot, class: `kind k${best[at] % 8}`, word: `${number}`, say: is };
    const say = `${is}; learned: ${gapWords(policy, at)}`;
    if (policy.improper[at]) return { ...dot, class: "improper", word: "×", say };
    return { ...dot, share: policy.gap[at] / (most || 1), say };
  });
  const different = `${new Set(best).size} different best policies at ${best.length} contexts`;
  const after = [...cornerNames(components, 14), ...(policy ? heatKey(most, 58, 252) : [])];
  field(holder, { width: 260, height: 278, label, items, after, summary: policy ? policySummary(policy) : different });
}
