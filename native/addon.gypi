# Owns how the addon is built by node-gyp: sources, compiler and linker settings; `native` is the way to this folder.
# Refuses downloads, generated code and anything that depends on the machine it is built on.
{
  'variables': {
    # node-gyp rebuild --werror=true
    'werror%': 'false',
  },
  'target_defaults': {
    'include_dirs': ["<!(node -p \"require('node-addon-api').include_dir\")"],
    'defines': [
      'NAPI_VERSION=8',
      'NODE_ADDON_API_DISABLE_CPP_EXCEPTIONS',
      'NODE_ADDON_API_DISABLE_DEPRECATED',
      # In a worker that is being terminated nothing can be thrown any more; that must not end the process.
      'NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
    ],
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
        '<(native)/addon.cc',
        # Each kernel turns on its own instructions inside the file, so none needs flags here.
        '<(native)/convert_avx2.cc',
        '<(native)/convert_avx512.cc',
        '<(native)/convert_binding.cc',
        '<(native)/convert_dispatch.cc',
        '<(native)/convert_neon.cc',
        '<(native)/convert_scalar.cc',
        '<(native)/floats_binding.cc',
        '<(native)/gather.cc',
        '<(native)/gather_binding.cc',
        '<(native)/large_pages_binding.cc',
        '<(native)/mapping_binding.cc',
        '<(native)/prefetch_binding.cc',
        '<(native)/residency_binding.cc',
        '<(native)/weak_binding.cc',
        '<(native)/writeback_binding.cc',
      ],
      'conditions': [
        ['OS=="win"', {
          'sources': [
            '<(native)/mapping_win32.cc',
            '<(native)/prefetch_win32.cc',
            '<(native)/reaper_win32.cc',
            '<(native)/residency_win32.cc',
          ],
        }, {
          'sources': [
            '<(native)/mapping_posix.cc',
            '<(native)/prefetch_posix.cc',
            '<(native)/reaper_posix.cc',
            '<(native)/residency_posix.cc',
          ],
        }],
        ['OS=="linux"', {
          'sources': ['<(native)/glibc_single_threaded.cc'],
          # Every symbol is bound at load, so that a system too old for the addon says so at once. Once loaded it stays: the
          # reaper's thread may outlive the worker that had it loaded.
          'ldflags': ['-Wl,-z,relro,-z,now,-z,nodelete', '-Wl,--as-needed', '-Wl,--gc-sections'],
        }],
      ],
    },
  ],
}
