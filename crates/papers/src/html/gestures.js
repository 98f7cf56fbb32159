// What the reader does to a figure: wheel, drag, pinch, tap, keys.

/** A notch of most wheels is 100 pixels, and zooms by about a fifth. */
const WHEEL_EXPONENT = 0.002;
const MOST_WHEEL_PIXELS = 300;
const PIXELS_PER_LINE = 20;
const PAN_SHARE = 0.15;
/** A finger that moves less than this taps, in pixels. */
const TAP = 8;

class Gestures {
  constructor(view) {
    this.view = view;
    this.pointers = new Map();
    this.start = null;
    const { picture } = view;
    picture.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    picture.addEventListener("pointerdown", (event) => this.down(event));
    picture.addEventListener("pointermove", (event) => this.move(event));
    picture.addEventListener("pointerup", (event) => this.up(event));
    picture.addEventListener("pointercancel", (event) => this.up(event));
    picture.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") view.hideValues();
    });
    picture.addEventListener("dblclick", () => view.showAll());
    picture.addEventListener("keydown", (event) => this.key(event));
    picture.addEventListener("blur", () => view.hideValues());
  }

  wheel(event) {
    // Without a key the wheel scrolls the page.
    if (!(event.ctrlKey || event.metaKey || event.shiftKey || this.view.isEnlarged)) return;
    event.preventDefault();
    const inPixels = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : PIXELS_PER_LINE;
    const amount = Math.max(-MOST_WHEEL_PIXELS, Math.min((event.deltaY || event.deltaX) * inPixels, MOST_WHEEL_PIXELS));
    this.view.zoom(Math.exp(-WHEEL_EXPONENT * amount), this.view.toPicture(event.clientX, event.clientY));
  }

  down(event) {
    if (event.button !== 0) return;
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.begin();
    this.start.tap = this.pointers.size === 1;
    this.view.picture.setPointerCapture(event.pointerId);
  }

  /** Notes where the fingers and the view are, at the beginning of a movement. */
  begin() {
    const tap = false;
    this.start = { ...this.middle(), view: { ...this.view.view }, scale: this.view.scale, tap };
  }

  /** The middle of the fingers and their distance, on the screen. */
  middle() {
    const places = [...this.pointers.values()];
    const mean = (of) => places.map(of).reduce((sum, value) => sum + value, 0) / places.length;
    const [x, y] = [mean((place) => place.x), mean((place) => place.y)];
    const distance = places.length === 2 ? Math.hypot(places[0].x - places[1].x, places[0].y - places[1].y) : 0;
    return { x, y, distance };
  }

  move(event) {
    if (!this.pointers.has(event.pointerId)) {
      if (event.pointerType !== "touch") this.view.point(event.clientX, event.clientY);
      return;
    }
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const { start, view } = this;
    const now = this.middle();
    if (Math.hypot(now.x - start.x, now.y - start.y) > TAP || this.pointers.size > 1) start.tap = false;
    if (start.tap) return;
    view.picture.classList.add("dragged");
    const factor = start.distance > 0 ? now.distance / start.distance : 1;
    const width = Math.min(start.view.width / factor, view.widest);
    // What was under the middle of the fingers stays there.
    const ratio = width / start.view.width;
    const corner = view.svg.getBoundingClientRect();
    const anchor = { x: start.x - corner.left, y: start.y - corner.top };
    const moved = { x: now.x - corner.left, y: now.y - corner.top };
    const x = start.view.x + (anchor.x - moved.x * ratio) / start.scale;
    const y = start.view.y + (anchor.y - moved.y * ratio) / start.scale;
    view.show(x, y, width);
  }

  up(event) {
    if (!this.pointers.delete(event.pointerId)) return;
    const isTap = this.start?.tap && event.type === "pointerup";
    this.view.picture.classList.remove("dragged");
    if (this.pointers.size > 0) this.begin();
    else this.start = null;
    if (isTap) {
      const reach = event.pointerType === "touch" ? TOUCH_REACH : REACH;
      this.view.point(event.clientX, event.clientY, reach);
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view } = this;
    // The whole figure cannot move, so the arrows scroll the page.
    const arrows = {
      ArrowLeft: () => view.pan(-PAN_SHARE, 0),
      ArrowRight: () => view.pan(PAN_SHARE, 0),
      ArrowUp: () => view.pan(0, -PAN_SHARE),
      ArrowDown: () => view.pan(0, PAN_SHARE),
    };
    const action = {
      "+": () => view.zoom(STEP),
      "=": () => view.zoom(STEP),
      "-": () => view.zoom(1 / STEP),
      0: () => view.showAll(),
      Home: () => view.showAll(),
      n: () => view.step(1),
      p: () => view.step(-1),
      ...(view.isZoomed ? arrows : {}),
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
