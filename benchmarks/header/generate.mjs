// Makes headers as language models have them, of any number of tensors.

const LAYER = [
  ['self_attn.q_proj.weight', [4096, 4096]],
  ['self_attn.k_proj.weight', [1024, 4096]],
  ['self_attn.v_proj.weight', [1024, 4096]],
  ['self_attn.o_proj.weight', [4096, 4096]],
  ['mlp.gate_proj.weight', [14336, 4096]],
  ['mlp.up_proj.weight', [14336, 4096]],
  ['mlp.down_proj.weight', [4096, 14336]],
  ['input_layernorm.weight', [4096]],
  ['post_attention_layernorm.weight', [4096]],
];

/** A header of `count` BF16 tensors and the length of the data that it describes, in bytes. */
export function makeHeader(count) {
  const entries = [];
  let offset = 0;
  for (let i = 0; i < count; i++) {
    const [name, shape] = LAYER[i % LAYER.length];
    const layer = Math.floor(i / LAYER.length);
    const end = offset + shape.reduce((product, dim) => product * dim, 2);
    entries.push(
      `"model.layers.${layer}.${name}":{"dtype":"BF16","shape":[${shape.join(',')}],"data_offsets":[${offset},${end}]}`,
    );
    offset = end;
  }
  const text = `{"__metadata__":{"format":"pt"},${entries.join(',')}}`;
  const padded = text.padEnd(Math.ceil(text.length / 8) * 8);
  return { bytes: Buffer.from(padded), dataLength: offset };
}
