// Owns: the JavaScript loops that the kernels are measured against, the best that we could write, and their timing.
// Refuses: the library's own code. A child of run.mjs; prints one line of JSON for each case, GB/s of output.

const BYTES = 64 * 2 ** 20;
const ROUNDS = 9;

// Tables are faster than any arithmetic on the bits, and four elements a turn faster than one; a function for each
// dtype, because one that sees two classes of array is slower.

function f16(source, target, table) {
  for (let i = 0; i < source.length; i += 4) {
    target[i] = table[source[i]];
    target[i + 1] = table[source[i + 1]];
    target[i + 2] = table[source[i + 2]];
    target[i + 3] = table[source[i + 3]];
  }
}

function bf16(source, target) {
  for (let i = 0; i < source.length; i += 4) {
    target[i] = source[i] << 16;
    target[i + 1] = source[i + 1] << 16;
    target[i + 2] = source[i + 2] << 16;
    target[i + 3] = source[i + 3] << 16;
  }
}

function e4m3(source, target, table) {
  for (let i = 0; i < source.length; i += 4) {
    target[i] = table[source[i]];
    target[i + 1] = table[source[i + 1]];
    target[i + 2] = table[source[i + 2]];
    target[i + 3] = table[source[i + 3]];
  }
}

/** A table of some floats' bits; which ones is of no matter to its speed. */
function tableOf(length) {
  return new Uint32Array(new Float32Array(length).map((_, i) => i / length).buffer);
}

const bytes = new Uint8Array(BYTES);
let state = 1;
for (let i = 0; i < BYTES; i++) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  bytes[i] = (state >>> 24) & 0xbb;
}
const halves = new Uint16Array(bytes.buffer);
const room = new Uint32Array(BYTES);

const cases = {
  BF16: () => bf16(halves, room.subarray(0, halves.length)),
  F16: (
    (table) => () =>
      f16(halves, room.subarray(0, halves.length), table)
  )(tableOf(65536)),
  F8_E4M3: (
    (table) => () =>
      e4m3(bytes, room, table)
  )(tableOf(256)),
};

for (const [dtype, run] of Object.entries(cases)) {
  const rates = [];
  for (let round = -2; round < ROUNDS; round++) {
    const start = process.hrtime.bigint();
    run();
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    const outputBytes = dtype === 'F8_E4M3' ? BYTES * 4 : BYTES * 2;
    if (round >= 0) rates.push(outputBytes / seconds / 1e9);
  }
  rates.sort((a, b) => a - b);
  const [worst, median, best] = [rates[0], rates[ROUNDS >> 1], rates[ROUNDS - 1]];
  console.log(JSON.stringify({ case: dtype, contender: 'JavaScript', median, best, worst }));
}
