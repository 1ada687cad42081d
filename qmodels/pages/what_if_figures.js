"use strict";
/* The figures of the page, as lists of items for `draw`; a click on one gives a new setting to
   `choose`. One global name, `whatIfFigures`. */
function whatIfFigures(grid, state, words, slides, choose) {
  const { digits, frame, around, hatch, picture, point, runs, say } = draw;
  const { label, told, listed } = words, data = grid.data;
  const MOST_CURVES = 6;
  const HUES = { SP: 208, DP: 155, TS: 32 };
  const colours = data.policies.map((_, p) => colour(p));
  const curves = new Map();  // a curve does not change with the setting: once is enough
  const hide = (id) => document.getElementById(id).setAttribute("hidden", "");
  const show = (id) => document.getElementById(id).removeAttribute("hidden");

  /* The objective's values on an axis: times in the unit that people use for the middle one. */
  function scale(range) {
    const timed = data.unit === "s" && range !== null;
    const unit = timed ? draw.timeUnit(Math.sqrt(range[0] * range[1])) : { seconds: 1, name: data.unit };
    return { of: (x) => x / unit.seconds, ends: range && range.map((x) => x / unit.seconds),
      name: data.objective + (unit.name ? " [" + unit.name + "]" : "") };
  }

  function colour(p) {
    const kind = data.policies[p].kind, same = data.policies.filter((each) => each.kind === kind);
    const place = same.indexOf(data.policies[p]);
    const light = 40 + 38 * (same.length > 1 ? place / (same.length - 1) : 0.5);
    const hue = HUES[kind] === undefined ? 290 : HUES[kind];
    return "hsl(" + hue + " 65% " + light.toFixed(0) + "%)";
  }

  /* Policies by their colours, then what else is drawn: a key, its picture and what it means. */
  function legend(id, seen, others) {
    const entry = (key, drawn, said) => [key, "li", {}, [
      ["swatch", "svg", { width: 18, height: 14, "aria-hidden": "true" }, [drawn]],
      ["label", "span", {}, " " + said]]];
    const box = { width: 18, height: 14 };
    draw.patch(document.getElementById(id), seen.map((p) => entry(p,
      ["box", "rect", Object.assign({ fill: colours[p] }, box)], label(p))).concat(
      (others || []).map((each) => entry(each[0], each[1], each[2]))));
  }

  const upright = (name) => ["line", "line", { x1: 9, x2: 9, y1: 0, y2: 14, class: name }];

  // ---- response against load

  function curve(m, p) {
    const key = m * data.policies.length + p;
    if (curves.has(key)) return curves.get(key);
    const loads = slides.slice(), last = slides[slides.length - 1];
    for (const share of data.ends) {
      const end = share * grid.capacity[key];
      if (end < last) loads.push(end);
    }
    const found = loads.sort((a, b) => a - b).map((load) => [load, whatIf.at(grid, m, p, load)]);
    curves.set(key, found);
    return found;
  }

  function band(run, f, range, fill, i) {
    const edge = (sign, least) => run.map((each) => point(f, range.ends, each[0], range.of(each[1].value *
      Math.max(1 + sign * whatIf.reach(each[1]), least))));
    return ["band" + i, "polygon", { points: edge(1, 0).concat(edge(-1, 1e-9).reverse()).join(" "),
      class: "band", fill: fill }];
  }

  function drawCurves(rows, m) {
    const first = state.policy < 0 ? rows[0].policy : state.policy;
    const ties = rows.filter((row) => row.status === "tie" || row.status === "best")
      .map((row) => row.policy);
    const shown = [first].concat(ties.filter((p) => p !== first)).slice(0, MOST_CURVES);
    const lines = shown.map((p) => curve(m, p)), own = rows.find((row) => row.policy === first);
    const text = label(first) + ": " + data.objective + " against load on " + words.machine();
    const range = scale(around(lines.flat().map((each) => each[1].value)));
    const there = own.value === undefined ? own.status : told(own);
    say("curve-caption", range.ends === null ? "No policy shown here has an answer on this machine." :
      text + (shown.length > 1 ? "; thin lines are policies that tie with it" : "") +
      ". Lines end where the model has no answer.");
    const title = text + "; at load " + digits(state.load) + ": " + there;
    if (range.ends === null) {
      legend("curve-legend", []);
      return picture("curve", title, []);
    }
    const most = grid.capacity[m * data.policies.length + first], last = slides[slides.length - 1];
    const f = frame([520, 320], [0, last], range.ends, ["load of today's machine", range.name]);
    const items = f.items, sure = runs(lines[0].map((each) =>
      each[1].error < Infinity ? each : [each[0], {}]));
    sure.forEach((run, i) => items.push(band(run, f, range, colours[first], i)));
    for (let k = shown.length - 1; k >= 0; k--) {
      runs(lines[k]).forEach((run, i) => items.push(["curve" + k + "-" + i, "polyline", {
        points: run.map((each) => point(f, range.ends, each[0], range.of(each[1].value))).join(" "),
        class: k ? "curve thin" : "curve", stroke: colours[shown[k]] }]));
    }
    const line = (key, load) => items.push([key, "line", { x1: f.x(load), x2: f.x(load),
      y1: f.top, y2: f.bottom, class: key }]);
    if (most < last) line("limit", most);
    line("now", state.load);
    picture("curve", title, items);
    const marks = [["now", upright("now"), "the load chosen"]];
    if (most < last) marks.push(["limit", upright("limit"), label(first) + " carries no more"]);
    if (sure.length) marks.unshift(["band", ["box", "rect", { width: 18, height: 14, class: "band",
      fill: colours[first] }], "error stated for " + label(first)]);
    legend("curve-legend", shown, marks);
  }

  // ---- maps of the best policy

  function cellWords(rows) {
    const best = rows[0], ties = rows.filter((row) => row.status === "tie");
    if (best.status !== "best") return words.whyNone(rows);
    return label(best.policy) + ", " + told(best) + (ties.length ? "; within the errors " +
      listed(ties) + " may be as good" : "");
  }

  function cellItems(name, rows, said, x, y, w, h) {
    const best = rows[0], has = best.status === "best", box = { x: x, y: y, width: w, height: h };
    const items = [["title", "title", {}, said], ["box", "rect",
      Object.assign({ class: has ? "" : "none" }, box, has ? { fill: colours[best.policy] } : {})]];
    if (rows.some((row) => row.status === "tie")) {
      items.push(["tie", "rect", Object.assign({ fill: "url(#" + name + "-tie)" }, box)]);
    }
    if (!has) items.push(["cross", "path", { class: "cross",
      d: "M" + x + "," + y + "l" + w + "," + h + "m0," + -h + "l" + -w + "," + h }]);
    const inside = has ? label(best.policy) : best.status === "undecided" ? "undecided" : "none";
    // Upright where a narrow cell is high enough; on paper there is nothing to point at.
    const long = 7.2 * inside.length + 10, turned = long > w - 2 && long < h - 2;
    if (long > w - 2 && !turned) return items;
    items.push(["name", "g", { transform: "translate(" + (x + w / 2) + " " + (y + h / 2) + ")" +
      (turned ? " rotate(-90)" : "") }, [
      ["plate", "rect", { x: -long / 2, y: -9, width: long, height: 18, rx: 4, class: "plate" }],
      ["text", "text", { x: 0, y: 4, class: "middle inside" }, inside]]]);
    return items;
  }

  /* A map: `cell(i, j)` is the ranking there, `current` where the sliders stand. */
  function drawMap(name, title, across, down, cell, current, click) {
    const left = draw.beside(down.values), top = draw.TOP, height = 212, seen = new Map();
    const width = 508 - left, w = width / across.values.length, h = height / down.values.length;
    const y = (j) => top + (down.values.length - 1 - j) * h, items = [hatch(name)];
    down.values.forEach((low, j) => across.values.forEach((over, i) => {
      const rows = cell(i, j), best = rows[0];
      const said = across.name + " " + over + ", " + down.name + " " + low + ": " + cellWords(rows);
      if (best.status === "best") seen.set(best.policy, (seen.get(best.policy) || 0) + 1);
      items.push(["cell" + i + "," + j, "g", { class: "cell" },
        cellItems(name, rows, said, left + i * w, y(j), w, h), () => click(i, j)]);
    }));
    if (current[0] >= 0) items.push(["here", "rect", { x: left + current[0] * w, y: y(current[1]),
      width: w, height: h, class: "here" }]);
    const long = draw.WIDE * (1 + Math.max(...across.values.map((value) => value.length)));
    const every = Math.ceil(long / w);
    across.values.forEach((value, i) => i % every || items.push(["x" + i, "text", {
      x: left + (i + 0.5) * w, y: top + height + 16, class: "tick middle" }, value]));
    down.values.forEach((value, j) => items.push(["y" + j, "text", { x: left - 6,
      y: y(j) + h / 2 + 4, class: "tick end" }, value]));
    items.push(["xn", "text", { x: left + width / 2, y: 276, class: "name middle" }, across.name],
      draw.upName(down.name));
    const all = across.values.length * down.values.length;
    const often = Array.from(seen).sort((a, b) => b[1] - a[1]).slice(0, 3)
      .map((each) => label(each[0]) + " in " + each[1] + " of " + all + " cells");
    picture(name, title + (often.length ? ": " + often.join(", ") : ": no answer"), items);
    const tied = items.some((item) => item[1] === "g" && item[3].some((each) => each[0] === "tie"));
    const key = { x: 0, y: 0, width: 18, height: 14 }, kinds = Array.from(seen.keys());
    legend(name + "-legend", kinds.sort((a, b) => a - b), tied ? [["tie",
      ["g", "g", {}, [["box", "rect", Object.assign({ fill: colours[kinds[0]] }, key)],
        ["tie", "rect", Object.assign({ fill: "url(#" + name + "-tie)" }, key)]]],
      "others tie within the errors"]] : []);
  }

  const values = (axis) => ({ name: axis.name,
    values: axis.values.map((_, i) => words.shownValue(axis, i)) });

  function at(changes) {
    const places = state.places.slice();
    for (const [axis, place] of changes) places[axis] = place;
    return places;
  }

  const ranked = (places, load) => whatIf.ranked(grid, whatIf.machine(grid, places), load);

  function drawMachines() {
    const [a, b] = data.machineAxes;
    if (b === undefined) return hide("machines-figure");
    const over = "Best policy over " + data.axes[a].name + " and " + data.axes[b].name;
    drawMap("machines", over + " at load " + digits(state.load), values(data.axes[a]),
      values(data.axes[b]), (i, j) => ranked(at([[a, i], [b, j]]), state.load),
      [state.places[a], state.places[b]], (i, j) => choose({ places: at([[a, i], [b, j]]) }));
    say("machines-caption", over + " for the same jobs, at load " + digits(state.load) +
      " of today's machine. Crossed: no answer.");
  }

  function drawLoads() {
    const v = data.otherAxis;
    if (v === undefined || v === null) return hide("loads-figure");
    const axis = data.axes[v], across = { name: "load of today's machine",
      values: data.loads.map((x) => digits(x, 3)) };
    drawMap("loads", "Best policy over load and " + axis.name, across, values(axis),
      (i, j) => ranked(at([[v, j]]), data.loads[i]),
      [data.loads.findIndex((x) => Math.abs(x - state.load) < 1e-9), state.places[v]],
      (i, j) => choose({ places: at([[v, j]]), load: data.loads[i] }));
    const rest = words.machine(v);
    say("loads-caption", "Best policy over load and " + axis.words + (rest && " on " + rest) +
      ". Crossed: no answer.");
  }

  // ---- response against money

  /* Machines that differ from today's only in what has a price, with their best policies. */
  function offers() {
    const priced = data.axes.map((_, i) => i).filter((i) => state.prices[i] !== null);
    let found = [{ places: state.places.slice(), money: 0 }];
    for (const i of priced) {
      found = found.flatMap((each) => data.axes[i].values.map((value, place) => {
        const places = each.places.slice();
        places[i] = place;
        const more = value - data.axes[i].values[data.axes[i].start];
        return { places: places, money: each.money + state.prices[i] * more };
      }));
    }
    found.forEach((each) => {
      each.rows = ranked(each.places, state.load);
      each.best = each.rows[0].status === "best" ? each.rows[0] : null;
      each.words = priced.map((i) => words.counted(data.axes[i], each.places[i])).join(", ");
    });
    return found.sort((a, b) => a.money - b.money);
  }

  /* The least that so much money buys: each faster than all that cost less. */
  function steps(able) {
    const found = [];
    for (const each of able) {
      const last = found[found.length - 1];
      if (last && each.best.value >= last.best.value) continue;
      if (last && each.money === last.money) found.pop();
      found.push(each);
    }
    return found;
  }

  function stepWords(each, before) {
    const open = before && !(before.best.error < Infinity && each.best.error < Infinity);
    const how = !before ? "" : open ? ", which may be no faster: errors are not known here" :
      whatIf.overlaps(before.best, each.best) ? ", a tie within the errors with the line before" : ", faster than the line before";
    return (each.money >= 0 ? "+" : "") + digits(each.money, 6) + ": " + each.words + ", " +
      told(each.best, before && before.best.value) + " under " + label(each.best.policy) + how;
  }

  function drawMoney(m) {
    const counted = data.axes.filter((axis) => axis.counted).map((axis) => axis.name);
    if (!counted.length) return hide("money-figure");
    if (state.prices.every((price) => price === null)) {
      ["money", "money-steps"].forEach(hide);
      return say("money-caption", "What money buys is shown once there is a price, above, of one " +
        "more of " + counted.join(" or ") + ".");
    }
    ["money", "money-steps"].forEach(show);
    const all = offers(), able = all.filter((each) => each.best), least = steps(able);
    draw.patch(document.getElementById("money-steps"),
      least.map((each, i) => [i, "li", {}, stepWords(each, least[i - 1])]));
    const none = all.filter((each) => !each.best);
    say("money-caption", "Every dot is a machine for the same jobs at load " + digits(state.load) +
      "; the line is the least that so much money buys, bars are stated errors." +
      (none.length ? " No answer: " + none.map((each) => each.words).join("; ") + "." : ""));
    const range = scale(around(able.flatMap((each) => [
      each.best.value * (1 + whatIf.reach(each.best)),
      each.best.value * Math.max(1 - whatIf.reach(each.best), 0.01)])));
    const title = "Least " + data.objective + " against money beyond today's machine" +
      (least.length ? ": from " + stepWords(least[0]) + " to " + stepWords(least[least.length - 1]) :
        ": no answer");
    if (range.ends === null) return picture("money", title, []);
    const ends = [Math.min(0, all[0].money), all[all.length - 1].money];
    const aside = 0.04 * (ends[1] - ends[0]);  // that no dot lies on the frame
    const f = frame([520, 320], [ends[0] - aside, ends[1] + aside], range.ends,
      ["money beyond today's machine", range.name]);
    const line = least.map((each, i) => {
      const x = f.x(each.money).toFixed(1), y = f.y(range.of(each.best.value)).toFixed(1);
      return i ? "H" + x + "V" + y : "M" + x + "," + y;
    }).join("");
    const items = f.items.concat([["step", "path", { d: line, class: "step" }]]);
    for (const each of able) {
      const own = whatIf.machine(grid, each.places), x = f.x(each.money), off = whatIf.reach(each.best);
      items.push(["dot" + own, "g", {}, [
        ["title", "title", {}, each.words + ": " + told(each.best)],
        ["bar", "line", { x1: x, x2: x, class: "bar",
          y1: f.y(Math.min(range.of(each.best.value * (1 + off)), range.ends[1])),
          y2: f.y(Math.max(range.of(each.best.value * (1 - off)), range.ends[0])) }],
        ["dot", "circle", { cx: x, cy: f.y(range.of(each.best.value)), r: own === m ? 7 : 4.5,
          fill: colours[each.best.policy], class: "dot" }]
      ], () => choose({ places: each.places.slice() })]);
    }
    picture("money", title, items);
  }

  return function (rows, m) {
    drawCurves(rows, m);
    drawMachines();
    drawLoads();
    drawMoney(m);
  };
}
