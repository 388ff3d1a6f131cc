// Owns a consumer in ECMAScript modules. Refuses anything but the installed package.
import { open } from 'safetensors-mmap';

const file = await open(process.argv[2]);
const { data, shape, isView } = file.tensor('weight');
console.log(JSON.stringify({ data: [...data], shape, isView, backend: file.backend }));
file.close();
