// Lines of prose that were broken at a width flow together here, for whatever room there is. The characters stay as they
// are, so that places in what is shown are places in the chunk: only how the break is drawn changes.

const WIDEST = 140;
const NARROWEST = 60;
const OWN_LINE = /^(?:#{1,6}\s|[-*+•]\s|\d+[.)]\s|\d{1,4}[-:/]\d|[|>~`=]|--)/; // headings, lists, tables, code, dates
const ITEM = /^\s*(?:[-*+•]|\d+[.)])\s+/;

// Where such breaks begin in a text, and where they end.
function softBreaks(text) {
  const lines = [];
  let fenced = false;
  for (const { 0: line, index } of text.matchAll(/[^\r\n]+/g)) {
    const fence = /^\s*(?:```|~~~)/.test(line);
    const after = index + line.length;
    const prose = !fence && !fenced && !/^(?:\s*$|\s{4}|\t|[|>~`#])/.test(line);
    const indent = line.search(/\S|$/);
    // What belongs to an item of a list begins below the item's first word
    const hang = ITEM.exec(line)?.[0].length ?? (indent === lines.at(-1)?.hang ? indent : 0);
    lines.push({ line, after, next: after + (/^\r?\n/.exec(text.slice(after, after + 2))?.[0].length ?? 0), at: index, prose, indent, hang });
    if (fence) fenced = !fenced;
  }
  const width = lines.reduce((widest, { line, prose }) => (prose ? Math.max(widest, line.trimEnd().length) : widest), 0);
  if (width > WIDEST) return [];
  return lines.flatMap(({ line, after, next, prose, hang }, n) => {
    const below = lines[n + 1];
    if (!prose || !below?.prose || below.at !== next || next === after) return [];
    const words = below.line.slice(below.indent);
    if (OWN_LINE.test(words) || ![0, hang].includes(below.indent)) return [];
    const wished = line.trimEnd().length + 1 + words.search(/\s|$/);
    return line.length >= NARROWEST && wished > 0.8 * width ? [[after, next + below.indent]] : [];
  });
}

// The nodes that show a text from its beginning to its end, with these breaks drawn as spaces.
function flowing(nodes, breaks) {
  let at = 0;
  const flow = (string) => {
    const [from, to] = [at, at + string.length];
    at = to;
    const inside = breaks.map(([begin, end]) => [Math.max(begin, from), Math.min(end, to)]).filter(([begin, end]) => begin < end);
    const parts = inside.flatMap(([begin, end], n) => [
      string.slice((inside[n - 1]?.[1] ?? from) - from, begin - from),
      element("span", { class: "flows" }, string.slice(begin - from, end - from)),
    ]);
    return [...parts, string.slice((inside.at(-1)?.[1] ?? from) - from)].filter((part) => part !== "");
  };
  return nodes.flatMap((node) => {
    if (typeof node === "string") return flow(node);
    node.replaceChildren(...flow(node.textContent));
    return [node];
  });
}
