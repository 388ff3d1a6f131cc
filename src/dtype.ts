// Owns the 22 dtypes: their names, widths and the JavaScript array each is handed out as.
// No other file spells a dtype name; values are not interpreted here.

type TypedArrayConstructor =
  | BigInt64ArrayConstructor
  | BigUint64ArrayConstructor
  | Float32ArrayConstructor
  | Float64ArrayConstructor
  | Int8ArrayConstructor
  | Int16ArrayConstructor
  | Int32ArrayConstructor
  | Uint8ArrayConstructor
  | Uint16ArrayConstructor
  | Uint32ArrayConstructor;

interface DtypeRow {
  /** Width of one element in bits; 4 and 6 for the packed dtypes. */
  readonly bits: number;
  /** Class of `TensorView.data`. Floats that JavaScript lacks are handed out as their bits. */
  readonly array: TypedArrayConstructor;
}

// In the order in which a writer lays tensors out: the widest first, so that each starts aligned.
const TABLE = {
  U64: { bits: 64, array: BigUint64Array },
  I64: { bits: 64, array: BigInt64Array },
  F64: { bits: 64, array: Float64Array },
  C64: { bits: 64, array: Float32Array },
  F32: { bits: 32, array: Float32Array },
  U32: { bits: 32, array: Uint32Array },
  I32: { bits: 32, array: Int32Array },
  BF16: { bits: 16, array: Uint16Array },
  F16: { bits: 16, array: Uint16Array },
  U16: { bits: 16, array: Uint16Array },
  I16: { bits: 16, array: Int16Array },
  F8_E5M2FNUZ: { bits: 8, array: Uint8Array },
  F8_E4M3FNUZ: { bits: 8, array: Uint8Array },
  F8_E8M0: { bits: 8, array: Uint8Array },
  F8_E4M3: { bits: 8, array: Uint8Array },
  F8_E5M2: { bits: 8, array: Uint8Array },
  I8: { bits: 8, array: Int8Array },
  U8: { bits: 8, array: Uint8Array },
  F6_E3M2: { bits: 6, array: Uint8Array },
  F6_E2M3: { bits: 6, array: Uint8Array },
  F4: { bits: 4, array: Uint8Array },
  BOOL: { bits: 8, array: Uint8Array },
} as const satisfies Record<string, DtypeRow>;

/** The name of an element type, spelled as in the file. */
export type Dtype = keyof typeof TABLE;

/**
 * Class of `data` for each dtype. F16, BF16 and the F8 dtypes are bits, C64 is (re, im) pairs,
 * BOOL is one byte an element, F4 and F6 are packed, low bits first.
 */
export type DataOf<D extends Dtype> = InstanceType<(typeof TABLE)[D]['array']>;

/** Any array that `TensorView.data` can be. */
export type TensorData = DataOf<Dtype>;

/** All dtypes in the writer's order; the position is the dtype's code in the header's columns. */
export const DTYPES: readonly Dtype[] = Object.freeze(Object.keys(TABLE) as Dtype[]);

/** Bits of one element, by dtype code. */
export const DTYPE_BITS: readonly number[] = DTYPES.map((dtype) => TABLE[dtype].bits);

/** Bits of one element: 64, 32, 16, 8, 6 or 4. */
export function bitsOf(dtype: Dtype): number {
  return TABLE[dtype].bits;
}

/** Class of the array that holds a tensor of this dtype. */
export function arrayOf<D extends Dtype>(dtype: D): TypedArrayConstructor {
  return TABLE[dtype].array;
}

/** The dtype's code, or -1 when it is none of the 22. */
export function dtypeCode(name: string): number {
  return DTYPES.indexOf(name as Dtype);
}
