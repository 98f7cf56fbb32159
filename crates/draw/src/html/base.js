// Helpers for all pages: elements, numbers, the theme, the clipboard.

/**
 * A new element. Attributes are set as they are, and `on…` ones become event listeners. Strings among
 * the children become text nodes, never HTML.
 */
function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) created.addEventListener(key.slice(2), value);
    else created.setAttribute(key, value);
  }
  created.append(...children);
  return created;
}

/** A button that does not submit anything. */
function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

/** A number with three significant digits, or all digits before the point. */
function threeDigits(value) {
  if (value === 0) return "0";
  return Math.abs(value) >= 99.95 ? value.toFixed(0) : value.toPrecision(3);
}

function formatCount(value) {
  return value.toLocaleString("en");
}

const themeListeners = [];

/** Calls `listener` when colours change. */
function onThemeChange(listener) {
  themeListeners.push(listener);
}

function themeChanged() {
  for (const listener of themeListeners) listener();
}

/** Copies `text`, and says so on the button. */
async function copy(text, on) {
  const label = on.dataset.label ?? on.textContent;
  on.dataset.label = label;
  try {
    await navigator.clipboard.writeText(text);
    on.textContent = "Copied";
  } catch {
    on.textContent = copyBySelection(text) ? "Copied" : "Not copied";
  }
  setTimeout(() => (on.textContent = label), 1500);
}

/** The older way, for pages that the browser does not trust with the clipboard. */
function copyBySelection(text) {
  const area = element("textarea", { readonly: "", class: "off-screen" });
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  return copied;
}
