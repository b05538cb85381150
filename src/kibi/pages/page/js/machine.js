// The model's own C code as WebAssembly: the same functions that a program on the device calls.

import { sha256 } from "./sha256.js";

const PAGE = 65536;
const MORE_INPUT = 1;
const VIEWS = {
  int8: Int8Array, uint8: Uint8Array, int16: Int16Array, int32: Int32Array, uint32: Uint32Array,
  int64: BigInt64Array, uint64: BigUint64Array, float32: Float32Array, bool: Uint8Array,
};

/** Bytes from base64. */
export function decoded(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** An empty array for an input or output, in the elements of its type. */
export function emptyFor(end) {
  const kind = VIEWS[end.type];
  return new kind(end.size_bytes / kind.BYTES_PER_ELEMENT);
}

/** A model that runs in this page. */
export class Machine {
  /** Compiles the module, and gives the model its memory. */
  static async start(run) {
    const { instance } = await WebAssembly.instantiate(decoded(run.wasm), {});
    return new Machine(run, instance.exports);
  }

  constructor(run, exports) {
    this.run = run;
    this.exports = exports;
    this.state = align(exports.__heap_base.value, 16);
    const arena = align(this.state + run.state_bytes, run.arena_alignment);
    const end = arena + run.arena_bytes;
    const missing = Math.ceil((end - exports.memory.buffer.byteLength) / PAGE);
    if (missing > 0) exports.memory.grow(missing);
    this.check("init", this.call("init", arena, run.arena_bytes));
  }

  call(name, ...words) {
    return this.exports[`${this.run.prefix}_${name}`](this.state, ...words);
  }

  check(name, status) {
    if (status !== 0 && status !== MORE_INPUT) throw new Error(`${this.run.prefix}_${name} returned ${status}`);
    return status === 0;
  }

  /** Gives variables their first values. */
  reset() {
    if (this.run.has_variables) this.call("reset");
  }

  /** One inference. Takes and gives bytes for each input and output; without outputs the model waits for more input. */
  infer(inputs) {
    inputs.forEach((bytes, number) => this.bytes("input", number, bytes.length).set(bytes));
    if (!this.check("invoke", this.call("invoke"))) return [];
    return this.run.outputs.map((end, number) => this.bytes("output", number, end.size_bytes).slice());
  }

  bytes(name, number, length) {
    return new Uint8Array(this.exports.memory.buffer, this.call(name, number), length);
  }

  /** Runs the golden input. Gives the digest of the answer, and the milliseconds of one inference. */
  golden() {
    const inputs = this.run.golden.inputs.map(decoded);
    this.reset();
    let outputs = [];
    const begin = performance.now();
    for (let k = 0; k < this.run.golden.runs; k += 1) outputs = this.infer(inputs);
    const milliseconds = (performance.now() - begin) / this.run.golden.runs;
    this.reset();
    return { digest: digestOf(outputs), milliseconds };
  }
}

function align(address, unit) {
  return Math.ceil(address / unit) * unit;
}

function digestOf(outputs) {
  const all = new Uint8Array(outputs.reduce((sum, each) => sum + each.length, 0));
  outputs.reduce((place, each) => {
    all.set(each, place);
    return place + each.length;
  }, 0);
  return sha256(all);
}
