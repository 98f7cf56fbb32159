// A figure that the reader can zoom, pan, and ask for its values.

const MOST_ZOOM = 40;
const STEP = 1.5;
/** A figure is tall if its height is this multiple of its width. */
const TALL = 0.9;
/** A mark answers when the pointer is this near, in pixels of the screen. */
const REACH = 24;
const TOUCH_REACH = 40;

class FigureView {
  constructor(figure) {
    this.figure = figure;
    this.picture = figure.querySelector(".picture");
    this.svg = this.picture.querySelector("svg");
    const [, , width, height] = this.svg.getAttribute("viewBox").split(" ").map(Number);
    this.full = { width, height };
    this.view = { x: 0, y: 0, width, height };
    this.marks = null;
    this.current = -1;
    this.tooltip = element("div", { class: "tooltip", hidden: "", "aria-live": "polite" });
    this.buttons = this.makeButtons();
    figure.append(this.tooltip, this.buttons);
    this.picture.classList.add("live");
    // A figure that fits the window stays beside its claims; a higher one would hide its foot.
    if (this.full.height < TALL * this.full.width) figure.parentNode.classList.add("sticky");
    this.picture.setAttribute("tabindex", "0");
    this.picture.setAttribute("role", "group");
    this.picture.setAttribute("aria-label", "Figure. Keys: + and − zoom, arrows pan, 0 shows everything, n and p go through the values.");
    new Gestures(this);
    addEventListener("resize", () => {
      if (this.isEnlarged) this.showAll();
    });
    this.apply();
  }

  makeButtons() {
    const named = (label, name, action) => button(label, action, { "aria-label": name, title: name });
    this.out = named("−", "Zoom out", () => this.zoom(1 / STEP));
    this.reset = button("Reset", () => this.showAll(), { title: "Show the whole figure" });
    this.enlarge = button("Enlarge", () => this.toggleDialog(), { title: "Fill the window with the figure" });
    return element(
      "div",
      { class: "buttons", role: "group", "aria-label": "Zoom" },
      named("+", "Zoom in", () => this.zoom(STEP)),
      this.out,
      this.reset,
      this.enlarge,
    );
  }

  get isEnlarged() {
    return Boolean(this.dialog?.open);
  }

  /** The height of what is visible, as a multiple of its width. */
  get ratio() {
    const { clientWidth: width, clientHeight: height } = this.svg;
    return this.isEnlarged && width > 0 ? height / width : this.full.height / this.full.width;
  }

  /** The width of a view that has the whole picture. */
  get widest() {
    return Math.max(this.full.width, this.full.height / this.ratio);
  }

  /** The width of the first view in the dialog: the whole picture, or as much as keeps text in its size. */
  get readable() {
    return Math.min(this.svg.clientWidth, this.widest);
  }

  get isZoomed() {
    return this.view.width < 0.999 * this.widest;
  }

  /** A place on the screen in the picture's units. */
  toPicture(clientX, clientY) {
    const matrix = this.svg.getScreenCTM().inverse();
    return { x: clientX * matrix.a + matrix.e, y: clientY * matrix.d + matrix.f };
  }

  /** Pixels of the screen per unit of the picture. */
  get scale() {
    return this.svg.getScreenCTM().a;
  }

  /** Shows the part of the picture from a corner on. What is wider or higher than the picture has it in its middle. */
  show(x, y, width) {
    const { full } = this;
    const shown = Math.min(Math.max(width, full.width / MOST_ZOOM), this.widest);
    const height = shown * this.ratio;
    const within = (at, size, whole) => (size < whole ? Math.min(Math.max(at, 0), whole - size) : (whole - size) / 2);
    this.view = { x: within(x, shown, full.width), y: within(y, height, full.height), width: shown, height };
    this.apply();
  }

  apply() {
    const { x, y, width, height } = this.view;
    this.svg.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    this.picture.classList.toggle("zoomed", this.isZoomed);
    this.reset.disabled = this.out.disabled = !this.isZoomed;
    this.hideValues();
  }

  showAll() {
    this.show(0, 0, this.widest);
  }

  /** Zooms in by a factor; what is at `at` stays there. */
  zoom(factor, at = this.centre()) {
    const { view, full } = this;
    const width = Math.min(Math.max(view.width / factor, full.width / MOST_ZOOM), this.widest);
    const share = width / view.width;
    this.show(at.x - (at.x - view.x) * share, at.y - (at.y - view.y) * share, width);
  }

  centre() {
    const { x, y, width, height } = this.view;
    return { x: x + width / 2, y: y + height / 2 };
  }

  /** Moves by shares of what is visible. */
  pan(right, down) {
    const { x, y, width, height } = this.view;
    this.show(x + right * width, y + down * height, width);
  }

  allMarks() {
    this.marks ??= marksOf(this.svg);
    return this.marks;
  }

  /** Shows the values nearest to a place on the screen. */
  point(clientX, clientY, reach = REACH) {
    const marks = this.allMarks();
    const mark = nearestMark(marks, this.toPicture(clientX, clientY), reach / this.scale);
    if (mark) this.showValues(mark);
    else this.hideValues();
  }

  /** Shows the values of the next mark, or of the one before. */
  step(by) {
    const marks = this.allMarks();
    if (marks.length === 0) return;
    this.current = (this.current + by + marks.length) % marks.length;
    const mark = marks[this.current];
    if (this.isZoomed) {
      const { width, height } = this.view;
      this.show((mark.left + mark.right - width) / 2, (mark.top + mark.bottom - height) / 2, width);
    }
    this.showValues(mark);
  }

  showValues(mark) {
    this.current = this.marks.indexOf(mark);
    const [first, ...rest] = mark.lines;
    this.tooltip.replaceChildren(element("strong", {}, first), ...rest.map((line) => element("span", {}, line)));
    this.tooltip.hidden = false;
    this.highlight(mark);
    this.place(mark);
  }

  /** Puts the tooltip above the mark, or below it where there is no room. */
  place(mark) {
    const matrix = this.svg.getScreenCTM();
    const box = this.figure.getBoundingClientRect();
    const middle = ((mark.left + mark.right) / 2) * matrix.a + matrix.e - box.left;
    const top = mark.top * matrix.d + matrix.f - box.top;
    const bottom = mark.bottom * matrix.d + matrix.f - box.top;
    const { offsetWidth: width, offsetHeight: height } = this.tooltip;
    const GAP = 10;
    const left = Math.min(Math.max(middle - width / 2, 0), box.width - width);
    this.tooltip.style.left = `${left}px`;
    this.tooltip.style.top = `${top - height - GAP >= 0 ? top - height - GAP : bottom + GAP}px`;
  }

  highlight(mark) {
    this.ring?.remove();
    const margin = 3 / this.scale;
    this.ring = document.createElementNS(SVG, "rect");
    const isPoint = mark.right - mark.left + mark.bottom - mark.top < margin;
    const around = isPoint ? 2 * margin : margin;
    const attributes = {
      class: "highlight",
      x: mark.left - around,
      y: mark.top - around,
      width: mark.right - mark.left + 2 * around,
      height: mark.bottom - mark.top + 2 * around,
      rx: isPoint ? around : margin,
    };
    for (const [name, value] of Object.entries(attributes)) this.ring.setAttribute(name, value);
    this.svg.append(this.ring);
  }

  hideValues() {
    this.tooltip.hidden = true;
    this.ring?.remove();
    this.ring = null;
  }

  /** Moves the figure into a dialog as large as the window, or back. */
  toggleDialog() {
    if (this.isEnlarged) {
      this.dialog.close();
      return;
    }
    const place = document.createComment("figure");
    this.figure.replaceWith(place);
    this.dialog = element("dialog", { "aria-label": "Enlarged figure" }, this.figure);
    this.dialog.addEventListener("close", () => {
      place.replaceWith(this.figure);
      this.dialog.remove();
      this.enlarge.textContent = "Enlarge";
      this.showAll();
      this.enlarge.focus();
    });
    document.body.append(this.dialog);
    this.enlarge.textContent = "Close";
    this.dialog.showModal();
    this.show(0, 0, this.readable);
    this.picture.focus();
  }
}
