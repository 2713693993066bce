// Solves small problems under any context: the best proper policy, its values and its expected steps. No page in here.
// Numbers are those of double precision without certificate; the page compares them with certified ones when it opens.
"use strict";

const STRICT = 1e-13; // relative: a pair that is better by less is no reason to switch
const TIED = 1e-11; // relative: pairs that are worse by less are tied, and the lowest is shown
const MOST_POLICIES = 1000;

/** The model with its numbers in flat arrays, [pair, component] and [triple, component]. */
function prepared(model) {
  const flat = (table) => Float64Array.from(table.flat());
  return {
    ...model,
    count: model.states.length,
    size: model.components.length,
    losses: flat(model.losses),
    rows: flat(model.rows),
    pairState: pairStates(model),
    properOf: new Map(),
  };
}

function pairStates({ pairStart }) {
  const states = new Int32Array(pairStart.at(-1));
  for (let state = 0; state + 1 < pairStart.length; state += 1)
    states.fill(state, pairStart[state], pairStart[state + 1]);
  return states;
}

/** The losses [N] and rows [M] under a context. */
function mixedAt(model, context) {
  const mix = (table) => {
    const mixed = new Float64Array(table.length / model.size);
    for (let at = 0; at < mixed.length; at += 1) {
      let sum = 0;
      for (let part = 0; part < model.size; part += 1) sum += context[part] * table[at * model.size + part];
      mixed[at] = sum;
    }
    return mixed;
  };
  return { losses: mix(model.losses), rows: mix(model.rows) };
}

/** Whether all next states of a pair are in a set, and whether one of them is in another. */
function leadsWithin({ nextStart, nextState }, rows, pair, inside, towards) {
  let one = false;
  for (let at = nextStart[pair]; at < nextStart[pair + 1]; at += 1) {
    if (rows[at] > 0) {
      if (!inside[nextState[at]]) return false;
      one ||= towards[nextState[at]];
    }
  }
  return one;
}

/** As properStates; it depends on which weights are zero alone, for these say which moves are possible. */
function properUnder(model, mixed, context) {
  const key = context.map((weight) => +(weight > 0)).join("");
  if (!model.properOf.has(key)) model.properOf.set(key, properStates(model, mixed));
  const { policy, proper } = model.properOf.get(key);
  return { policy: policy.slice(), proper };
}

/** The states that have a proper policy, and such a policy (pairs; -1 elsewhere). */
function properStates(model, { rows }) {
  const { count, pairStart } = model;
  let inside = new Uint8Array(count + 1).fill(1);
  for (;;) {
    const policy = new Int32Array(count).fill(-1),
      reached = new Uint8Array(count + 1);
    reached[count] = 1;
    for (let grew = true; grew;) {
      grew = false;
      for (let state = 0; state < count; state += 1) {
        for (
          let pair = pairStart[state];
          inside[state] && !reached[state] && pair < pairStart[state + 1];
          pair += 1
        ) {
          if (leadsWithin(model, rows, pair, inside, reached)) {
            policy[state] = pair;
            reached[state] = 1;
            grew = true;
          }
        }
      }
    }
    if (reached.every((one, state) => one || !inside[state])) return { policy, proper: reached };
    inside = reached;
  }
}

/** The states from which a policy (pairs; -1: left out) arrives with probability one: a set with the goal. */
function arrivingStates(model, { rows }, policy) {
  const { count, nextStart, nextState } = model,
    some = new Uint8Array(count + 1),
    sure = new Uint8Array(count + 1).fill(1);
  const anyNext = (state, test) => {
    const pair = policy[state];
    for (let at = nextStart[pair]; at < nextStart[pair + 1]; at += 1)
      if (rows[at] > 0 && test(nextState[at])) return true;
    return false;
  };
  const spread = (set, value, test) => {
    for (let grew = true; grew;) {
      grew = false;
      for (let state = 0; state < count; state += 1) {
        if (set[state] !== value && policy[state] >= 0 && anyNext(state, test)) {
          set[state] = value;
          grew = true;
        }
      }
    }
  };
  some[count] = 1;
  spread(some, 1, (next) => some[next]); // may arrive
  for (let state = 0; state < count; state += 1) sure[state] = some[state];
  spread(sure, 0, (next) => !sure[next]); // may come to where it never does
  return sure;
}

/**
 * Expected losses and steps of a policy until the goal; infinite where it may never arrive.
 * States are eliminated one after the other, without subtractions (Grassmann, Taksar and Heyman), so that every number
 * is accurate to some S roundings, however far the goal is.
 */
function evaluatedPolicy(model, mixed, policy) {
  const { count, nextStart, nextState } = model,
    sure = arrivingStates(model, mixed, policy);
  const order = [],
    place = new Int32Array(count + 1).fill(-1);
  for (let state = 0; state < count; state += 1)
    if (sure[state]) {
      place[state] = order.length;
      order.push(state);
    }
  const n = order.length,
    width = n + 1,
    chain = new Float64Array(n * width),
    leaving = new Float64Array(n);
  place[count] = n;
  const sums = [order.map((state) => mixed.losses[policy[state]]), order.map(() => 1)];
  for (let i = 0; i < n; i += 1) {
    const pair = policy[order[i]];
    for (let at = nextStart[pair]; at < nextStart[pair + 1]; at += 1) {
      if (mixed.rows[at] > 0) chain[i * width + place[nextState[at]]] += mixed.rows[at];
    }
  }
  for (let k = n - 1; k >= 0; k -= 1) {
    const row = k * width;
    let out = chain[row + n];
    for (let j = 0; j < k; j += 1) out += chain[row + j];
    leaving[k] = out;
    for (let i = 0; i < k; i += 1) {
      const share = chain[i * width + k] / out;
      if (share > 0) {
        for (let j = 0; j < k; j += 1) chain[i * width + j] += share * chain[row + j];
        chain[i * width + n] += share * chain[row + n];
        for (const sum of sums) sum[i] += share * sum[k];
      }
    }
  }
  const [values, steps] = sums.map((sum) => {
    const found = new Float64Array(count + 1).fill(Infinity);
    found[count] = 0;
    for (let k = 0; k < n; k += 1) {
      let total = sum[k];
      for (let j = 0; j < k; j += 1) total += chain[k * width + j] * found[order[j]];
      found[order[k]] = total / leaving[k];
    }
    return found;
  });
  return { values, steps };
}

/** What a pair is worth if one goes on by the values; it is repeated until the state is left. */
function pairValue({ nextStart, nextState, pairState }, { losses, rows }, pair, values) {
  let total = losses[pair],
    leaving = 0;
  for (let at = nextStart[pair]; at < nextStart[pair + 1]; at += 1) {
    if (rows[at] > 0 && nextState[at] !== pairState[pair]) {
      total += rows[at] * values[nextState[at]];
      leaving += rows[at];
    }
  }
  return leaving > 0 ? total / leaving : Infinity;
}

/** Each state switches to its best pair, if it is better than what it has; how many did. */
function improve(model, mixed, proper, values, policy) {
  let switched = 0;
  for (let state = 0; state < model.count; state += 1) {
    if (!proper[state]) continue;
    let best = values[state] * (1 - STRICT),
      choice = -1;
    for (let pair = model.pairStart[state]; pair < model.pairStart[state + 1]; pair += 1) {
      const worth = pairValue(model, mixed, pair, values);
      if (worth < best) {
        best = worth;
        choice = pair;
      }
    }
    if (choice >= 0) {
      policy[state] = choice;
      switched += 1;
    }
  }
  return switched;
}

/** The policy with the lowest of tied pairs, if it is proper and as good; else as it was. */
function lowestTies(model, mixed, proper, found, policy) {
  const lowest = policy.slice();
  for (let state = 0; state < model.count; state += 1) {
    if (!proper[state] || found.values[state] === 0) continue;
    for (let pair = model.pairStart[state]; pair < policy[state]; pair += 1) {
      if (pairValue(model, mixed, pair, found.values) <= found.values[state] * (1 + TIED)) {
        lowest[state] = pair;
        break;
      }
    }
  }
  if (lowest.every((pair, state) => pair === policy[state])) return { policy, ...found };
  const other = evaluatedPolicy(model, mixed, lowest);
  const same = other.values.every((value, state) => !proper[state] || value <= found.values[state] * (1 + 10 * TIED));
  return same ? { policy: lowest, ...other } : { policy, ...found };
}

/**
 * The best proper policy under a context: policy iteration from a proper policy. A switch to a pair that is strictly
 * better keeps it proper, also where losses are zero; what it ends with is best among the proper ones.
 * hint: a policy to begin with, such as that of a context nearby.
 */
function solvedAt(model, context, hint = null) {
  const mixed = mixedAt(model, context),
    { policy: start, proper } = properUnder(model, mixed, context);
  let policy = start;
  if (hint) {
    const sure = arrivingStates(model, mixed, hint);
    if (proper.every((one, state) => !one || sure[state]))
      policy = hint.map((pair, state) => (proper[state] ? pair : -1));
  }
  let found = evaluatedPolicy(model, mixed, policy);
  for (let tried = 1; tried < MOST_POLICIES && improve(model, mixed, proper, found.values, policy); tried += 1) {
    const better = evaluatedPolicy(model, mixed, policy);
    const ended = better.values.every((value, state) => value >= found.values[state]); // only rounding is left
    found = better;
    if (ended) break;
  }
  return { context, mixed, proper, ...lowestTies(model, mixed, proper, found, policy) };
}
