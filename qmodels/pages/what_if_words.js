"use strict";
/* What a setting of the page says in words. One global name, `whatIfWords`. */
function whatIfWords(grid, state) {
  const digits = draw.digits, data = grid.data;

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

  function shownValue(axis, place) {
    const value = axis.values[place];
    return typeof value !== "number" || Number.isInteger(value) ? String(value) : digits(value);
  }

  function machine() {
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

  /* The answer in a sentence or two. */
  function answer(rows) {
    const best = rows[0], at = "At load " + digits(state.load) + " on " + machine() + ", ";
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
    if (state.policy < 0) return text;
    const own = rows.find((row) => row.policy === state.policy);
    return text + " " + label(state.policy) + ": " + (own.value !== undefined ? told(own) + ", " +
      own.status : own.why === "unstable" ? "unstable, it carries loads below " +
      digits(own.capacity, 3) : own.why) + ".";
  }

  return { answer: answer, label: label, listed: listed, machine: machine, share: share,
    shownValue: shownValue, told: told, whyNone: whyNone };
}
