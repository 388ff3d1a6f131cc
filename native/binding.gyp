# Owns how the addon is built by node-gyp: sources, compiler and linker settings.
# Refuses downloads, generated code and anything that depends on the machine it is built on.
#
# It lies here and not at the root of the package because npm runs `node-gyp rebuild` in every dependency with a
# binding.gyp at its root, "gypfile": false or not, as soon as a lock file is there: the lock file does not keep that key.
{
  'variables': {
    # node-gyp rebuild -C native --werror=true
    'werror%': 'false',
  },
  'target_defaults': {
    'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
    'defines': ['NAPI_VERSION=8', 'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS', 'NODE_ADDON_API_DISABLE_DEPRECATED'],
    # Node's own settings differ from version to version (-O3, gnu++17, gnu++20); the addon's do not.
    'cflags!': ['-O3'],
    'cflags_cc!': ['-std=gnu++17', '-std=gnu++20', '-std=gnu++1y'],
    'cflags': ['-O2', '-Wall', '-Wextra', '-fvisibility=hidden'],
    'cflags_cc': ['-std=c++17', '-fno-exceptions', '-fvisibility-inlines-hidden'],
    'conditions': [
      ['werror=="true"', {
        'cflags': ['-Werror'],
        'xcode_settings': {'OTHER_CFLAGS': ['-Werror']},
        'msvs_settings': {'VCCLCompilerTool': {'WarnAsError': 'true'}},
      }],
      ['OS=="mac"', {
        'xcode_settings': {
          'CLANG_CXX_LANGUAGE_STANDARD': 'c++17',
          'CLANG_CXX_LIBRARY': 'libc++',
          'GCC_ENABLE_CPP_EXCEPTIONS': 'NO',
          'GCC_OPTIMIZATION_LEVEL': '2',
          'GCC_SYMBOLS_PRIVATE_EXTERN': 'YES',
          'MACOSX_DEPLOYMENT_TARGET': '11.0',
          'WARNING_CFLAGS': ['-Wall', '-Wextra'],
        },
      }],
      ['OS=="win"', {
        'defines': ['NOMINMAX', 'WIN32_LEAN_AND_MEAN', '_HAS_EXCEPTIONS=0'],
        'msvs_settings': {
          'VCCLCompilerTool': {
            'ExceptionHandling': 0,
            'WarningLevel': 4,
            'AdditionalOptions': ['/std:c++17', '/utf-8'],
          },
        },
      }],
    ],
  },
  'targets': [
    {
      'target_name': 'safetensors_mmap',
      'sources': [
        'addon.cc',
        # Each kernel turns on its own instructions inside the file, so none needs flags here.
        'convert_avx2.cc',
        'convert_avx512.cc',
        'convert_binding.cc',
        'convert_dispatch.cc',
        'convert_neon.cc',
        'convert_scalar.cc',
        'gather.cc',
        'gather_binding.cc',
        'mapping_binding.cc',
      ],
      'conditions': [
        ['OS=="win"', {
          'sources': ['mapping_win32.cc'],
        }, {
          'sources': ['mapping_posix.cc'],
        }],
        ['OS=="linux"', {
          'sources': ['glibc_single_threaded.cc'],
          # Every symbol is bound at load, so that a system too old for the addon says so at once.
          'ldflags': ['-Wl,-z,relro,-z,now', '-Wl,--as-needed', '-Wl,--gc-sections'],
        }],
      ],
    },
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
