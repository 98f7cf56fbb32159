// The choice between light and dark, and the light theme on paper.

let printing = false;

function setUpTheme() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const label = () => (toggle.textContent = isDark() ? "Light" : "Dark");
  const changed = () => {
    label();
    themeChanged();
  };
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    changed();
  });
  dark.addEventListener("change", changed);
  label();
  // Paper is light and narrow.
  let before;
  addEventListener("beforeprint", () => {
    printing = true;
    before = root.dataset.theme;
    root.dataset.theme = "light";
    themeChanged();
  });
  addEventListener("afterprint", () => {
    printing = false;
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
    themeChanged();
  });
}
