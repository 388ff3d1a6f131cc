// Owns a consumer in TypeScript that is CommonJS. It is only type-checked, with the declarations checked too.
import safetensors = require('safetensors-mmap');

export function names(path: string): string[] {
  const file: safetensors.SafeTensors = safetensors.openSync(path);
  return [...file.keys()];
}
