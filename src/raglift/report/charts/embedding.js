// Draws one chart into an element. The spec's expressions are interpreted, never compiled, so that no page needs
// `unsafe-eval`; nothing here makes a <style> element or a style attribute, so that none needs `unsafe-inline`.
const shown = new WeakMap();

function makeTooltip() {
  const box = document.createElement("div");
  box.setAttribute("role", "tooltip");
  box.className = "raglift-tooltip";
  Object.assign(box.style, {
    position: "fixed", zIndex: "1000", pointerEvents: "none", maxWidth: "min(28rem, 80vw)", padding: "6px 9px",
    borderRadius: "4px", font: "13px/1.4 system-ui, sans-serif", overflowWrap: "anywhere", whiteSpace: "pre-line",
    boxShadow: "0 1px 6px rgb(0 0 0 / 0.35)", display: "none",
  });
  return box;
}

function textOf(value) {
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([name, told]) => `${name}: ${told}`).join("\n");
}

function tooltipOf(dark) {
  const colours = dark ? { background: "#e6e9ee", color: "#15191e" } : { background: "#1c2229", color: "#ffffff" };
  let box = null;
  return (_handler, event, _item, value) => {
    if (value === null || value === undefined || value === "") {
      if (box) box.style.display = "none";
      return;
    }
    box ??= document.querySelector(".raglift-tooltip") ?? document.body.appendChild(makeTooltip());
    box.textContent = textOf(value);
    Object.assign(box.style, colours, { display: "block", left: "0", top: "0" });
    const { width, height } = box.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 6);
    const below = event.clientY + 16;
    const top = below + height > window.innerHeight ? event.clientY - height - 12 : below;
    Object.assign(box.style, { left: `${Math.max(6, left)}px`, top: `${Math.max(6, top)}px` });
  };
}

function follow(element, view) {
  let width = element.clientWidth;
  const observer = new ResizeObserver(() => {
    if (!element.clientWidth || element.clientWidth === width) return;
    width = element.clientWidth;
    view.signal("width", width).runAsync();
  });
  observer.observe(element);
  return observer;
}

// A bar that stands for a query tells which, where somebody listens.
function opening(element, view, open) {
  view.addEventListener("click", (_event, item) => item?.datum?.q && open(item.datum.q));
  view.addEventListener("mouseover", (_event, item) => { element.style.cursor = item?.datum?.q ? "pointer" : ""; });
}

window.raglift_show_chart = async (element, spec, { dark = false, open = null } = {}) => {
  shown.get(element)?.();
  const { view, finalize } = await vegaEmbed(element, spec, {
    mode: "vega-lite", renderer: "svg", actions: false, ast: true, defaultStyle: false, hover: false,
    config: dark ? CONFIG.dark : CONFIG.light, tooltip: tooltipOf(dark),
  });
  if (open) opening(element, view, open);
  const observer = spec.width === "container" ? follow(element, view) : null;
  shown.set(element, () => {
    observer?.disconnect();
    finalize();
  });
};
