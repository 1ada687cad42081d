"use strict";
/* Pictures made of SVG: numbers as text, axes, ticks, hatching. One global name, `draw`. */
const draw = (function () {
  function digits(x, count) {
    if (!(Math.abs(x) > 0)) return "0";
    const short = Number(x.toPrecision(count || 4));
    return Math.abs(short) >= 1e15 || Math.abs(short) < 1e-6 ? short.toExponential() :
      String(short);
  }

  function node(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function cleared(name, title) {
    const svg = document.getElementById(name);
    svg.replaceChildren(node("title", {}, title));
    return svg;
  }

  function logTicks(low, high) {
    const found = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) {
      for (const m of [1, 2, 5]) {
        const at = m * Math.pow(10, k);
        if (at >= low * 0.999 && at <= high * 1.001) found.push(at);
      }
    }
    return found.length > 7 ? found.filter((_, i) => i % 2 === 0) : found;
  }

  function linearTicks(low, high) {
    if (!(high > low)) return [low];
    const raw = (high - low) / 5, base = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 5, 10].map((m) => m * base).find((each) => each >= raw);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + 1e-9 * step; at += step) {
      found.push(Math.abs(at) < 1e-9 * step ? 0 : at);
    }
    return found;
  }

  /* Axes of a chart: how its numbers lie on the picture. */
  function frame(svg, box, xs, ys, names, xLog) {
    const [left, right, top, bottom] = [58, 12, 10, 44];
    const w = box[0] - left - right, h = box[1] - top - bottom;
    const x = (v) => left + w * (v - xs[0]) / (xs[1] - xs[0] || 1);
    const y = (v) => top + h * (1 - Math.log(v / ys[0]) / Math.log(ys[1] / ys[0]));
    svg.append(node("rect", { x: left, y: top, width: w, height: h, class: "plot" }));
    for (const at of linearTicks(xs[0], xs[1])) {
      svg.append(node("line", { x1: x(at), x2: x(at), y1: top, y2: top + h, class: "rule" }),
        node("text", { x: x(at), y: top + h + 16, class: "tick middle" }, digits(at, 3)));
    }
    for (const at of logTicks(ys[0], ys[1])) {
      svg.append(node("line", { x1: left, x2: left + w, y1: y(at), y2: y(at), class: "rule" }),
        node("text", { x: left - 6, y: y(at) + 4, class: "tick end" }, digits(at, 3)));
    }
    svg.append(node("text", { x: left + w / 2, y: box[1] - 8, class: "name middle" }, names[0]),
      node("text", { x: 14, y: top + h / 2, class: "name middle",
        transform: "rotate(-90 14 " + (top + h / 2) + ")" }, names[1]));
    return { x: x, y: y, top: top, bottom: top + h };
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
    const made = node("pattern", { id: name + "-tie", width: 7, height: 7,
      patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    made.append(node("line", { x1: 0, x2: 0, y1: 0, y2: 7, class: "hatch" }));
    return made;
  }

  return { digits: digits, node: node, cleared: cleared, frame: frame, around: around,
    hatch: hatch, point: point, runs: runs };
})();
