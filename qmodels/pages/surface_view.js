"use strict";
/* A speedup surface to turn, to cut and to read off; pictures from `draw`. */
(function () {
  const { digits, frame, picture, place, say } = draw;
  const data = JSON.parse(document.getElementById("surface").textContent);
  const { processors, disks, speedup, time, low, high, colours } = data;
  const SIZE = 215;          // of an edge of the body
  const state = { i: data.best.i, j: data.best.j, axes: "two", heights: "linear", turn: 35, tilt: 25 };
  const element = (id) => document.getElementById(id);
  const soon = draw.soon(update);
  const all = speedup.flat(), least = Math.min(...all), most = Math.max(...all);
  // likely bounds reach further; one of zero has no place on a logarithmic axis
  const bottom = low ? Math.max(Math.min(...low.flat()), least / 10) : least;
  const top = high ? Math.max(...high.flat()) : most;
  const counted = (n, noun) => digits(n) + " " + noun + (n === 1 ? "" : "s");

  function choose(change) {
    Object.assign(state, change);
    soon();
  }

  function colour(value) {
    const shade = most > least ? Math.log(value / least) / Math.log(most / least) : 0.5;
    return colours[Math.min(colours.length - 1, Math.floor(shade * colours.length))];
  }

  function extrapolated(i, j) {
    const box = data.region;
    return box !== null && (processors[i] < box[0] || processors[i] > box[2] ||
      disks[j] < box[1] || disks[j] > box[3]);
  }

  function at(i, j) {
    return counted(processors[i], "processor") + " and " + counted(disks[j], "disk");
  }

  /* What was measured on an allotment, where that is known. */
  function seen(i, j) {
    const own = data.measured.find((each) => each[0] === processors[i] && each[1] === disks[j]);
    return own === undefined || own[4] === null ? "" : "; measured " + digits(own[4]) + " s" +
      (own[5] ? ", which contradicts the law" : "");
  }

  function told(i, j) {
    const value = speedup[i][j], used = processors[i] * disks[j] / (data.base[0] * data.base[1]);
    return "speedup " + digits(value) + (low ? " (likely " + digits(low[i][j]) + " to " +
      digits(high[i][j]) + ")" : "") + ", mean time " + digits(time[i][j]) + " s, efficiency " +
      digits(100 * value / used, 3) + " % (speedup over processors times disks" +
      (data.base[0] * data.base[1] === 1 ? ")" : ", 100 % on the smallest run)") +
      (extrapolated(i, j) ? "; extrapolated" : "") + seen(i, j);
  }

  /* Where processors and disks lie on their axes: 0 to 1. */
  function shares() {
    return [place(state.axes, [processors[0], processors[processors.length - 1]]),
      place(state.axes, [disks[0], disks[disks.length - 1]])];
  }

  // ---- the map

  /* Borders of the cells around values, halfway between neighbours on the axis. */
  function borders(values, onAxis) {
    const at = values.map(onAxis), found = [0];
    for (let k = 1; k < at.length; k++) found.push((at[k - 1] + at[k]) / 2);
    found.push(1);
    return found;
  }

  const box = { left: 58, top: 10, width: 380, height: 276 };

  const tiles = new Map();  // by the kind of axes: thousands that a step of a slider leaves alone

  function tilesOf(xs, ys, x, y) {
    return processors.flatMap((_, i) => disks.map((_, j) => ["c" + i + "," + j, "rect", {
      x: x(xs[i]).toFixed(2), y: y(ys[j + 1]).toFixed(2), class: "tile",
      width: (box.width * (xs[i + 1] - xs[i]) + 0.4).toFixed(2),
      height: (box.height * (ys[j + 1] - ys[j]) + 0.4).toFixed(2), fill: colour(speedup[i][j]) },
    undefined, () => choose({ i: i, j: j })]));
  }

  function drawMap() {
    const [onX, onY] = shares(), xs = borders(processors, onX), ys = borders(disks, onY);
    const x = (share) => box.left + box.width * share, y = (share) => box.top + box.height * (1 - share);
    if (!tiles.has(state.axes)) tiles.set(state.axes, tilesOf(xs, ys, x, y));
    const items = [["tiles", "g", {}, tiles.get(state.axes)]];
    const region = data.region;
    if (region !== null) {
      const clip = (share) => Math.min(Math.max(share, 0), 1);
      const [a, b, c, d] = [clip(onX(region[0])), clip(onY(region[1])), clip(onX(region[2])),
        clip(onY(region[3]))];
      items.push(["region", "rect", { x: x(a), y: y(d), width: Math.max(box.width * (c - a), 2),
        height: Math.max(box.height * (d - b), 2), class: "region" }]);
    }
    data.measured.forEach((each, k) => items.push(["m" + k, "circle", { cx: x(onX(each[0])),
      cy: y(onY(each[1])), r: 3.5, class: "measured" + (each[5] ? " odd" : "") }]));
    items.push(["best", "text", { x: x((xs[data.best.i] + xs[data.best.i + 1]) / 2),
      y: y((ys[data.best.j] + ys[data.best.j + 1]) / 2) + 6, class: "star middle" }, "★"],
    ["here", "rect", { x: x(xs[state.i]), y: y(ys[state.j + 1]), class: "here",
      width: box.width * (xs[state.i + 1] - xs[state.i]),
      height: box.height * (ys[state.j + 1] - ys[state.j]) }]);
    ticks(processors).forEach((v, k) => items.push(["x" + k, "text",
      { x: x(onX(v)), y: box.top + box.height + 16, class: "tick middle" }, draw.tick(v)]));
    ticks(disks).forEach((v, k) => items.push(["y" + k, "text",
      { x: box.left - 6, y: y(onY(v)) + 4, class: "tick end" }, draw.tick(v)]));
    items.push(["xn", "text", { x: box.left + box.width / 2, y: 330, class: "name middle" },
      "processors"], ["yn", "text", { x: 14, y: box.top + box.height / 2, class: "name middle",
      transform: "rotate(-90 14 " + (box.top + box.height / 2) + ")" }, "disks"]);
    scale(items);
    picture("map", "Map of the speedup over processors and disks: from " + digits(least) + " to " +
      digits(most) + ", largest" + (data.region === null ? "" : " within what was measured") + " on " +
      at(data.best.i, data.best.j), items);
  }

  function ticks(values) {
    const low = values[0], high = values[values.length - 1];
    return state.axes === "two" ? draw.powersOfTwo(low, high) :
      [low, (low + high) / 2, high].map((v) => Number(v.toPrecision(3)));
  }

  function scale(items) {
    const step = box.height / colours.length;
    colours.forEach((fill, k) => items.push(["s" + k, "rect", { x: 455, width: 16, fill: fill,
      y: box.top + box.height - (k + 1) * step, height: step + 0.4 }]));
    [0, 0.25, 0.5, 0.75, 1].forEach((share, k) => items.push(["st" + k, "text", { x: 476,
      y: box.top + box.height * (1 - share) + 4 + (share === 1 ? 6 : 0), class: "tick" },
    digits(least * Math.pow(most / least, share), 3)]));
  }

  // ---- the body

  /* From shares of the three axes to the picture, and how far away that is. */
  function projection() {
    const turn = state.turn * Math.PI / 180, tilt = state.tilt * Math.PI / 180;
    const [c, s, ct, st] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
    return (x, y, z) => {
      const across = (x - 0.5) * c - (y - 0.5) * s, away = (x - 0.5) * s + (y - 0.5) * c;
      return [260 + SIZE * across, 188 - SIZE * (away * st + (0.8 * z - 0.34) * ct),
        away * ct - 0.8 * z * st];
    };
  }

  function drawBody() {
    const see = projection(), [onX, onY] = shares();
    const onZ = place(state.heights, state.heights === "log" ? [least, most] : [0, most]);
    const dot = (i, j) => see(onX(processors[i]), onY(disks[j]), onZ(speedup[i][j]));
    const pairs = (points) => points.map((p) => p[0].toFixed(1) + "," + p[1].toFixed(1)).join(" ");
    const quads = [], rows = data.rows, columns = data.columns;
    for (let a = 1; a < rows.length; a++) {
      for (let b = 1; b < columns.length; b++) {
        const [i, k, j, l] = [rows[a - 1], rows[a], columns[b - 1], columns[b]];
        const corners = [dot(i, j), dot(k, j), dot(k, l), dot(i, l)];
        quads.push([corners[0][2] + corners[1][2] + corners[2][2] + corners[3][2], pairs(corners),
          colour(Math.pow(speedup[i][j] * speedup[k][j] * speedup[k][l] * speedup[i][l], 0.25)),
          extrapolated(i, j) || extrapolated(k, l) || extrapolated(i, l) || extrapolated(k, j)]);
      }
    }
    quads.sort((a, b) => b[0] - a[0]);
    const base = [[0, 0], [1, 0], [1, 1], [0, 1]].map((p) => see(p[0], p[1], 0));
    const items = [["base", "polygon", { points: pairs(base), class: "floor" }]];
    quads.forEach((quad, k) => items.push(["q" + k, "polygon",
      { points: quad[1], class: "quad",
        fill: quad[3] ? "color-mix(in srgb, " + quad[2] + " 45%, var(--paper))" : quad[2] }]));
    data.measured.forEach((each, k) => {
      const share = [onX(each[0]), onY(each[1])], on = see(share[0], share[1], onZ(each[3]));
      const own = see(share[0], share[1], onZ(Math.max(each[2], least)));
      items.push(["p" + k, "line", { x1: on[0], y1: on[1], x2: own[0], y2: own[1], class: "pin" }],
        ["m" + k, "circle", { cx: own[0], cy: own[1], r: 4,
          class: "measured" + (each[5] ? " odd" : "") }]);
    });
    const here = dot(state.i, state.j);
    items.push(["here", "circle", { cx: here[0], cy: here[1], r: 6, class: "here" }]);
    labels(see, items);
    const top = dot(data.top.i, data.top.j);
    items.push(["top", "text", { x: top[0], y: top[1] - 8, class: "tick middle" }, digits(most)]);
    picture("body", "The surface as a body, seen from " + state.turn + " degrees: it rises from " +
      digits(least) + " to " + digits(most), items);
  }

  /* Names and ends of the axes, along the edges of the floor that lie nearest. */
  function labels(see, items) {
    const nearer = (a, b) => see(a[0], a[1], 0)[2] < see(b[0], b[1], 0)[2];
    const put = (key, p, text) => items.push([key, "text",
      { x: p[0].toFixed(1), y: (p[1] + 14).toFixed(1), class: "tick middle" }, text]);
    const y = nearer([0.5, -0.08], [0.5, 1.08]) ? -0.08 : 1.08;
    const x = nearer([-0.08, 0.5], [1.08, 0.5]) ? -0.08 : 1.08;
    put("x0", see(0.06, y, 0), draw.tick(processors[0]));
    put("xn", see(0.5, y, 0), "processors");
    put("x1", see(0.94, y, 0), draw.tick(processors[processors.length - 1]));
    put("y0", see(x, 0.06, 0), draw.tick(disks[0]));
    put("yn", see(x, 0.5, 0), "disks");
    put("y1", see(x, 0.94, 0), draw.tick(disks[disks.length - 1]));
  }

  // ---- the cuts

  function drawCut(id, values, column, here, words) {
    const line = column(speedup), range = state.heights === "log" ? [bottom / 1.1, top * 1.1] :
      [0, top * 1.05];
    const ends = [values[0], values[values.length - 1]];
    const f = frame([520, 300], ends, range, [words[0], "speedup"], [state.axes, state.heights]);
    const points = (row) => values.map((v, k) => f.x(v).toFixed(1) + "," +
      f.y(Math.min(Math.max(row[k], range[0]), range[1])).toFixed(1));
    const items = f.items;
    if (low) items.push(["band", "polygon", { class: "band cut",
      points: points(column(high)).concat(points(column(low)).reverse()).join(" ") }]);
    items.push(["line", "polyline", { points: points(line).join(" "), class: "curve cut" }],
      ["now", "circle", { cx: f.x(values[here]), cy: f.y(line[here]), r: 6, class: "here" }]);
    const best = Math.max(...line);
    picture(id, "Speedup against " + words[0] + " on " + words[1] + ": from " + digits(line[0]) +
      " to " + digits(line[line.length - 1]) + ", largest " + digits(best) + " on " +
      digits(values[line.indexOf(best)]), items);
    say(id + "-caption", "Cut through the surface: " + words[0] + " on " + words[1] + "." +
      (low ? " Band: likely speedups." : ""));
  }

  function update() {
    draw.setSlider("processors", state.i, digits(processors[state.i]));
    draw.setSlider("disks", state.j, digits(disks[state.j]));
    draw.setSlider("turn", state.turn, state.turn + "°");
    draw.setSlider("tilt", state.tilt, state.tilt + "°");
    say("answer", "On " + at(state.i, state.j) + ": " + told(state.i, state.j) + ".");
    drawMap();
    drawBody();
    drawCut("by-processors", processors, (rows) => rows.map((row) => row[state.j]), state.i,
      ["processors", counted(disks[state.j], "disk")]);
    drawCut("by-disks", disks, (rows) => rows[state.i], state.j,
      ["disks", counted(processors[state.i], "processor")]);
  }

  function drags(svg) {
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY, state.turn, state.tilt];
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const turn = Math.round(from[2] + (event.clientX - from[0]) / 2);
      const tilt = Math.round(from[3] + (event.clientY - from[1]) / 3);
      choose({ turn: ((turn + 540) % 360) - 180, tilt: Math.min(Math.max(tilt, 0), 90) });
    });
    ["pointerup", "pointercancel"].forEach((name) =>
      svg.addEventListener(name, () => { from = null; }));
  }

  const controls = element("controls");
  document.documentElement.classList.add("running");
  draw.slider(controls, "processors", "processors", [0, processors.length - 1], (i) => choose({ i: i }));
  draw.slider(controls, "disks", "disks", [0, disks.length - 1], (j) => choose({ j: j }));
  draw.slider(controls, "turn", "turn the body", [-180, 180], (turn) => choose({ turn: turn }));
  draw.slider(controls, "tilt", "tilt the body", [0, 90], (tilt) => choose({ tilt: tilt }));
  draw.select(controls, "axes", "processors and disks",
    [["two", "logarithmic"], ["linear", "linear"]], (axes) => choose({ axes: axes }));
  draw.select(controls, "heights", "speedup", [["linear", "linear"], ["log", "logarithmic"]],
    (heights) => choose({ heights: heights }));
  drags(element("body"));
  update();
})();
