// Helpers of all charts: elements, formatted numbers, scales, markers, and a cursor for mouse, touch and keys.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const DECADES = 7; // the most that a logarithmic axis shows: rounding noise near 0 is no curve

/** An SVG element with attributes and children (elements or text). */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** A text of a picture; `anchor` is where x is: at its start, middle or end. */
function text(x, y, words, anchor = "start", kind = "") {
  return svg("text", { x: px(x), y: px(y), "text-anchor": anchor, class: kind }, words);
}

/** Pixels as they are written. */
function px(value) {
  return +value.toFixed(1);
}

/** An HTML element with attributes and children (elements or text). */
function html(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** A number for reading: six significant digits, thousands parted. */
function exact(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Math.abs(value) < 1e-9) return "0"; // rounding
  if (Math.abs(value) < 1e-4) return minus(value.toExponential(2));
  return minus(value.toLocaleString("en-US", { maximumSignificantDigits: 6 }));
}

/** A number beside an axis: 200k, 2.5M, 0.5. */
function short(value) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-3)) return minus(value.toExponential(0));
  for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (size >= unit) return minus(`${+(value / unit).toPrecision(3)}${letter}`);
  }
  return minus(`${+value.toPrecision(3)}`);
}

function minus(text) {
  return text.replace("-", "−");
}

/** Maps [low, high] to pixels [from, to], evenly or by logarithms; knows its ticks. */
function scaleOf(low, high, from, to, logarithmic) {
  const warp = logarithmic ? Math.log10 : (value) => value;
  const start = warp(low), span = warp(high) - start || 1;
  const at = (value) => from + ((warp(value) - start) / span) * (to - from);
  return { at, low, high, ticks: logarithmic ? decades(low, high) : evenly(low, high, Math.abs(to - from) / 55) };
}

function evenly(low, high, most) {
  const rough = (high - low || 1) / Math.max(2, most);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((part) => unit * part >= rough * (1 - 1e-9));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k += 1) ticks.push(k * step);
  return ticks;
}

function decades(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const parts = last - first < 2 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = first - 1; power <= last; power += 1) {
    for (const part of parts) {
      const value = part * 10 ** power;
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) ticks.push(value);
    }
  }
  return ticks;
}

/** Markers that differ in shape, so that no colour is needed; around 0, 0. */
const MARKERS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-3.6-3.6h7.2v7.2h-7.2z", "M0-4.8L4.6 3.6H-4.6z", "M0-5L5 0L0 5L-5 0z",
  "M-4.5-1.5h3v-3h3v3h3v3h-3v3h-3v-3h-3z", "M0 4.8L4.6-3.6H-4.6z", "M-4.4-2.2L0 2.2L4.4-2.2V1.4L0 5.6L-4.4 1.4z",
  "M-5-1.6h10v3.2h-10z",
];

function marker(learner, x, y) {
  const { shape, round } = look(learner);
  const kind = round % 2 ? "mark hollow" : "mark";
  const place = `translate(${px(x)} ${px(y)})`;
  return svg("path", { class: `${kind} ${style(learner)}`, d: MARKERS[shape], transform: place, "data-learner": learner });
}

/** Colours come round after eight learners; then dashes and markers go with other colours, so that no two look alike. */
function look(learner) {
  const round = Math.floor(learner / 8);
  return { colour: learner % 8, shape: (learner + 3 * round) % 8, round };
}

/** The class that gives a learner's colour and dashes. */
function style(learner) {
  const { colour, shape } = look(learner);
  return `s${colour} d${shape}`;
}

/** A line with its marker, as the key shows it. */
function sample(learner) {
  return svg("svg", { viewBox: "0 0 34 14", class: "sample", "aria-hidden": "true" },
    svg("path", { class: `line ${style(learner)}`, d: "M1 7H33" }), marker(learner, 17, 7));
}

/** Heights moved apart by at least `gap`, kept between top and bottom, in their order. */
function apart(heights, gap, top, bottom) {
  const order = heights.map((_, at) => at).sort((a, b) => heights[a] - heights[b]);
  const moved = [...heights];
  let last = top - gap;
  for (const at of order) moved[at] = last = Math.max(moved[at], last + gap);
  let next = bottom + gap;
  for (const at of order.reverse()) moved[at] = next = Math.min(moved[at], next - gap);
  return moved;
}

const ruler = document.createElement("canvas").getContext("2d");

/** How wide a text of a picture is, in pixels. */
function widthOf(text) {
  ruler.font = `12.5px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** Text that is cut with an ellipsis where it is longer than the room. */
function fitted(text, room) {
  if (widthOf(text) <= room) return text;
  let end = text.length - 1;
  while (end > 0 && widthOf(`${text.slice(0, end)}…`) > room) end -= 1;
  return `${text.slice(0, end).trimEnd()}…`;
}

/**
 * Lets people look at the items 0..count-1 of a picture: the nearest to the pointer, or by the arrow keys.
 * `nearest(x, y)` gives an item from pixels, `show(item)` shows it, `say(item)` is its text for screen readers.
 */
function explorable(holder, { count, label, nearest, show, say, first }) {
  let item = first;
  const look = (to) => {
    item = Math.max(0, Math.min(count() - 1, to));
    holder.setAttribute("aria-valuenow", item);
    holder.setAttribute("aria-valuetext", say(item));
    show(item);
  };
  filled(holder, { tabindex: "0", role: "slider", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": count() - 1,
    "aria-valuenow": item, "aria-valuetext": say(item) }, []);
  const follow = (event) => {
    const box = holder.getBoundingClientRect();
    look(nearest(event.clientX - box.left, event.clientY - box.top));
  };
  holder.addEventListener("pointermove", follow);
  holder.addEventListener("pointerdown", follow);
  holder.addEventListener("keydown", (event) => {
    const leap = Math.max(1, Math.round(count() / 10));
    const to = { ArrowLeft: item - 1, ArrowDown: item - 1, ArrowRight: item + 1, ArrowUp: item + 1, Home: 0,
      End: count() - 1, PageDown: item - leap, PageUp: item + leap }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    look(to);
  });
  return (to) => { item = to; };
}
