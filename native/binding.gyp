# Owns the build from within an installed package: `npx node-gyp rebuild -C native`. Refuses settings of its own.
# The one at the root is not published: npm runs node-gyp in every dependency with a binding.gyp at its root, "gypfile":
# false or not, as soon as a lock file is there: the lock file does not keep that key.
{
  'variables': {'native': '.'},
  'includes': ['addon.gypi'],
  'targets': [
    {
      # Where the loader looks.
      'target_name': 'place',
      'type': 'none',
      'dependencies': ['safetensors_mmap'],
      'copies': [{
        'files': ['<(PRODUCT_DIR)/safetensors_mmap.node'],
        'destination': '<(module_root_dir)/../build/Release',
      }],
    },
  ],
}
