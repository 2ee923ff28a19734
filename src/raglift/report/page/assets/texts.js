// Texts made fit to show: nothing that reorders a line, nothing of endless length, and what matched marked in place.

const REPLACED = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const MOST_AT_ONCE = 20000;

function visible(text) {
  return text.replace(REPLACED, "\ufffd");
}

// The nearest place at which a text can be cut without parting a surrogate pair.
function seam(text, place) {
  const code = text.charCodeAt(place);
  return code >= 0xdc00 && code <= 0xdfff ? place - 1 : place;
}

function short(text, most) {
  return text.length <= most ? visible(text) : `${visible(text.slice(0, seam(text, most)))}…`;
}

const grouped = new Intl.NumberFormat("en");
function whole(value) {
  return grouped.format(value);
}

function figure(value) {
  if (value === null) return "–";
  return Math.abs(value) >= 1000 ? whole(Math.round(value)) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}

function signed(value) {
  if (value === null) return "–";
  const text = figure(Math.abs(value));
  return Number(text) === 0 ? text : (value > 0 ? "+" : "\u2212") + text;
}

function scoreText(score) {
  if (score === null) return "";
  return Math.abs(score) >= 100 ? score.toFixed(1) : score.toPrecision(4).replace("-", "\u2212");
}

function plural(count, one, many) {
  return `${whole(count)} ${count === 1 ? one : many ?? `${one}s`}`;
}

// Offsets are counted in code points, as Python does; strings here in UTF-16 units.
function unitOf(text, point) {
  if (!/[\ud800-\udbff]/.test(text)) return Math.min(point, text.length);
  let unit = 0;
  for (let n = 0; n < point && unit < text.length; n += 1) unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
  return unit;
}

// The parts of a text that are shown at first: around each span, or the beginning.
function partsAround(text, spans) {
  if (text.length <= 360) return [[0, text.length]];
  if (!spans.length) return [[0, 240]];
  const wished = spans
    .slice(0, 6)
    .flatMap(({ start, end }) => [[start - 90, Math.min(end, start + 260) + 90], [Math.max(start, end - 90) - 20, end + 90]]);
  return merged(wished.map(([from, to]) => [wordFrom(text, from), to]), text.length);
}

// The beginning of the next word, where one begins soon.
function wordFrom(text, place) {
  const space = place > 0 ? text.slice(place, place + 20).search(/\s/) : -1;
  return space < 0 ? place : place + space + 1;
}

function merged(intervals, length) {
  const kept = [];
  const inside = intervals.map(([from, to]) => [Math.max(0, from), Math.min(length, to)]);
  for (const [from, to] of inside.sort((one, other) => one[0] - other[0])) {
    const last = kept.at(-1);
    if (last && from <= last[1] + 40) last[1] = Math.max(last[1], to);
    else kept.push([from, to]);
  }
  return kept;
}

// Text nodes and marks for the kept parts of a text; each mark says which facts it belongs to.
function markedText(text, parts, spans, inner = false) {
  const nodes = [];
  for (const [wantedFrom, wantedTo] of parts) {
    const from = seam(text, wantedFrom);
    const to = seam(text, wantedTo);
    if (from >= to) continue;
    if (inner) {
      nodes.push(...pieces(text, from, to, spans));
      continue;
    }
    if (from > 0) nodes.push(nodes.length ? " … " : "… ");
    nodes.push(...pieces(text, from, to, spans, true));
  }
  if (!inner && parts.length && parts.at(-1)[1] < text.length) nodes.push(" …");
  return nodes;
}

// The text from one place to another, cut where a span begins or ends.
function pieces(text, from, to, spans, begins = false) {
  const cuts = [...new Set([from, ...spans.flatMap(({ start, end }) => [start, end]).filter((cut) => cut > from && cut < to), to])];
  cuts.sort((one, other) => one - other);
  return cuts.slice(0, -1).map((cut, n) => piece(text, cut, cuts[n + 1], spans, begins && cut === from));
}

function piece(text, from, to, spans, begins) {
  const shown = visible(text.slice(from, to));
  const over = spans.filter(({ start, end }) => start <= from && end >= to);
  if (!over.length) return shown;
  const starting = over.filter(({ start }) => start === from || begins).map(({ fact }) => fact + 1);
  const counts = over.some((span) => span.counts);
  return element(
    "mark",
    { class: `f${colourOf(over[0].fact)}${counts ? "" : " partly"}`, "data-starts": starting.length ? starting.join(" ") : null },
    shown,
  );
}

const COLOURS = 6;
function colourOf(fact) {
  return fact % COLOURS;
}

// A text that opens when asked: its kept parts first, with a button for the rest; so many characters after it are not here.
function longText(text, spans, missing, attributes, brief = "", plain = markedText) {
  const parts = partsAround(text, spans);
  const body = element(plain === markedText ? "p" : "div", { dir: "auto", ...attributes }, plain(text, parts, spans, false, Boolean(brief)));
  const shown = parts.reduce((sum, [from, to]) => sum + to - from, 0);
  if (shown >= text.length) return missing ? [body, rest(missing)] : [body];
  const all = merged([...parts, [0, MOST_AT_ONCE]], text.length);
  const label = `Show all ${plural(text.length + missing, "character")}`;
  const toggle = button(brief || label, () => {
    const open = toggle.getAttribute("aria-expanded") !== "true";
    toggle.setAttribute("aria-expanded", String(open));
    toggle.textContent = open ? "Show less" : brief || label;
    if (brief) toggle.setAttribute("aria-label", open ? "Show less" : label);
    body.classList.toggle("whole", open);
    body.replaceChildren(...plain(text, open ? all : parts, spans, false, Boolean(brief) && !open));
    const beyond = text.length + missing - all.reduce((sum, [from, to]) => sum + to - from, 0);
    if (open && beyond > 0) body.append(element("span", { class: "muted" }, ` ${plural(beyond, "character")} not shown.`));
  }, { "aria-expanded": "false", "aria-label": brief ? label : null, class: "quiet more" });
  return [body, toggle];
}

function rest(missing) {
  return element("span", { class: "muted more" }, `${plural(missing, "character")} more, not in this page.`);
}
