"use strict";
/* The controls of the page, its table and its address; numbers come from `whatIf`. */
(function () {
  const { digits, say } = draw;
  const data = JSON.parse(document.getElementById("grid").textContent);
  const grid = whatIf.open(data);
  const PARTS = 5;           // steps of the load's slider from one predicted load to the next
  const BEST = -1;           // the choice "the best policy"
  const PAUSE = 250;         // ms without a step before the address follows: browsers refuse many
  const state = { load: data.load, places: data.axes.map((axis) => axis.start), policy: BEST,
    prices: data.axes.map((axis) => axis.price) };
  const slides = data.loads.flatMap((load, i) => i + 1 === data.loads.length ? [load] :
    Array.from({ length: PARTS }, (_, k) => load + (data.loads[i + 1] - load) * k / PARTS));
  const words = whatIfWords(grid, state);
  const drawFigures = whatIfFigures(grid, state, words, slides, choose);
  const element = (id) => document.getElementById(id);
  const soon = draw.soon(update);
  let waiting = 0;

  function fillTable(rows) {
    draw.patch(element("ranking"), rows.map((row) => {
      const has = row.value !== undefined;
      const error = !has ? "–" : words.share(row.error) + (row.between > 5e-5 ? " + " +
        digits(100 * row.between, 2) + " %" : "");
      return [row.policy, "tr", {}, [
        [0, "th", { scope: "row", title: data.policies[row.policy].words }, words.label(row.policy)],
        [1, "td", {}, has ? words.amount(row.value, rows[0].value) : "–"], [2, "td", {}, error],
        [3, "td", { class: "words" }, row.status], [4, "td", {}, row.capacity > 0 ? digits(row.capacity, 3) : "–"]]];
    }));
  }

  // ---- the address keeps the setting

  function fragment() {
    const parts = ["load=" + digits(state.load, 12)];
    data.axes.forEach((axis, i) => parts.push(encodeURIComponent(axis.name) + "=" +
      encodeURIComponent(String(axis.values[state.places[i]]))));
    if (state.policy !== BEST) {
      parts.push("policy=" + encodeURIComponent(words.label(state.policy)));
    }
    data.axes.forEach((axis, i) => {
      if (axis.counted && state.prices[i] !== axis.price) {
        parts.push("price." + axis.name + "=" + (state.prices[i] === null ? "" : state.prices[i]));
      }
    });
    return "#" + parts.join("&");
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
      const typed = given.get("price." + axis.name), price = Number(typed);
      if (axis.counted && price > 0 && price < Infinity) state.prices[i] = price;
      if (axis.counted && typed === "") state.prices[i] = null;
    });
    const wanted = data.policies.findIndex((each) => each.label === given.get("policy"));
    state.policy = wanted >= 0 ? wanted : BEST;
  }

  function nearest(axis, asked) {
    const away = axis.values.map((value) => Math.abs(value - Number(asked)));
    return away.indexOf(Math.min(...away));
  }

  function keepAddress() {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      // Some frames refuse all changes of the address.
      try { history.replaceState(null, "", fragment()); } catch (error) { /* the link has it */ }
    }, PAUSE);
  }

  // ---- controls

  /* A new setting, by a control or by a click on a figure: drawn in the next frame. */
  function choose(change) {
    Object.assign(state, change);
    keepAddress();
    soon();
  }

  function numberField(i) {
    const box = document.createElement("div"), title = document.createElement("label");
    const field = document.createElement("input"), axis = data.axes[i];
    box.className = "control";
    title.htmlFor = field.id = "price-" + i;
    title.textContent = "price of one more " + (words.one(axis) || "of " + axis.name);
    Object.assign(field, { type: "number", min: 0, step: "any", placeholder: "not given" });
    field.addEventListener("input", () => {
      const price = Number(field.value);
      state.prices[i] = price > 0 && price < Infinity ? price : null;
      choose({});
    });
    box.append(title, field);
    element("controls").append(box);
  }

  function build() {
    const controls = element("controls");
    document.documentElement.classList.add("running");
    draw.slider(controls, "load", "load of today's machine", [0, slides.length - 1],
      (i) => choose({ load: slides[i] }));
    data.axes.forEach((axis, i) => {
      if (axis.values.length > 1) {
        draw.slider(controls, "axis-" + i, axis.words, [0, axis.values.length - 1],
          (v) => { state.places[i] = v; choose({}); });
      }
    });
    draw.select(controls, "policy", "policy shown", [[BEST, "the best one"]].concat(
      data.policies.map((each, p) => [p, each.label])), (p) => choose({ policy: Number(p) }));
    data.axes.forEach((axis, i) => { if (axis.counted) numberField(i); });
  }

  const isOwn = (load) => data.own !== null && Math.abs(load - data.own) < 1e-9;

  function showControls() {
    let index = 0;
    slides.forEach((load, i) => {
      if (Math.abs(load - state.load) < Math.abs(slides[index] - state.load)) index = i;
    });
    const stop = data.loads.some((each) => Math.abs(each - state.load) < 1e-9);
    draw.setSlider("load", index, digits(state.load) + (stop ? "" : ", interpolated") +
      (isOwn(state.load) ? " (the log's own)" : ""));
    data.axes.forEach((axis, i) => {
      if (axis.values.length > 1) {
        draw.setSlider("axis-" + i, state.places[i], words.shownValue(axis, state.places[i]) +
          (state.places[i] === axis.start ? " (today)" : ""));
      }
      if (axis.counted && document.activeElement !== element("price-" + i)) {
        element("price-" + i).value = state.prices[i] === null ? "" : state.prices[i];
      }
    });
    element("policy").value = state.policy;
  }

  function update() {
    const m = whatIf.machine(grid, state.places), rows = whatIf.ranked(grid, m, state.load);
    showControls();
    say("answer", words.answer(rows));
    drawFigures(rows, m);
    fillTable(rows);
    element("link").setAttribute("href", fragment());
  }

  build();
  read(location.hash);
  update();
  window.addEventListener("hashchange", () => { read(location.hash); update(); });
})();
