// Chunks that are Markdown, shown as they are meant: elements around parts of the text, never markup that is parsed as
// HTML. Every character that is shown is a part of the text at its own place, so that marks stay where they belong.

const BLOCKS = /^ {0,3}#{1,6} \S|^ {0,3}(?:```|~~~)|^ {0,3}\|? {0,9}:?-{3,}:? {0,9}\||\*\*\S(?:.{0,200}?\S)?\*\*/m;
const ITEM = /^( {0,12})(?:[-*+]|\d{1,3}[.)]) {1,4}(?=\S)/;
const RULED = /^[ \t|:-]+$/;
const LONGEST_LINE = 4000; // a longer one is shown as it stands
const INLINE = /(`+)(.+?)\1|(\*\*|__)(?=\S)(.+?\S?)\3|(?<![\w*])([*_])(?=\S)([^*_\n]*?\S)\5(?![\w*])|!?\[([^\]\n]*)\]\([^)\s]*\)/g;

function isMarkdown(text) {
  const start = text.slice(0, LONGEST_LINE);
  return BLOCKS.test(start) || start.split("\n").filter((line) => ITEM.test(line)).length > 2;
}

// Whether a line rules off the head of a table.
function isRule(line) {
  return RULED.test(line) && line.includes("|") && line.includes("--");
}

// The lines of a part of a text, as places of their first character and the one past their last.
function linesOf(text, from, to) {
  const lines = [];
  for (let at = from; at < to;) {
    const end = text.indexOf("\n", at);
    const stop = end < 0 || end > to ? to : end;
    lines.push([at, stop]);
    at = stop + 1;
  }
  return lines;
}

// Elements for a part of a Markdown text.
function markdownBlocks(text, from, to, spans) {
  const lines = linesOf(text, from, to);
  const made = [];
  for (let n = 0; n < lines.length;) {
    const block = fenced(text, lines, n, spans) ?? table(text, lines, n, spans) ?? heading(text, lines, n, spans)
      ?? itemList(text, lines, n, spans) ?? paragraph(text, lines, n, spans);
    if (block.element) made.push(block.element);
    n = block.next;
  }
  return made;
}

function lineText(text, [from, to]) {
  return text.slice(from, to);
}

function fenced(text, lines, n, spans) {
  const opening = /^\s*(```|~~~)/.exec(lineText(text, lines[n]));
  if (!opening) return null;
  let end = n + 1;
  while (end < lines.length && !lineText(text, lines[end]).trimStart().startsWith(opening[1])) end += 1;
  const [first, last] = [lines[n + 1], lines[Math.min(end, lines.length) - 1]];
  const inner = end > n + 1 ? markedText(text, [[first[0], last[1]]], spans, true) : [];
  return { element: element("pre", null, element("code", null, inner)), next: end + 1 };
}

function heading(text, lines, n, spans) {
  const found = /^\s*(#{1,6})\s+/.exec(lineText(text, lines[n]));
  if (!found) return null;
  const [from, to] = lines[n];
  const trailing = /\s*#*\s*$/.exec(text.slice(from + found[0].length, to))[0].length;
  return { element: element("p", { class: "md-heading" }, inline(text, from + found[0].length, to - trailing, spans)), next: n + 1 };
}

function itemList(text, lines, n, spans) {
  if (!ITEM.test(lineText(text, lines[n]))) return null;
  const ordered = /^\s*\d/.test(lineText(text, lines[n]));
  const items = [];
  let next = n;
  for (; next < lines.length; next += 1) {
    const line = lineText(text, lines[next]);
    const found = ITEM.exec(line);
    if (found) {
      const start = /^\s*(\d+)/.exec(line)?.[1];
      items.push(element("li", { value: ordered ? start : null, class: found[1].length > 1 ? "inner" : null },
        inline(text, lines[next][0] + found[0].length, lines[next][1], spans)));
    } else if (/^\s+\S/.test(line)) {
      items.at(-1).append(" ", ...inline(text, lines[next][0] + line.search(/\S/), lines[next][1], spans));
    } else break;
  }
  return { element: element(ordered ? "ol" : "ul", null, items), next };
}

function table(text, lines, n, spans) {
  if (!lineText(text, lines[n]).includes("|") || !(n + 1 < lines.length && isRule(lineText(text, lines[n + 1])))) {
    return isRule(lineText(text, lines[n])) ? rowsFrom(text, lines, n + 1, spans, null) : null;
  }
  return rowsFrom(text, lines, n + 2, spans, lines[n]);
}

// The rows of a table from a line on; of one that is cut, its head may be missing.
function rowsFrom(text, lines, n, spans, head) {
  const row = (line, name) => element("tr", null, cellsOf(text, line).map(([from, to]) => element(name, null, inline(text, from, to, spans))));
  const rows = [];
  let next = n;
  for (; next < lines.length && lineText(text, lines[next]).includes("|"); next += 1) rows.push(row(lines[next], "td"));
  const parts = [head ? element("thead", null, row(head, "th")) : null, element("tbody", null, rows)];
  return { element: element("div", { class: "md-table" }, element("table", null, parts)), next };
}

function cellsOf(text, [from, to]) {
  const cells = [];
  let start = from;
  for (let at = from; at <= to; at += 1) {
    if (at < to && (text[at] !== "|" || text[at - 1] === "\\")) continue;
    cells.push(trimmed(text, start, at));
    start = at + 1;
  }
  const empty = ([first, last]) => first >= last;
  if (cells.length && empty(cells[0])) cells.shift();
  if (cells.length && empty(cells.at(-1))) cells.pop();
  return cells;
}

function trimmed(text, from, to) {
  let [first, last] = [from, to];
  while (first < last && /\s/.test(text[first])) first += 1;
  while (last > first && /\s/.test(text[last - 1])) last -= 1;
  return [first, last];
}

function paragraph(text, lines, n, spans) {
  let next = n;
  const nodes = [];
  const begins = (line) => /^\s*(?:```|~~~)|^\s*#{1,6}\s/.test(line) || ITEM.test(line);
  for (; next < lines.length; next += 1) {
    const line = lineText(text, lines[next]);
    if (!line.trim()) break;
    if (next > n && (begins(line) || (next + 1 < lines.length && line.includes("|") && isRule(lineText(text, lines[next + 1]))))) break;
    if (nodes.length) nodes.push(" ");
    nodes.push(...inline(text, ...trimmed(text, ...lines[next]), spans));
  }
  return { element: nodes.length ? element("p", null, nodes) : null, next: Math.max(next, n + 1) };
}

// Bold, italic, code and the texts of links within a line; nested ones too.
function inline(text, from, to, spans) {
  if (to - from > LONGEST_LINE) return markedText(text, [[from, to]], spans, true);
  const nodes = [];
  let end = from;
  const line = text.slice(from, to);
  for (const found of line.matchAll(new RegExp(INLINE))) {
    const at = from + found.index;
    nodes.push(...markedText(text, [[end, at]], spans, true));
    const [whole, ticks, code, strong, bold, , italic, link] = found;
    if (ticks) nodes.push(element("code", null, markedText(text, [[at + ticks.length, at + ticks.length + code.length]], spans, true)));
    else if (strong) nodes.push(element("strong", null, inline(text, at + 2, at + 2 + bold.length, spans)));
    else if (italic !== undefined) nodes.push(element("em", null, inline(text, at + 1, at + 1 + italic.length, spans)));
    else nodes.push(...inline(text, at + whole.indexOf("[") + 1, at + whole.indexOf("[") + 1 + link.length, spans));
    end = at + whole.length;
  }
  nodes.push(...markedText(text, [[end, to]], spans, true));
  return nodes;
}

// The words of a part on one line, without the signs of Markdown: for a glance at a text that matches nothing.
function glance(text, from, to) {
  return text.slice(from, to).split("\n").filter((line) => !isRule(line)).map((line) =>
    line.replace(/^\s*(?:#{1,6}\s+|```\w*|~~~\w*)/, "").replace(/\*\*|__|`/g, "").replace(/^\s*\|\s*|\s*\|\s*$/g, "").replace(/\s*\|\s*/g, " · "))
    .join(" ");
}

// The kept parts of a text, as longText asks for them: as Markdown where it is, else as it stands.
function readable(text, parts, spans, inner, brief) {
  if (!isMarkdown(text)) return markedText(text, parts, spans);
  if (brief) return [glance(text, parts[0]?.[0] ?? 0, parts.at(-1)?.[1] ?? 0), parts.length && parts.at(-1)[1] < text.length ? " …" : ""];
  const nodes = [];
  for (const [from, to] of lineParts(text, parts)) {
    if (from > 0) nodes.push(element("span", { class: "muted" }, "…"));
    nodes.push(...markdownBlocks(text, from, to, spans));
  }
  if (parts.length && parts.at(-1)[1] < text.length) nodes.push(element("span", { class: "muted" }, "…"));
  return nodes;
}

// Parts that begin and end with lines where these are short, so that a heading or the row of a table stays whole.
function lineParts(text, parts) {
  const near = 160;
  return merged(parts.map(([from, to]) => {
    const start = text.lastIndexOf("\n", from - 1) + 1;
    const end = text.indexOf("\n", to);
    const stop = end < 0 ? text.length : end;
    return [from - start <= near ? start : from, stop - to <= near ? stop : to];
  }), text.length);
}
