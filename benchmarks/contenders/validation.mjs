// Owns what a careful program without a library checks of a header: known dtypes, sizes, neither gap nor overlap.
// Refuses to be as strict as the format: JSON.parse has already lost duplicates and digits.

const BITS = {
  ...{ BOOL: 8, U8: 8, I8: 8, F8_E4M3: 8, F8_E5M2: 8, F16: 16, BF16: 16, I16: 16, U16: 16 },
  ...{ F32: 32, I32: 32, U32: 32, F64: 64, I64: 64, U64: 64 },
};

/** Throws where tensors do not fill data of that length. */
export function validate(tensors, dataLength) {
  const ranges = [];
  for (const name of Object.keys(tensors)) {
    const { dtype, shape, data_offsets: offsets } = tensors[name];
    const bits = BITS[dtype];
    if (bits === undefined || !Array.isArray(shape) || offsets?.length !== 2) throw new Error(`bad tensor ${name}`);
    let elements = 1;
    for (const size of shape) {
      if (!Number.isSafeInteger(size) || size < 0) throw new Error(`bad shape of ${name}`);
      elements *= size;
    }
    if (!Number.isSafeInteger(elements) || offsets[1] - offsets[0] !== (elements * bits) / 8) {
      throw new Error(`bad size of ${name}`);
    }
    ranges.push(offsets);
  }
  ranges.sort((a, b) => a[0] - b[0]);
  let at = 0;
  for (const [begin, end] of ranges) {
    if (begin !== at) throw new Error('a gap or an overlap');
    at = end;
  }
  if (at !== dataLength) throw new Error('the data ends elsewhere');
}
