// Owns the guess at what a file really is when it fails a check. Refuses to judge: the check has failed already.

/** Bytes of the file's beginning that a guess looks at. */
export const DIAGNOSIS_LENGTH = 512;

interface Signature {
  readonly magic: string;
  readonly what: string;
}

const SIGNATURES: readonly Signature[] = [
  {
    magic: 'PK\x03\x04',
    what: 'the file is a zip archive, probably a PyTorch checkpoint (.bin, .pt): convert it with safetensors.torch.save_file in Python',
  },
  {
    magic: '\x80\x02',
    what: 'the file is a Python pickle, probably an old PyTorch checkpoint: convert it with safetensors.torch.save_file in Python',
  },
  { magic: '\x80\x03', what: 'the file is a Python pickle: convert it with safetensors in Python' },
  { magic: '\x80\x04', what: 'the file is a Python pickle: convert it with safetensors in Python' },
  { magic: '\x80\x05', what: 'the file is a Python pickle: convert it with safetensors in Python' },
  { magic: 'GGUF', what: 'the file is a GGUF model (llama.cpp), another format' },
  { magic: '\x93NUMPY', what: 'the file is a NumPy array (.npy), another format' },
  { magic: '\x89HDF\r\n', what: 'the file is HDF5 (Keras .h5), another format' },
  { magic: '\x1f\x8b', what: 'the file is compressed with gzip: unpack it first' },
  { magic: '\x28\xb5\x2f\xfd', what: 'the file is compressed with zstd: unpack it first' },
];

/** What a file that failed a check probably is, from its first bytes and its length; undefined when nothing fits. */
export function diagnose(prefix: Uint8Array, byteLength: number): string | undefined {
  if (byteLength === 0) return 'the file is empty';
  const text = Buffer.from(prefix.buffer, prefix.byteOffset, prefix.byteLength).toString('latin1');
  if (text.startsWith('version https://git-lfs.github.com/spec/')) {
    const size = /\nsize (\d+)/.exec(text)?.[1];
    return `the file is a Git LFS pointer${size === undefined ? '' : ` (to ${size} bytes)`}: run git lfs pull`;
  }
  const zeros = prefix.findIndex((byte) => byte !== 0);
  if (byteLength >= 16 && (zeros < 0 || zeros >= 16)) {
    const count = zeros < 0 ? prefix.length : zeros;
    return `the first ${count} bytes are all zero: the space was reserved and the download did not fill it`;
  }
  // A length below 2^32 and an object: without this, a header of 640 bytes looks like a pickle.
  if (/^.{4}\0{4}[ \t\n\r]*\{/s.test(text)) return undefined;
  const signature = SIGNATURES.find(({ magic }) => text.startsWith(magic));
  if (signature !== undefined) return signature.what;
  const start = text.trimStart().slice(0, 200).toLowerCase();
  if (/^<(!doctype html|html|head|body)/.test(start)) {
    return 'the file is an HTML page: the download fetched a web page, often a login or an error, instead of the model';
  }
  if (start.startsWith('<?xml')) return 'the file is an XML document, often the error message of a storage service';
  if (/^\{\s*"weight_map"|^\{\s*"metadata"\s*:\s*\{\s*"total_size"/.test(start)) {
    return 'the file is the index of a sharded model: open it with openModel';
  }
  // A length can begin with the byte of a brace, but no header is long enough to fill the eighth byte.
  if (/^\{\s*["}]/.test(start) && prefix[7] !== 0) {
    return 'the file is JSON text, often the error message of a server, instead of the model';
  }
  return undefined;
}
