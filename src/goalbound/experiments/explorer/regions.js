// Where in the simplex the policy changes: along a line, and in a triangle. Every colour is that of contexts that were
// solved, and borders are searched between contexts that differ.
"use strict";

const HALVINGS = 4; // of an edge whose ends differ, to find where the border crosses it

const keyOf = (policy) => policy.join();

/** The stretches of [0, 1] with the same policy, as at(x) gives it: [{from, to, policy}], ends found by halving. */
function stretchesOf(at, steps, resolution) {
  const points = Array.from({ length: steps + 1 }, (_, place) => [place / steps, at(place / steps)]);
  const changes = [];
  const search = (low, high) => {
    if (keyOf(low[1]) === keyOf(high[1])) return;
    if (high[0] - low[0] <= resolution) {
      changes.push([(low[0] + high[0]) / 2, high[1]]);
      return;
    }
    const x = (low[0] + high[0]) / 2,
      middle = [x, at(x)];
    search(low, middle);
    search(middle, high);
  };
  points.slice(1).forEach((point, place) => search(points[place], point));
  const starts = [[0, points[0][1]], ...changes];
  return starts.map(([from, policy], place) => ({ from, to: starts[place + 1]?.[0] ?? 1, policy }));
}

/** Triangles of the plane of three weights, whole numbers that sum to n; those whose corners differ are cut. */
class TriangleMap {
  constructor(at, base, depth) {
    Object.assign(this, {
      at,
      depth,
      finest: base * 2 ** depth,
      level: 0,
      spent: 0,
      done: [],
      solved: new Map(),
      crossings: new Map(),
    });
    const side = 2 ** depth,
      corner = (i, j) => [i * side, j * side];
    this.waiting = [];
    for (let i = 0; i < base; i += 1) {
      for (let j = 0; i + j < base; j += 1) {
        this.waiting.push([corner(i, j), corner(i + 1, j), corner(i, j + 1)]);
        if (i + j + 1 < base) this.waiting.push([corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)]);
      }
    }
    this.mixed = [];
  }

  weights([i, j]) {
    return [i / this.finest, j / this.finest, (this.finest - i - j) / this.finest];
  }

  policyAt(corner) {
    const name = corner[0] * (this.finest + 1) + corner[1];
    if (!this.solved.has(name)) this.solved.set(name, this.at(this.weights(corner)));
    return this.solved.get(name);
  }

  /** Solve the triangles that wait, for some milliseconds at most; whether all of this level are solved. */
  work(milliseconds) {
    return this.spend(milliseconds, this.waiting, (triangle) => this.look(triangle));
  }

  /** Take one after the other from a list, until it is empty or the time is over; whether it is empty. */
  spend(milliseconds, list, act) {
    const began = performance.now();
    while (list.length && performance.now() < began + milliseconds) act(list.pop());
    this.spent += performance.now() - began;
    return !list.length;
  }

  /** About how many milliseconds the next level takes: of each triangle that is cut, three middles, shared by two. */
  nextCost() {
    return (1.5 * this.mixed.length * this.spent) / this.solved.size;
  }

  look(corners) {
    const policies = corners.map((corner) => this.policyAt(corner)),
      [one, two, three] = policies.map(keyOf);
    (one === two && two === three ? this.done : this.mixed).push({ corners, policies });
  }

  get canCut() {
    return this.level < this.depth && this.mixed.length > 0;
  }

  /** Cut all triangles whose corners differ into four. */
  cut() {
    this.level += 1;
    const middle = (one, two) => [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2];
    for (const {
      corners: [a, b, c],
    } of this.mixed) {
      const [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
      this.waiting.push([a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]);
    }
    this.mixed = [];
  }

  /** Find where borders cross the edges of the last triangles, for some milliseconds at most; whether all are found. */
  sharpen(milliseconds) {
    this.unsharp ??= this.mixed.flatMap(({ corners: [a, b, c] }) => [
      [a, b],
      [b, c],
      [c, a],
    ]);
    return this.spend(milliseconds, this.unsharp, (edge) => this.halve(...edge));
  }

  halve(one, two) {
    const name = this.edgeName(one, two),
      [from, to] = this.inOrder(one, two),
      policy = keyOf(this.policyAt(from));
    if (this.crossings.has(name) || policy === keyOf(this.policyAt(to))) return;
    let low = 0,
      high = 1;
    for (let step = 0; step < HALVINGS; step += 1) {
      const middle = (low + high) / 2;
      if (keyOf(this.at(this.weights(from.map((place, side) => place + middle * (to[side] - place))))) === policy)
        low = middle;
      else high = middle;
    }
    this.crossings.set(name, (low + high) / 2);
  }

  inOrder(one, two) {
    return one[0] < two[0] || (one[0] === two[0] && one[1] < two[1]) ? [one, two] : [two, one];
  }

  edgeName(one, two) {
    return this.inOrder(one, two).flat().join();
  }

  /** Where the border crosses an edge: found by halving, or half-way. */
  crossing(one, two) {
    const share = this.crossings.get(this.edgeName(one, two)) ?? 0.5,
      [from, to] = this.inOrder(one, two);
    return this.weights(from.map((place, side) => place + share * (to[side] - place)));
  }

  /** All triangles that were solved. */
  get triangles() {
    return [...this.done, ...this.mixed];
  }

  /** One over this is how finely borders are known. */
  get resolution() {
    return this.finest / 2 ** (this.depth - this.level);
  }
}

/** The share of the contexts at which each policy is best: [{policy, share, weights}], the largest first. */
function policyShares(map) {
  const found = new Map();
  for (const {
    corners: [a, b, c],
    policies,
  } of map.done) {
    const area = Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / map.finest ** 2;
    const key = keyOf(policies[0]),
      one = found.get(key) ?? { policy: policies[0], share: 0, middle: [0, 0] };
    one.share += area;
    one.middle = one.middle.map((sum, side) => sum + (area * (a[side] + b[side] + c[side])) / 3);
    found.set(key, one);
  }
  return sharesInOrder(
    [...found.values()].map(({ policy, share, middle }) => {
      const [i, j] = middle.map((sum) => sum / share / map.finest);
      return { policy, share, weights: [i, j, Math.max(0, 1 - i - j)] };
    }),
  );
}

const sharesInOrder = (found) => found.sort((one, two) => two.share - one.share);
