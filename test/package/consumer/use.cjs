// Owns a consumer in CommonJS, by require() of an ES module. Refuses dynamic import.
const { openSync } = require('safetensors-mmap');

const file = openSync(process.argv[2]);
const { data, shape, isView } = file.tensor('weight');
console.log(JSON.stringify({ data: [...data], shape, isView, backend: file.backend }));
file.close();
