"use strict";
/* The controls and the figures of the page; numbers come from `whatIf`, pictures from `draw`. */
(function () {
  const { digits, node, cleared, frame, around, hatch, point, runs } = draw;
  const data = JSON.parse(document.getElementById("grid").textContent);
  const grid = whatIf.open(data);
  const PARTS = 5;           // steps of the load's slider from one predicted load to the next
  const BEST = -1;           // the choice "the best policy"
  const MOST_CURVES = 6;
  const HUES = { SP: 208, DP: 155, TS: 32 };
  const state = { load: data.load, places: data.axes.map((axis) => axis.start), policy: BEST,
    prices: data.axes.map((axis) => axis.price) };
  const element = (name) => document.getElementById(name);

  // ---- words and numbers

  function longer(x) {
    const units = [[172800, 86400, "days"], [7200, 3600, "h"], [120, 60, "min"]];
    const found = units.find((unit) => x >= unit[0]);
    return found ? " (" + digits(x / found[1], 3) + " " + found[2] + ")" : "";
  }

  function amount(x) {
    return digits(x) + (data.unit ? " " + data.unit : "") + (data.unit === "s" ? longer(x) : "");
  }

  function share(x) {
    return x === Infinity ? "none stated" : x < 1e-6 ? "exact" : "± " + digits(100 * x, 2) + " %";
  }

  function told(row) {
    const off = row.between > 5e-5 ? ", between two predicted loads within " +
      digits(100 * row.between, 2) + " %" : "";
    return amount(row.value) + " (" + share(row.error) + off + ")";
  }

  const label = (p) => data.policies[p].label;
  const listed = (rows) => rows.slice(0, 3).map((row) => label(row.policy)).join(", ") +
    (rows.length > 3 ? " and " + (rows.length - 3) + " more" : "");
  const here = () => whatIf.machine(grid, state.places);
  const shownValue = (axis, place) => {
    const value = axis.values[place];
    return typeof value !== "number" || Number.isInteger(value) ? String(value) : digits(value);
  };

  function colour(p) {
    const kind = data.policies[p].kind, same = data.policies.filter((each) => each.kind === kind);
    const place = same.indexOf(data.policies[p]);
    const light = 40 + 38 * (same.length > 1 ? place / (same.length - 1) : 0.5);
    const hue = HUES[kind] === undefined ? 290 : HUES[kind];
    return { fill: "hsl(" + hue + " 65% " + light.toFixed(0) + "%)", dark: light < 58 };
  }

  // ---- figures

  function slide(index) {
    const stop = Math.floor(index / PARTS), part = index % PARTS, loads = data.loads;
    return part === 0 ? loads[stop] :
      loads[stop] + (loads[stop + 1] - loads[stop]) * part / PARTS;
  }

  const slides = (data.loads.length - 1) * PARTS + 1;

  function drawCurves(rows) {
    const first = state.policy === BEST ? rows[0].policy : state.policy, m = here();
    const ties = rows.filter((row) => row.status === "tie" || row.status === "best")
      .map((row) => row.policy);
    const shown = [first].concat(ties.filter((p) => p !== first)).slice(0, MOST_CURVES);
    const curves = shown.map((p) => {
      const found = [];
      for (let i = 0; i < slides; i++) {
        found.push([slide(i), whatIf.at(grid, m, p, slide(i))]);
      }
      for (const share of data.ends) {
        const end = share * grid.capacity[m * data.policies.length + p];
        if (end < slide(slides - 1)) found.push([end, whatIf.at(grid, m, p, end)]);
      }
      return found.sort((a, b) => a[0] - b[0]);
    });
    const text = label(first) + ": " + data.objective + " against load on " + machineWords();
    const svg = cleared("curve", text);
    const all = curves.flat().map((each) => each[1].value);
    const range = around(all);
    element("curve-caption").textContent = range === null ?
      "No policy shown here has an answer on this machine." :
      text + "; the band is its stated error, thin lines are policies that tie. Lines end where " +
      "the model has no answer; beyond the dotted line the queue of " + label(first) +
      " has no steady state.";
    legend("curve-legend", range === null ? [] : shown);
    if (range === null) return;
    const most = grid.capacity[m * data.policies.length + first];
    const last = data.loads[data.loads.length - 1];
    const f = frame(svg, [520, 320], [0, last], range,
      ["load of today's machine", data.objective + (data.unit ? " [" + data.unit + "]" : "")]);
    runs(curves[0]).forEach((run) => {
      const up = run.map((each) => point(f, range, each[0], each[1].value *
        (1 + Math.min(whatIf.reach(each[1]), 1e9))));
      const down = run.map((each) => point(f, range, each[0], each[1].value *
        Math.max(1 - whatIf.reach(each[1]), 1e-9)));
      svg.append(node("polygon", { points: up.concat(down.reverse()).join(" "), class: "band",
        fill: colour(first).fill }));
    });
    curves.slice().reverse().forEach((curve, i) => {
      const p = shown[shown.length - 1 - i];
      runs(curve).forEach((run) => svg.append(node("polyline", {
        points: run.map((each) => point(f, range, each[0], each[1].value)).join(" "),
        class: p === first ? "curve" : "curve thin", stroke: colour(p).fill
      }, "")));
    });
    if (most < last) {
      svg.append(node("line", { x1: f.x(most), x2: f.x(most), y1: f.top, y2: f.bottom,
        class: "limit" }));
    }
    svg.append(node("line", { x1: f.x(state.load), x2: f.x(state.load), y1: f.top, y2: f.bottom,
      class: "now" }));
  }

  /* A map: `cell(i, j)` is the ranking there, `current` where the sliders stand. */
  function drawMap(name, title, across, down, cell, current, choose) {
    const svg = cleared(name, title), left = 64, top = 8, width = 440, height = 230;
    const w = width / across.length, h = height / down.length, seen = {};
    svg.append(hatch(name));
    down.values.forEach((_, j) => across.values.forEach((_, i) => {
      const rows = cell(i, j), best = rows[0], x = left + i * w, y = top + (down.length - 1 - j) * h;
      const has = best.status === "best", tied = rows.some((row) => row.status === "tie");
      const look = has ? colour(best.policy) : null;
      const words = has ? label(best.policy) : best.status === "undecided" ? "undecided" : "none";
      const said = across.name + " " + across.values[i] + ", " + down.name + " " + down.values[j] +
        ": " + (has ? label(best.policy) + ", " + told(best) + (tied ? "; within the errors " +
          listed(rows.filter((row) => row.status === "tie")) + " may be as good" : "") :
          whyNone(rows));
      const box = node("g", { class: "cell" });
      box.append(node("title", {}, said),
        node("rect", Object.assign({ x: x, y: y, width: w, height: h,
          class: has ? "" : "none" }, has ? { fill: look.fill } : {})));
      if (tied) box.append(node("rect", { x: x, y: y, width: w, height: h,
        fill: "url(#" + name + "-tie)" }));
      if (!has) box.append(node("path", { class: "cross",
        d: "M" + x + "," + y + "l" + w + "," + h + "m0," + -h + "l" + -w + "," + h }));
      if (has) seen[best.policy] = true;
      box.append(node("text", { x: x + w / 2, y: y + h / 2 + 4, class: "middle inside" +
        (w < 60 ? " tight" : "") }, has && w < 60 ? "" : words));
      box.addEventListener("click", () => choose(i, j));
      svg.append(box);
    }));
    const at = current();
    if (at[0] >= 0) svg.append(node("rect", { x: left + at[0] * w,
      y: top + (down.length - 1 - at[1]) * h, width: w, height: h, class: "here" }));
    across.values.forEach((value, i) => svg.append(node("text", { x: left + (i + 0.5) * w,
      y: top + height + 16, class: "tick middle" }, value)));
    down.values.forEach((value, j) => svg.append(node("text", { x: left - 6,
      y: top + (down.length - 0.5 - j) * h + 4, class: "tick end" }, value)));
    svg.append(node("text", { x: left + width / 2, y: 276, class: "name middle" }, across.name),
      node("text", { x: 14, y: top + height / 2, class: "name middle",
        transform: "rotate(-90 14 " + (top + height / 2) + ")" }, down.name));
    return Object.keys(seen).map(Number).sort((a, b) => a - b);
  }

  function legend(name, seen) {
    const list = element(name);
    list.replaceChildren(...seen.map((p) => {
      const item = document.createElement("li"), svg = node("svg", { width: 14, height: 14,
        "aria-hidden": "true" });
      svg.append(node("rect", { width: 14, height: 14, fill: colour(p).fill }));
      item.append(svg, document.createTextNode(" " + label(p)));
      return item;
    }));
  }

  const values = (axis) => ({ name: axis.name, length: axis.values.length,
    values: axis.values.map((_, i) => shownValue(axis, i)) });

  function drawMaps() {
    const [a, b] = data.machineAxes;
    if (b === undefined) return element("machines-figure").setAttribute("hidden", "");
    const seen = drawMap("machines", "Best policy over " + data.axes[a].name + " and " +
      data.axes[b].name + " at load " + digits(state.load), values(data.axes[a]),
      values(data.axes[b]), (i, j) => whatIf.ranked(grid, with_([[a, i], [b, j]]), state.load),
      () => [state.places[a], state.places[b]],
      (i, j) => { state.places[a] = i; state.places[b] = j; update(true); });
    legend("machines-legend", seen);
    element("machines-caption").textContent = "Best policy over " + data.axes[a].name + " and " +
      data.axes[b].name + " for the same jobs, at load " + digits(state.load) +
      " of today's machine. Hatched: others tie within the errors. Crossed: no answer.";
  }

  function drawLoads() {
    const v = data.otherAxis;
    if (v === undefined || v === null) return element("loads-figure").setAttribute("hidden", "");
    const axis = data.axes[v], across = { name: "load of today's machine",
      length: data.loads.length, values: data.loads.map((x) => digits(x, 3)) };
    const seen = drawMap("loads", "Best policy over load and " + axis.name, across, values(axis),
      (i, j) => whatIf.ranked(grid, with_([[v, j]]), data.loads[i]),
      () => [data.loads.findIndex((x) => Math.abs(x - state.load) < 1e-9), state.places[v]],
      (i, j) => { state.load = data.loads[i]; state.places[v] = j; update(true); });
    legend("loads-legend", seen);
    element("loads-caption").textContent = "Best policy over load and " + axis.words + " on " +
      machineWords() + ". Hatched: others tie within the errors. Crossed: no answer.";
  }

  function with_(changes) {
    const places = state.places.slice();
    for (const [axis, place] of changes) places[axis] = place;
    return whatIf.machine(grid, places);
  }

  /* Machines that differ from today's only in what has a price, with their best policies. */
  function offers() {
    const priced = data.axes.map((_, i) => i).filter((i) => data.axes[i].counted);
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
      each.rows = whatIf.ranked(grid, whatIf.machine(grid, each.places), state.load);
      each.best = each.rows[0].status === "best" ? each.rows[0] : null;
      each.words = priced.map((i) => shownValue(data.axes[i], each.places[i]) + " " +
        data.axes[i].name).join(", ");
    });
    return found.sort((a, b) => a.money - b.money);
  }

  function drawMoney() {
    if (!data.axes.some((axis) => axis.counted)) {
      return element("money-figure").setAttribute("hidden", "");
    }
    const all = offers(), able = all.filter((each) => each.best);
    const svg = cleared("money", "Least " + data.objective + " against money beyond today's machine");
    const steps = [];
    for (const each of able) {
      const last = steps[steps.length - 1];
      if (last && each.best.value >= last.best.value) continue;
      if (last && each.money === last.money) steps.pop();
      steps.push(each);
    }
    element("money-steps").replaceChildren(...steps.map((each, i) => {
      const item = document.createElement("li"), before = i ? steps[i - 1].best : null;
      const how = !before ? "" : whatIf.overlaps(before, each.best) ?
        ", a tie within the errors with the line before" : ", faster than the line before";
      item.textContent = (each.money >= 0 ? "+" : "") + digits(each.money, 6) + ": " + each.words +
        ", " + told(each.best) + " under " + label(each.best.policy) + how;
      return item;
    }));
    const none = all.filter((each) => !each.best);
    element("money-caption").textContent = "Every dot is a machine for the same jobs at load " +
      digits(state.load) + "; the line is the least that so much money buys, bars are stated errors." +
      (none.length ? " No answer: " + none.map((each) => each.words).join("; ") + "." : "");
    const range = around(able.flatMap((each) => [each.best.value * (1 + whatIf.reach(each.best)),
      each.best.value * Math.max(1 - whatIf.reach(each.best), 0.01)]));
    if (range === null) return;
    const f = frame(svg, [520, 320], [Math.min(0, all[0].money), all[all.length - 1].money], range,
      ["money beyond today's machine", data.objective + (data.unit ? " [" + data.unit + "]" : "")]);
    let line = "";
    steps.forEach((each, i) => {
      const x = f.x(each.money).toFixed(1), y = f.y(each.best.value).toFixed(1);
      line += i ? "H" + x + "V" + y : "M" + x + "," + y;
    });
    svg.append(node("path", { d: line, class: "step" }));
    for (const each of able) {
      const x = f.x(each.money), off = whatIf.reach(each.best), now = here();
      const dot = node("g", {});
      dot.append(node("title", {}, each.words + ": " + told(each.best)),
        node("line", { x1: x, x2: x, class: "bar",
          y1: f.y(Math.min(each.best.value * (1 + off), range[1])),
          y2: f.y(Math.max(each.best.value * (1 - off), range[0])) }),
        node("circle", { cx: x, cy: f.y(each.best.value), r: whatIf.machine(grid, each.places) === now
          ? 7 : 4.5, fill: colour(each.best.policy).fill, class: "dot" }));
      dot.addEventListener("click", () => { state.places = each.places.slice(); update(true); });
      svg.append(dot);
    }
  }

  // ---- words

  function machineWords() {
    return data.axes.map((axis, i) => axis.counted ? shownValue(axis, state.places[i]) + " " +
      axis.name : axis.name + " " + shownValue(axis, state.places[i])).join(", ");
  }

  function whyNone(rows) {
    const first = rows[0];
    if (first.status === "undecided") {
      return "undecided: " + label(first.policy) + " runs next to a capacity that is itself in " +
        "doubt; simulate it";
    }
    const most = rows.find((row) => row.why === "unstable");
    return most ? "no policy carries this load; " + label(most.policy) + " carries most, up to load " +
      digits(most.capacity, 3) : "no answer: " + first.why;
  }

  function say(rows) {
    const best = rows[0], at = "At load " + digits(state.load) + " on " + machineWords() + ", ";
    let text;
    if (best.status === "best") {
      const ties = rows.filter((row) => row.status === "tie");
      const open = rows.filter((row) => row.status === "undecided");
      text = at + label(best.policy) + " has the least " + data.objective + ": " + told(best) + ". " +
        (ties.length ? "A tie within the errors: " + listed(ties) + " may be as good." :
          "No other policy comes within the errors.") +
        (open.length ? " " + listed(open) + " may be better or have no steady state; simulate." : "");
    } else {
      text = at + "there is no best policy: " + whyNone(rows) + ".";
    }
    if (state.policy !== BEST) {
      const own = rows.find((row) => row.policy === state.policy);
      text += " " + label(state.policy) + ": " + (own.value !== undefined ? told(own) + ", " +
        own.status : own.why === "unstable" ? "unstable, it carries loads below " +
        digits(own.capacity, 3) : own.why) + ".";
    }
    element("answer").textContent = text;
  }

  function fillTable(rows) {
    const body = element("ranking");
    body.replaceChildren(...rows.map((row) => {
      const line = document.createElement("tr");
      const cells = [label(row.policy), row.value === undefined ? "–" : digits(row.value),
        row.value === undefined ? "–" : share(row.error) + (row.between > 5e-5 ? " + " +
          digits(100 * row.between, 2) + " %" : ""), row.status,
        row.capacity > 0 ? digits(row.capacity, 3) : "–"];
      cells.forEach((text, i) => {
        const cell = document.createElement(i ? "td" : "th");
        if (!i) cell.setAttribute("scope", "row");
        cell.textContent = text;
        line.append(cell);
      });
      line.firstChild.setAttribute("title", data.policies[row.policy].words);
      return line;
    }));
  }

  // ---- the address keeps the setting

  function fragment() {
    const words = ["load=" + digits(state.load, 12)];
    data.axes.forEach((axis, i) => words.push(encodeURIComponent(axis.name) + "=" +
      encodeURIComponent(String(axis.values[state.places[i]]))));
    if (state.policy !== BEST) words.push("policy=" + encodeURIComponent(label(state.policy)));
    data.axes.forEach((axis, i) => {
      if (axis.counted && state.prices[i] !== axis.price) {
        words.push("price." + axis.name + "=" + state.prices[i]);
      }
    });
    return "#" + words.join("&");
  }

  function read(text) {
    const given = new URLSearchParams(text.replace(/^#/, "").replace(/\+/g, "%2B"));
    const load = Number(given.get("load")), loads = data.loads;
    if (given.has("load") && load > 0) {
      state.load = Math.min(Math.max(load, loads[0]), loads[loads.length - 1]);
    }
    data.axes.forEach((axis, i) => {
      const asked = given.get(axis.name);
      if (asked !== null) {
        const own = axis.values.map(String).indexOf(asked);
        if (own >= 0) state.places[i] = own;
        else if (axis.counted && asked !== "" && isFinite(asked)) state.places[i] = nearest(axis, asked);
      }
      const price = Number(given.get("price." + axis.name));
      if (axis.counted && price > 0 && price < Infinity) state.prices[i] = price;
    });
    const wanted = data.policies.findIndex((each) => each.label === given.get("policy"));
    state.policy = wanted >= 0 ? wanted : BEST;
  }

  function nearest(axis, asked) {
    const away = axis.values.map((value) => Math.abs(value - Number(asked)));
    return away.indexOf(Math.min(...away));
  }

  // ---- controls

  function slider(id, name, most, input) {
    const box = document.createElement("div"), title = document.createElement("label");
    const range = document.createElement("input"), out = document.createElement("output");
    box.className = "control";
    title.htmlFor = id;
    title.textContent = name;
    Object.assign(range, { type: "range", id: id, min: 0, max: most, step: 1 });
    out.htmlFor = id;
    out.id = id + "-out";
    range.addEventListener("input", () => { input(Number(range.value)); update(true); });
    box.append(title, out, range);
    element("controls").append(box);
  }

  function numberField(i) {
    const box = document.createElement("div"), title = document.createElement("label");
    const field = document.createElement("input"), axis = data.axes[i];
    box.className = "control";
    title.htmlFor = field.id = "price-" + i;
    title.textContent = "price of one more of " + axis.name;
    Object.assign(field, { type: "number", min: 0, step: "any", value: state.prices[i] });
    field.addEventListener("input", () => {
      const price = Number(field.value);
      if (price > 0 && price < Infinity) { state.prices[i] = price; update(true); }
    });
    box.append(title, field);
    element("controls").append(box);
  }

  function build() {
    document.documentElement.classList.add("running");
    slider("load", "load of today's machine", slides - 1, (i) => { state.load = slide(i); });
    data.axes.forEach((axis, i) => {
      if (axis.values.length > 1) {
        slider("axis-" + i, axis.words, axis.values.length - 1, (v) => { state.places[i] = v; });
      }
    });
    const choice = document.createElement("select"), box = document.createElement("div");
    const title = document.createElement("label");
    box.className = "control";
    title.htmlFor = choice.id = "policy";
    title.textContent = "policy shown";
    choice.append(new Option("the best one", BEST));
    data.policies.forEach((each, p) => choice.append(new Option(each.label, p)));
    choice.addEventListener("change", () => { state.policy = Number(choice.value); update(true); });
    box.append(title, choice);
    element("controls").append(box);
    data.axes.forEach((axis, i) => { if (axis.counted) numberField(i); });
  }

  function showControls() {
    let index = 0;
    for (let i = 0; i < slides; i++) {
      if (Math.abs(slide(i) - state.load) < Math.abs(slide(index) - state.load)) index = i;
    }
    const set = (id, value, text) => {
      const input = element(id);
      input.value = value;
      input.setAttribute("aria-valuetext", text);
      element(id + "-out").textContent = text;
    };
    const stop = data.loads.some((each) => Math.abs(each - state.load) < 1e-9);
    set("load", index, digits(state.load) + (stop ? "" : ", interpolated"));
    data.axes.forEach((axis, i) => {
      if (axis.values.length > 1) {
        set("axis-" + i, state.places[i], shownValue(axis, state.places[i]) +
          (state.places[i] === axis.start ? " (today)" : ""));
      }
      if (axis.counted && document.activeElement !== element("price-" + i)) {
        element("price-" + i).value = state.prices[i];
      }
    });
    element("policy").value = state.policy;
  }

  function update(moved) {
    const rows = whatIf.ranked(grid, here(), state.load);
    showControls();
    say(rows);
    drawCurves(rows);
    drawMaps();
    drawLoads();
    drawMoney();
    fillTable(rows);
    const link = fragment();
    element("link").setAttribute("href", link);
    if (moved) {
      // Browsers refuse too many changes of the address a second, and some frames refuse all.
      try { history.replaceState(null, "", link); } catch (error) { /* the link below has it */ }
    }
  }

  build();
  read(location.hash);
  update(false);
  window.addEventListener("hashchange", () => { read(location.hash); update(false); });
})();
