// Selected words: from what the browser marks to characters of the chunk's own text, as Python counts them.

// Code points before a place that is given in UTF-16 units.
function pointOf(text, unit) {
  let points = 0;
  for (let at = 0; at < unit; points += 1) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return points;
}

// The place of a boundary of a range in the text of an element, which holds the chunk's text and nothing else.
function unitIn(root, node, offset) {
  const before = document.createRange();
  before.selectNodeContents(root);
  before.setEnd(node, offset);
  return before.toString().length;
}

function wordsOf(node) {
  return (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement)?.closest(".chunk-text") ?? null;
}

// What is selected inside one chunk: {chunk, start, end, text}; null where nothing is.
function selectedWords(pool) {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const root = wordsOf(range.startContainer) ?? wordsOf(range.endContainer);
  if (!root) return null;
  const chunk = Number(root.closest(".card").dataset.chunk);
  const whole = pool[chunk].text;
  let from = root.contains(range.startContainer) ? unitIn(root, range.startContainer, range.startOffset) : 0;
  let to = root.contains(range.endContainer) ? unitIn(root, range.endContainer, range.endOffset) : whole.length;
  from = seam(whole, from);
  if (to < whole.length && seam(whole, to) < to) to += 1;
  const text = whole.slice(from, to);
  if (!text.trim()) return null;
  // White space around words is no part of them
  const start = from + text.length - text.trimStart().length;
  const end = to - (text.length - text.trimEnd().length);
  return { chunk, start: pointOf(whole, start), end: pointOf(whole, end), text: whole.slice(start, end) };
}
