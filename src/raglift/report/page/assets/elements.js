// Making elements. What is shown of a corpus becomes text nodes and attribute values, never markup.

const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const made = name.startsWith("svg:")
    ? document.createElementNS(SVG, name.slice(4))
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function button(label, onclick, attributes) {
  return element("button", { type: "button", class: "quiet", onclick, ...attributes }, label);
}

// A labelled choice: options are pairs of a value and what it is called.
function choice(label, id, options, onchange) {
  const select = element("select", { id, onchange: () => onchange(select.value) });
  setOptions(select, options);
  return element("div", { class: "choice" }, element("label", { for: id }, label), select);
}

function setOptions(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, title]) => element("option", { value }, title)));
  if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
}
