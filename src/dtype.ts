// Owns the 22 dtypes: their names, widths, encodings and the JavaScript array each is handed out as.
// No other file spells a dtype name; values are described here, not interpreted.

/** A class that a tensor's elements can be handed out as. */
export type TypedArrayConstructor =
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

/** Which patterns of a float are no numbers, and what its NaN carries. */
type Special =
  /** The largest exponent: infinity where the mantissa is 0, else a NaN whose mantissa is a payload. */
  | 'ieee'
  /** The same, but the payload has no meaning. */
  | 'ieee-without-payload'
  /** NaN has all bits but the sign set; there are no infinities. */
  | 'all-ones'
  /** The pattern of -0 is NaN; there are no infinities. */
  | 'negative-zero'
  /** Every pattern is a number. */
  | 'none';

/** How the bits of one element make a number. */
export type Encoding =
  | {
      readonly kind: 'float';
      readonly exponent: number;
      readonly mantissa: number;
      readonly bias: number;
      readonly special: Special;
    }
  /** 2^(bits - 127); all ones is NaN. */
  | { readonly kind: 'power-of-two' }
  /** In two's complement where it is signed. */
  | { readonly kind: 'integer'; readonly signed: boolean }
  /** False is 0. */
  | { readonly kind: 'boolean' }
  /** A float32 real part, then an imaginary one. */
  | { readonly kind: 'complex' };

const SIGNED: Encoding = { kind: 'integer', signed: true };
const UNSIGNED: Encoding = { kind: 'integer', signed: false };

/** Below the sign bit: exponent bits, mantissa bits. */
function float(exponent: number, mantissa: number, bias: number, special: Special): Encoding {
  return { kind: 'float', exponent, mantissa, bias, special };
}

interface DtypeRow {
  /** Width of one element in bits; 4 and 6 for the packed dtypes. */
  readonly bits: number;
  /** Class of `TensorView.data`. Floats that JavaScript lacks are handed out as their bits. */
  readonly array: TypedArrayConstructor;
  readonly encoding: Encoding;
  /** Name of the element type in onnxruntime, where it has one. */
  readonly ort?: string;
}

// In the order in which a writer lays tensors out: the widest first, so that each starts aligned.
const TABLE = {
  U64: { bits: 64, array: BigUint64Array, encoding: UNSIGNED, ort: 'uint64' },
  I64: { bits: 64, array: BigInt64Array, encoding: SIGNED, ort: 'int64' },
  F64: { bits: 64, array: Float64Array, encoding: float(11, 52, 1023, 'ieee'), ort: 'float64' },
  C64: { bits: 64, array: Float32Array, encoding: { kind: 'complex' } },
  F32: { bits: 32, array: Float32Array, encoding: float(8, 23, 127, 'ieee'), ort: 'float32' },
  U32: { bits: 32, array: Uint32Array, encoding: UNSIGNED, ort: 'uint32' },
  I32: { bits: 32, array: Int32Array, encoding: SIGNED, ort: 'int32' },
  BF16: { bits: 16, array: Uint16Array, encoding: float(8, 7, 127, 'ieee') },
  F16: { bits: 16, array: Uint16Array, encoding: float(5, 10, 15, 'ieee'), ort: 'float16' },
  U16: { bits: 16, array: Uint16Array, encoding: UNSIGNED, ort: 'uint16' },
  I16: { bits: 16, array: Int16Array, encoding: SIGNED, ort: 'int16' },
  F8_E5M2FNUZ: { bits: 8, array: Uint8Array, encoding: float(5, 2, 16, 'negative-zero') },
  F8_E4M3FNUZ: { bits: 8, array: Uint8Array, encoding: float(4, 3, 8, 'negative-zero') },
  F8_E8M0: { bits: 8, array: Uint8Array, encoding: { kind: 'power-of-two' } },
  F8_E4M3: { bits: 8, array: Uint8Array, encoding: float(4, 3, 7, 'all-ones') },
  F8_E5M2: { bits: 8, array: Uint8Array, encoding: float(5, 2, 15, 'ieee-without-payload') },
  I8: { bits: 8, array: Int8Array, encoding: SIGNED, ort: 'int8' },
  U8: { bits: 8, array: Uint8Array, encoding: UNSIGNED, ort: 'uint8' },
  F6_E3M2: { bits: 6, array: Uint8Array, encoding: float(3, 2, 3, 'none') },
  F6_E2M3: { bits: 6, array: Uint8Array, encoding: float(2, 3, 1, 'none') },
  F4: { bits: 4, array: Uint8Array, encoding: float(2, 1, 1, 'none') },
  BOOL: { bits: 8, array: Uint8Array, encoding: { kind: 'boolean' }, ort: 'bool' },
} as const satisfies Record<string, DtypeRow>;

/** The name of an element type, spelled as in the file. */
export type Dtype = keyof typeof TABLE;

/**
 * Class of `data` for each dtype. F16, BF16 and the F8 dtypes are bits, C64 is (re, im) pairs,
 * BOOL is one byte an element, F4 and F6 are packed, low bits first.
 */
export type DataOf<D extends Dtype> = InstanceType<(typeof TABLE)[D]['array']>;

/** The dtype's name in onnxruntime; never where it has none. */
export type OrtTypeOf<D extends Dtype> = (typeof TABLE)[D] extends { readonly ort: infer T extends string } ? T : never;

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

/** How the bits of one element make a number. */
export function encodingOf(dtype: Dtype): Encoding {
  return TABLE[dtype].encoding;
}

/** Class of the array that holds a tensor of this dtype. */
export function arrayOf<D extends Dtype>(dtype: D): TypedArrayConstructor {
  return TABLE[dtype].array;
}

/** The dtype's name in onnxruntime, or undefined. */
export function ortTypeOf(dtype: Dtype): string | undefined {
  return (TABLE[dtype] as DtypeRow).ort;
}

/** Whether each element of `data` is one number of the tensor: not for pairs and not for packed elements. */
export function hasElementPerNumber(dtype: Dtype): boolean {
  return TABLE[dtype].bits === TABLE[dtype].array.BYTES_PER_ELEMENT * 8;
}

/** The dtype's code, or -1 when it is none of the 22. */
export function dtypeCode(name: string): number {
  return DTYPES.indexOf(name as Dtype);
}

/** What the class of an array says of its elements, by its Symbol.toStringTag; `Float16Array` came with Node 24. */
const IMPLIED: ReadonlyMap<string, Dtype> = new Map<string, Dtype>([
  ['BigInt64Array', 'I64'],
  ['BigUint64Array', 'U64'],
  ['Float16Array', 'F16'],
  ['Float32Array', 'F32'],
  ['Float64Array', 'F64'],
  ['Int8Array', 'I8'],
  ['Int16Array', 'I16'],
  ['Int32Array', 'I32'],
  ['Uint8Array', 'U8'],
  ['Uint8ClampedArray', 'U8'],
  ['Uint16Array', 'U16'],
  ['Uint32Array', 'U32'],
]);

/** The dtype of numbers in an array of this class, or undefined for what is no typed array. */
export function impliedDtype(className: string): Dtype | undefined {
  return IMPLIED.get(className);
}
