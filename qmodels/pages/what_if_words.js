"use strict";
/* What a setting of the page says in words. One global name, `whatIfWords`. */
function whatIfWords(grid, state) {
  const digits = draw.digits, data = grid.data;

  /* A value of the objective; a time in the unit of the time `like`. */
  function amount(x, like) {
    return data.unit === "s" ? draw.inWords(x, like) : digits(x) + (data.unit ? " " + data.unit : "");
  }

  function share(x) {
    return x === Infinity ? "error unknown" : x < 1e-6 ? data.exact : "± " + digits(100 * x, 2) + " %";
  }

  function told(row, like) {
    const off = row.between > 5e-5 ? ", between two predicted loads within " +
      digits(100 * row.between, 2) + " %" : "";
    return amount(row.value, like) + " (" + share(row.error) + off + ")";
  }

  const label = (p) => data.policies[p].label;

  /* Policies that the scenario lists and the page has not, and a number of those that it has. */
  const some = data.left.length > 0;
  const count = data.policies.length;

  const listed = (rows) => rows.slice(0, 3).map((row) => label(row.policy)).join(", ") +
    (rows.length > 3 ? " and " + (rows.length - 3) + " more" : "");

  function shownValue(axis, place) {
    const value = axis.values[place];
    return typeof value !== "number" || Number.isInteger(value) ? String(value) : digits(value);
  }

  /* One of processors or disks, whose names are plurals; other axes are called by their keys. */
  const one = (axis) => /^(processors|disks)$/.test(axis.name) ? axis.name.slice(0, -1) : null;

  function counted(axis, place) {
    return shownValue(axis, place) + " " + (axis.values[place] === 1 && one(axis) || axis.name);
  }

  /* Without the axis that a figure goes over, if there is one. */
  function machine(over) {
    return data.axes.map((axis, i) => axis.counted ? counted(axis, state.places[i]) : axis.name +
      " " + shownValue(axis, state.places[i])).filter((_, i) => i !== over).join(", ");
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
      // of these nobody knows: neither that they are slower nor that they cannot carry the load
      const blank = rows.filter((row) => row.unknown);
      text = at + (some ? "of the " + count + " policies on this page " : "") + label(best.policy) +
        " has the least " + data.objective + ": " + told(best) + ". " +
        (ties.length ? "A tie within the errors: " + listed(ties) + " may be as good." :
          some ? "No other policy on this page comes within the errors." :
          rows.length === 1 ? "No other policy was looked at." :
          "No other policy comes within the errors.") +
        (open.length ? " " + listed(open) + " may be better or have no steady state; simulate." : "") +
        (blank.length ? " Not predicted here: " + listed(blank) + "." : "");
    } else {
      text = at + "there is no best policy: " + whyNone(rows) + ".";
    }
    if (state.policy < 0) return text;
    const own = rows.find((row) => row.policy === state.policy);
    return text + " " + label(state.policy) + ": " + (own.value !== undefined ? told(own) + ", " +
      own.status : own.why === "unstable" ? "unstable, it carries loads below " +
      digits(own.capacity, 3) : own.why) + ".";
  }

  return { amount: amount, answer: answer, counted: counted, label: label, listed: listed, machine: machine,
    one: one, share: share, shownValue: shownValue, told: told, whyNone: whyNone };
}
