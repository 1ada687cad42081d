"use strict";
/* The grid of predictions and what is read off it: decoding, values between loads, ranking.
   It knows nothing of the page. One global name, `whatIf`. */
const whatIf = (function () {
  const NO_ERROR = 255;      // code of an error that is not known
  const DOUBTFUL = 253;      // code of a point next to a capacity in doubt
  const NO_ANSWER = 254;     // code of a point without a prediction
  const EQUAL = 3e-7;        // relative difference of two numbers that may be one in 32 bits
  const NEAR = 0.02;         // shares of the capacity at which two points are as good as one
  const MOST_OFF = 0.25;     // a value that may be off by more is none
  const MOST_KEPT = 200;     // loads of which rankings are kept
  const BETWEEN = [0.25, 0.5, 0.75];
  const NOT = "not predicted", NEAREST = "not predicted so near to its capacity";
  const FEW = "too few predicted loads here";
  const UNKNOWN = [NOT, NEAREST, FEW];  // why nothing is known of a policy that may carry the load

  function bytes(text) {
    const plain = atob(text), found = new Uint8Array(plain.length);
    for (let i = 0; i < plain.length; i++) found[i] = plain.charCodeAt(i);
    return found;
  }

  function floats(text) {
    const view = new DataView(bytes(text).buffer), found = new Float32Array(view.byteLength / 4);
    for (let i = 0; i < found.length; i++) found[i] = view.getFloat32(4 * i, true);
    return found;
  }

  /* The data of the page as arrays: values [machine][policy][load, then the ends of the curve]. */
  function open(data) {
    const strides = [];
    let size = 1;
    for (let i = data.axes.length - 1; i >= 0; i--) {
      strides[i] = size;
      size *= data.axes[i].values.length;
    }
    return {
      data: data, strides: strides, machines: size,
      width: data.loads.length + data.ends.length,
      values: floats(data.values), capacity: floats(data.capacity), codes: bytes(data.codes),
      least: floors(data),
      misfits: new Set(data.misfits), nodes: new Map(), rankings: new Map()
    };
  }

  /* What values of unknown error are no less than, by their place. */
  function floors(data) {
    const known = floats(data.least), found = new Map();
    bytes(data.codes).forEach((code, place) => {
      if (code === NO_ERROR) found.set(place, known[found.size]);
    });
    return found;
  }

  /* Number of the machine with these places on the axes. */
  function machine(grid, places) {
    return places.reduce((sum, place, i) => sum + place * grid.strides[i], 0);
  }

  function errorOf(grid, code) {
    return code === NO_ERROR || code === DOUBTFUL ? Infinity : grid.data.errors[code];
  }

  /* Points of a curve that are predicted: loads, values times what is left of the capacity (which
     is smooth where the response itself runs off to infinity), and errors. */
  function nodes(grid, m, p) {
    const key = m * grid.data.policies.length + p;
    let found = grid.nodes.get(key);
    if (found) return found;
    const first = key * grid.width, most = grid.capacity[key], ends = [];
    const data = grid.data, loads = data.loads.concat(grid.data.ends.map((share) => share * most));
    for (let i = 0; i < grid.width; i++) {
      if (grid.codes[first + i] !== NO_ANSWER) ends.push([loads[i], first + i]);
    }
    ends.sort((a, b) => a[0] - b[0]);
    // A curve's own point beside a load's would only make the cubic worse.
    const kept = ends.filter((each) => each[1] - first < data.loads.length ||
      !ends.some((other) => other[1] - first < data.loads.length &&
        Math.abs(other[0] - each[0]) < NEAR * most));
    found = {
      x: kept.map((each) => each[0]),
      g: kept.map((each) => grid.values[each[1]] * (1 - each[0] / most)),
      error: kept.map((each) => errorOf(grid, grid.codes[each[1]])),
      least: kept.map((each) => grid.least.get(each[1]) || 0),
      doubtful: kept.map((each) => grid.codes[each[1]] === DOUBTFUL)
    };
    found.off = found.x.map((_, i) => leftOut(found.x, found.g, i));
    grid.nodes.set(key, found);
    return found;
  }

  /* Lagrange's polynomial through the points first..last, perhaps without one of them. */
  function through(x, g, first, last, at, without) {
    let sum = 0;
    for (let i = first; i <= last; i++) {
      if (i === without) continue;
      let part = g[i];
      for (let j = first; j <= last; j++) {
        if (j !== i && j !== without) part *= (at - x[j]) / (x[i] - x[j]);
      }
      sum += part;
    }
    return sum;
  }

  /* How far a predicted point is missed if it is left out and taken from its neighbours; 0 at the
     ends, which have neighbours on one side only. */
  function leftOut(x, g, i) {
    if (i === 0 || i === x.length - 1) return 0;
    const first = Math.max(0, i - 2), last = Math.min(x.length - 1, i + 2);
    return Math.abs(through(x, g, first, last, x[i], i) / g[i] - 1);
  }

  /* Value between two predicted points by a cubic through four of them. How far it may be off is
     estimated by the most that it differs from the straight line within the gap, and what the same
     rule misses either point by if that is left out, all added. Fewer than three points say nothing
     about that, so there is no answer between them; nor is there one outside. */
  function between(grid, m, p, load, most) {
    const curve = nodes(grid, m, p), x = curve.x, g = curve.g, n = x.length;
    // what a policy takes at less load, as its error has it, it takes at least
    const i = x.filter((each) => each <= load).length - 1;
    const least = i < 0 ? 0 : curve.error[i] === Infinity ? curve.least[i] :
      g[i] / (1 - x[i] / most) * (1 - curve.error[i]);
    if (n > 0 && load > x[n - 1]) return { why: NEAREST, least: least };
    if (n < 3 || load < x[0]) return { why: NOT, least: least };
    let k = 0;
    while (k < n - 2 && load > x[k + 1]) k++;
    const first = Math.max(0, Math.min(k - 1, n - 4)), last = Math.min(n - 1, first + 3);
    const line = (at) => g[k] + (g[k + 1] - g[k]) * (at - x[k]) / (x[k + 1] - x[k]);
    const value = through(x, g, first, last, load) / (1 - load / most);
    if (!(value > 0)) return { why: NOT, least: least };
    let gap = 0;
    for (const share of BETWEEN) {
      const at = x[k] + share * (x[k + 1] - x[k]);
      gap = Math.max(gap, Math.abs(through(x, g, first, last, at) / line(at) - 1));
    }
    gap += curve.off[k] + curve.off[k + 1];
    if (!(gap <= MOST_OFF)) return { why: FEW, least: least };
    return { value: value, error: Math.max(curve.error[k], curve.error[k + 1]), between: gap,
      least: least, doubtful: curve.doubtful[k] || curve.doubtful[k + 1] };
  }

  /* What is known of a policy on a machine at a load: a value, its error and how far the value
     between two loads may be off; or why there is none. */
  function at(grid, m, p, load) {
    const key = m * grid.data.policies.length + p, most = grid.capacity[key];
    if (grid.data.refused[m] !== undefined) return { why: grid.data.refused[m] };
    if (grid.misfits.has(key)) return { why: "does not fit this machine" };
    if (!(most > 0)) return { why: NOT };
    if (load >= most) return { why: "unstable", capacity: most };
    const stop = grid.data.loads.findIndex((each) => Math.abs(each - load) < 1e-9);
    let found;
    if (stop < 0) {
      found = between(grid, m, p, load, most);
    } else {
      const place = key * grid.width + stop, code = grid.codes[place];
      found = code === NO_ANSWER ? { why: NOT } :
        { value: grid.values[place], error: errorOf(grid, code), between: 0,
          least: grid.least.get(place) || 0, doubtful: code === DOUBTFUL };
    }
    found.capacity = most;
    return found;
  }

  function reach(row) {
    return row.error + row.between;
  }

  const atMost = (row) => row.value * (1 + reach(row));

  function atLeast(row) {
    return row.error < Infinity ? row.value * (1 - reach(row)) : row.least;
  }

  function overlaps(row, best) {
    return atLeast(row) <= atMost(best) * (1 + EQUAL);
  }

  /* What the least value of the rows is at most, that of the first one where it is known. */
  function most(first, rows) {
    return first.error < Infinity ? atMost(first) : Math.min(...rows.map(atMost));
  }

  /* All policies, the best first, as `qmodels recommend` ranks them; policies are in the order of
     their simplicity, so that the first of equals is the simplest. */
  function ranked(grid, m, load) {
    // The figures ask for the same ones at every step of a slider.
    if (!grid.rankings.has(load)) {
      if (grid.rankings.size > MOST_KEPT) grid.rankings.clear();
      grid.rankings.set(load, []);
    }
    const kept = grid.rankings.get(load);
    if (!kept[m]) kept[m] = compared(grid, m, load);
    return kept[m];
  }

  function compared(grid, m, load) {
    const rows = grid.data.policies.map((_, p) => Object.assign({ policy: p }, at(grid, m, p, load)));
    const known = rows.filter((row) => row.value !== undefined);
    const byValue = (a, b) => a.value - b.value;
    const sure = known.filter((row) => !row.doubtful).sort(byValue);
    // jobs take longer next to a capacity in doubt than predicted, not less
    const open = known.filter((row) => row.doubtful), bar = sure.length ? most(sure[0], sure) : Infinity;
    open.forEach((row) => { row.status = row.value <= bar ? "undecided" : "slower"; });
    const fit = sure.concat(open.filter((row) => row.status === "slower")).sort(byValue);
    const rest = open.filter((row) => row.status === "undecided").sort(byValue);
    const none = rows.filter((row) => row.value === undefined)
      .sort((a, b) => (b.capacity || 0) - (a.capacity || 0));
    // More load is never faster: one slower at less load than all that the best may be is slower.
    none.forEach((row) => {
      row.status = row.why;
      row.unknown = UNKNOWN.includes(row.why) && !(row.least > bar);
    });
    if (!fit.length) return rest.concat(none);
    const equals = fit.filter((row) => row.value <= fit[0].value * (1 + EQUAL));
    const best = equals.reduce((a, b) => (a.policy < b.policy ? a : b));
    const others = fit.filter((row) => row !== best);
    best.status = "best";
    const reached = most(best, fit) * (1 + EQUAL);
    others.forEach((row) => {
      row.status = !row.doubtful && atLeast(row) <= reached ? "tie" : "slower";
    });
    const ties = others.filter((row) => row.status === "tie");
    return [best].concat(ties, others.filter((row) => row.status !== "tie"), rest, none);
  }

  return { open: open, machine: machine, at: at, ranked: ranked, overlaps: overlaps, reach: reach };
})();
