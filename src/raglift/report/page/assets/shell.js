// Three views of one page: which of them the address names is shown. Printed, or without a script, all are.

const VIEWS = [...document.querySelectorAll("main > .view")].map((view) => view.id);
const tops = {}; // how far each view was scrolled when it was left
const listeners = {}; // what a view does when the address names it, by view

// The part of an address after #: a name, and what is asked of it.
function addressed(hash) {
  const cut = hash.indexOf("?");
  const [name, asked] = cut < 0 ? [hash.slice(1), ""] : [hash.slice(1, cut), hash.slice(cut + 1)];
  return { name, asked: new URLSearchParams(asked) };
}

function shownView() {
  return document.documentElement.dataset.view;
}

function showView(view) {
  const before = shownView();
  if (before === view) return false;
  if (before) tops[before] = window.scrollY;
  document.documentElement.dataset.view = view;
  for (const link of document.querySelectorAll("[data-view]:not(html)")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  return true;
}

function follow() {
  const { name: said, asked } = addressed(location.hash);
  const name = said || VIEWS[0];
  if (VIEWS.includes(name)) {
    const changed = showView(name);
    if (changed) window.scrollTo(0, [...asked].length ? 0 : tops[name] ?? 0);
    listeners[name]?.(asked, changed);
    return;
  }
  const place = document.getElementById(name);
  const view = place?.closest("main > .view");
  if (!view) {
    if (!shownView()) showView(VIEWS[0]);
    return;
  }
  showView(view.id);
  for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  place.querySelector(":scope > details")?.setAttribute("open", "");
  place.scrollIntoView();
  listeners[view.id]?.(new URLSearchParams(), true);
}

addEventListener("hashchange", follow);
follow();
