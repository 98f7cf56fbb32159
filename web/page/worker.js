// Explains a capture apart from the page, so that the page stays alive. It has one task in its life.

import { demo, explain, initSync } from "./recoup.js";

/** Bytes of the file that are read at once. */
const BLOCK = 1 << 22;

/** The least time between two messages about progress, in ms. */
const INTERVAL = 100;

/** What the program needs of the browser. */
class Host {
  #file;
  #reader = new FileReaderSync();
  #block = new Uint8Array();
  #blockStart = 0;
  #taken = 0;
  #reading = 1;
  #told = 0;

  /** The message of a defect that ended the program. */
  defect;

  constructor(file) {
    this.#file = file;
  }

  read(offset, into) {
    let at = offset - this.#blockStart;
    if (at < 0 || at >= this.#block.length) {
      this.#block = this.#load(offset);
      this.#blockStart = offset;
      at = 0;
    }
    const bytes = this.#block.subarray(at, at + into.length);
    into.set(bytes);
    return bytes.length;
  }

  #load(offset) {
    try {
      return new Uint8Array(this.#reader.readAsArrayBuffer(this.#file.slice(offset, offset + BLOCK)));
    } catch (error) {
      // The program puts the text of an error into its own.
      throw error.message;
    }
  }

  bytesRead(bytes) {
    if (bytes < this.#taken) this.#reading = 2;
    this.#taken = bytes;
    this.#tell({ reading: this.#reading, bytes });
  }

  rerun(rerun, of) {
    this.#tell({ rerun, of });
  }

  panicked(message) {
    this.defect = message;
  }

  #tell(progress) {
    const now = performance.now();
    if (now - this.#told < INTERVAL) return;
    this.#told = now;
    postMessage(progress);
  }
}

/** Why there is no report, in a sentence. */
function sentence(error, defect) {
  if (typeof error === "string") return error;
  if (defect) return `The analysis ended by a defect of Recoup: ${defect}`;
  if (error instanceof WebAssembly.RuntimeError) {
    return "The browser has too little memory to explain this capture. The program recoup may use more.";
  }
  return `The analysis ended: ${error.message}`;
}

addEventListener("message", ({ data: { program, file } }) => {
  const host = new Host(file);
  try {
    const { memory } = initSync({ module: program });
    const html = file ? explain(host, file.name) : demo(host);
    postMessage({ html, memory: memory.buffer.byteLength });
  } catch (error) {
    postMessage({ error: sentence(error, host.defect) });
  }
});
