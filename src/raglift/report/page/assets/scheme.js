// Light or dark: as the system has it, until the reader chooses otherwise for as long as the page is open.

const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const schemeButton = document.getElementById("scheme");

function isDark() {
  const chosen = document.documentElement.dataset.scheme;
  return chosen ? chosen === "dark" : DARK.matches;
}

function tellScheme() {
  schemeButton.textContent = isDark() ? "Light" : "Dark";
  schemeButton.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  document.dispatchEvent(new CustomEvent("scheme", { detail: { dark: isDark() } }));
}

schemeButton.addEventListener("click", () => {
  document.documentElement.dataset.scheme = isDark() ? "light" : "dark";
  tellScheme();
});
DARK.addEventListener("change", tellScheme);
schemeButton.hidden = false;
tellScheme();
