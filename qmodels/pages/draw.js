"use strict";
/* Pictures made of SVG: numbers as text, axes, ticks, hatching. One global name, `draw`.
   A picture is a list of items [key, name, attributes, inside, click]: `patch` changes of what
   stands there only what differs, so that a step of a slider costs little. */
const draw = (function () {
  const SVG = "http://www.w3.org/2000/svg";

  function digits(x, count) {
    if (!(Math.abs(x) > 0)) return "0";
    const short = Number(x.toPrecision(count || 4));
    return Math.abs(short) >= 1e9 || Math.abs(short) < 1e-6 ? short.toExponential() :
      String(short);
  }

  /* Units of time with the seconds from which each is used, as `in_words` of the commands has them:
     from two of a unit on, so that 75 minutes are not 1.25 hours. */
  const YEAR = 365.25 * 86400, TIMES = [[2 * YEAR, YEAR, "years"], [172800, 86400, "days"],
    [7200, 3600, "h"], [120, 60, "min"], [1, 1, "s"], [1e-3, 1e-3, "ms"]];

  /* The unit in which people would give a time: its seconds and its name. */
  function timeUnit(seconds) {
    const found = TIMES.find((each) => Math.abs(seconds) >= each[0]) || [0, 1, "s"];
    return { seconds: found[1], name: found[2] };
  }

  /* A time to three digits in the unit that people would use, or in that of the time `like` unless
     that makes a thousand or more of them, or less than a hundredth of one. */
  function inWords(seconds, like) {
    const unit = timeUnit(like === undefined ? seconds : like), number = seconds / unit.seconds;
    const many = Math.abs(number) >= 999.5, few = number !== 0 && Math.abs(number) < 0.01;
    if ((many || few) && like !== undefined) return inWords(seconds);
    return (many ? Math.round(number).toLocaleString("en-US") : digits(number, 3)) + " " + unit.name;
  }

  /* A number on an axis: whole ones are not rounded. */
  function tick(x) {
    return Number.isInteger(x) && Math.abs(x) < 1e9 ? String(x) : digits(x, 3);
  }

  function made(parent, name) {
    const element = document.createElementNS(name === "svg" ? SVG : parent.namespaceURI, name);
    element.drawn = {};
    return element;
  }

  function setAttributes(element, attributes) {
    const before = element.drawn;
    for (const key in attributes) {
      const value = String(attributes[key]);
      if (before[key] !== value) element.setAttribute(key, value);
    }
    for (const key in before) if (!(key in attributes)) element.removeAttribute(key);
    element.drawn = {};
    for (const key in attributes) element.drawn[key] = String(attributes[key]);
  }

  /* Make the children of an element these items: text, or a list of items, inside each. */
  function patch(parent, items) {
    const before = parent.parts || new Map(), after = new Map();
    if (!parent.parts) parent.replaceChildren();
    items.forEach((item, i) => {
      const [key, name, attributes, inside, click] = item;
      let element = before.get(key);
      if (!element || element.localName !== name) element = made(parent, name);
      after.set(key, element);
      setAttributes(element, attributes);
      if (Array.isArray(inside)) {
        if (element.list !== inside) patch(element, inside);  // the same list: nothing has changed
        element.list = inside;
      } else if (inside !== undefined && element.said !== String(inside)) {
        element.textContent = element.said = String(inside);
      }
      element.onclick = click || null;
      if (parent.childNodes[i] !== element) parent.insertBefore(element, parent.childNodes[i] || null);
    });
    while (parent.childNodes.length > items.length) parent.lastChild.remove();
    parent.parts = after;
  }

  /* A picture with its name for those who do not see it. */
  function picture(id, title, items) {
    patch(document.getElementById(id), [["title", "title", {}, title]].concat(items));
  }

  /* Text of an element; nothing is touched where it says so already. */
  function say(id, text) {
    const element = document.getElementById(id);
    if (element.textContent !== text) element.textContent = text;
  }

  /* One call for all that happens until the next frame. */
  function soon(work) {
    let asked = false;
    return () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; work(); });
    };
  }

  /* Round numbers on a logarithmic axis, four at least: two would look like a linear one. */
  function logTicks(low, high) {
    for (const round of [[1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]]) {
      const found = [];
      for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) {
        for (const m of round) {
          const at = m * Math.pow(10, k);
          if (at >= low * 0.999 && at <= high * 1.001) found.push(at);
        }
      }
      if (found.length > 7) return found.filter((_, i) => i % 2 === 0);
      if (found.length > 3) return found;
    }
    return linearTicks(low, high).filter((at) => at > 0);
  }

  function powersOfTwo(low, high) {
    const found = [];
    for (let k = Math.ceil(Math.log2(low) - 1e-9); k <= Math.log2(high) + 1e-9; k++) {
      found.push(Math.pow(2, k));
    }
    const step = Math.ceil(found.length / 8);
    return found.length > 1 ? found.filter((_, i) => i % step === 0) : [low, high];
  }

  function linearTicks(low, high) {
    if (!(high > low)) return [low];
    const raw = (high - low) / 6, base = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * base).find((each) => each >= raw);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) {
      found.push(Math.abs(at) < 1e-9 * step ? 0 : at);
    }
    return found;
  }

  const SCALES = {
    linear: { turn: (v) => v, ticks: linearTicks },
    log: { turn: Math.log, ticks: logTicks },
    two: { turn: Math.log, ticks: powersOfTwo }
  };

  /* Where values lie between two ends of a scale: 0 to 1. */
  function place(scale, ends) {
    const turn = SCALES[scale].turn, low = turn(ends[0]), wide = turn(ends[1]) - low || 1;
    return (v) => (turn(v) - low) / wide;
  }

  /* Room above a picture for the name of the upright axis, which so meets no label of it; a letter
     on a telephone, where letters are larger; and room left of a picture for the labels. */
  const TOP = 26, WIDE = 8.6;
  const beside = (labels) => Math.max(40, 12 + WIDE * Math.max(...labels.map((x) => x.length)));
  const upName = (text) => ["yn", "text", { x: 4, y: 15, class: "name" }, text];

  /* Axes of a chart: their items, and how its numbers lie on the picture. */
  function frame(box, xs, ys, names, scales) {
    const across = scales ? scales[0] : "linear", up = scales ? scales[1] : "log";
    const left = beside(SCALES[up].ticks(ys[0], ys[1]).map((at) => tick(at)));
    const [right, top, bottom] = [22, TOP, 44], log = ", logarithmic scale";
    const w = box[0] - left - right, h = box[1] - top - bottom;
    const onX = place(across, xs), onY = place(up, ys);
    const x = (v) => left + w * onX(v), y = (v) => top + h * (1 - onY(v));
    const items = [["plot", "rect", { x: left, y: top, width: w, height: h, class: "plot" }]];
    SCALES[across].ticks(xs[0], xs[1]).forEach((at, i) => items.push(
      ["x" + i, "line", { x1: x(at), x2: x(at), y1: top, y2: top + h, class: "rule" }],
      ["xt" + i, "text", { x: x(at), y: top + h + 16, class: "tick middle" }, tick(at)]));
    SCALES[up].ticks(ys[0], ys[1]).forEach((at, i) => items.push(
      ["y" + i, "line", { x1: left, x2: left + w, y1: y(at), y2: y(at), class: "rule" }],
      ["yt" + i, "text", { x: left - 6, y: y(at) + 4, class: "tick end" }, tick(at)]));
    items.push(
      ["xn", "text", { x: left + w / 2, y: box[1] - 8, class: "name middle" }, names[0]],
      upName(names[1] + (up === "log" ? log : "")));
    return { items: items, x: x, y: y, top: top, bottom: top + h };
  }

  function around(values) {
    const known = values.filter((v) => v > 0 && v < Infinity);
    if (!known.length) return null;
    const low = Math.min(...known), high = Math.max(...known);
    return [low / 1.25, high * 1.25];
  }

  /* Pieces of a curve between points without an answer. */
  function runs(curve) {
    const found = [[]];
    for (const each of curve) {
      if (each[1].value === undefined) found.push([]);
      else found[found.length - 1].push(each);
    }
    return found.filter((run) => run.length > 1);
  }

  function point(f, range, x, y) {
    return f.x(x).toFixed(1) + "," + f.y(Math.min(Math.max(y, range[0]), range[1])).toFixed(1);
  }

  function hatch(name) {
    return ["tie", "pattern", { id: name + "-tie", width: 7, height: 7,
      patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    [["line", "line", { x1: 0, x2: 0, y1: 0, y2: 7, class: "hatch" }]]];
  }

  /* A slider with its name and its value in words; `input` gets its number. */
  function slider(parent, id, name, ends, input) {
    const box = document.createElement("div"), title = document.createElement("label");
    const range = document.createElement("input"), out = document.createElement("output");
    box.className = "control";
    title.htmlFor = id;
    title.textContent = name;
    Object.assign(range, { type: "range", id: id, min: ends[0], max: ends[1], step: 1 });
    out.htmlFor = id;
    out.id = id + "-out";
    range.addEventListener("input", () => input(Number(range.value)));
    box.append(title, out, range);
    parent.append(box);
  }

  function setSlider(id, value, text) {
    const range = document.getElementById(id);
    if (Number(range.value) !== value) range.value = value;
    range.setAttribute("aria-valuetext", text);
    say(id + "-out", text);
  }

  /* A list to choose from: pairs of value and words. */
  function select(parent, id, name, choices, change) {
    const box = document.createElement("div"), title = document.createElement("label");
    const choice = document.createElement("select");
    box.className = "control";
    title.htmlFor = choice.id = id;
    title.textContent = name;
    choices.forEach((each) => choice.append(new Option(each[1], each[0])));
    choice.addEventListener("change", () => change(choice.value));
    box.append(title, choice);
    parent.append(box);
  }

  return { TOP: TOP, WIDE: WIDE, around: around, beside: beside, digits: digits, frame: frame,
    hatch: hatch, inWords: inWords, patch: patch, picture: picture, place: place, point: point,
    powersOfTwo: powersOfTwo, runs: runs, say: say, select: select, setSlider: setSlider,
    slider: slider, soon: soon, tick: tick, timeUnit: timeUnit, upName: upName };
})();
