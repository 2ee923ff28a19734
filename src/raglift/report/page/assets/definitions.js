// What a name means, beside it: when it is pointed at, pressed or tapped. Pressing is the browser's own popover.

const WAIT = 300;
let waiting = 0;

function beside(definition, name) {
  const { left, bottom, top } = name.getBoundingClientRect();
  const { width, height } = definition.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  definition.style.left = `${Math.max(8, Math.min(left, room - width - 8))}px`;
  definition.style.top = `${bottom + height + 12 > innerHeight ? Math.max(8, top - height - 6) : bottom + 6}px`;
}

function definitionOf(name) {
  return document.getElementById(name.getAttribute("popovertarget"));
}

document.addEventListener("toggle", (event) => {
  const definition = event.target;
  if (!definition.classList?.contains("definition") || event.newState !== "open") return;
  const names = [...document.querySelectorAll(`[popovertarget="${definition.id}"]`)];
  const name = names.find((one) => one === document.activeElement) ?? names.find((one) => one.matches(":hover"));
  if (name) beside(definition, name);
}, true);

document.addEventListener("pointerover", (event) => {
  const name = event.pointerType === "mouse" ? event.target.closest?.("button.term") : null;
  if (!name) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const definition = definitionOf(name);
    if (!definition || definition.matches(":popover-open")) return;
    definition.showPopover();
    beside(definition, name);
    name.addEventListener("pointerleave", () => definition.hidePopover(), { once: true });
  }, WAIT);
  name.addEventListener("pointerleave", () => clearTimeout(waiting), { once: true });
});

// The name of a metric, with its definition where the page has one.
function term(name) {
  const measure = name.split("@")[0];
  const known = [...document.querySelectorAll(".definition[id^='measure-']")];
  const definition = known.find((one) => one.dataset.name === measure || one.id === `measure-${measure.toLowerCase()}`);
  if (!definition) return name;
  return element("button", { type: "button", class: "term", popovertarget: definition.id }, name);
}
