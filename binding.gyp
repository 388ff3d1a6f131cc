# Owns the build in a checkout: `npx node-gyp rebuild`. Refuses settings of its own; they are in native/addon.gypi.
{
  'variables': {'native': 'native'},
  'includes': ['native/addon.gypi'],
}
