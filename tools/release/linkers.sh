# Functions of tools/release/make: a linker for each platform of a release. Cargo calls it as it would call a C compiler.
#
# Zig has what a program links with: the symbols of glibc 2.17, musl, and Apple's libSystem. The library has no C in it, so Zig is only a
# linker here. LuaJIT raises errors by libgcc_s and asks about our frames by its functions, so the library must use the same
# one. Zig would link its own instead, and then each error would crash LuaJIT.
zig="$PWD/.tools/zig/bin/python -m ziglang"

# The functions by which code is unwound, and since when libgcc_s has them.
unwinder_versions='GCC_3.0 DeleteException ForcedUnwind GetDataRelBase GetGR GetIP GetLanguageSpecificData GetRegionStart GetTextRelBase
  RaiseException Resume SetGR SetIP
GCC_3.3 Backtrace FindEnclosingFunction GetCFA Resume_or_Rethrow
GCC_4.2.0 GetIPInfo'
unwinder_functions=$(echo "$unwinder_versions" | tr -s ' ' '\n' | grep -v '^GCC_\|^$')

# Writes a linker for PLATFORM as $linkers/PLATFORM-cc, and what it links with.
make_linker() {
  folder=$linkers/$1
  mkdir -p "$folder"
  processor=${1%%-*}
  unwinder=-lgcc_s
  case $1 in
    *-linux-gnu)
      stub_of_libgcc
      write_linker "$1" "$zig cc -target $processor-linux-gnu.2.17"
      ;;
    *-linux-musl)
      unwinder_of_musl
      write_linker "$1" "$zig cc -target $processor-linux-musl -dynamic"
      ;;
    *-apple-darwin) write_linker_of_macos "$1" ;;
    *-windows-*) write_linker "$1" "$processor-w64-mingw32-gcc -Wl,--no-insert-timestamp" ;;
  esac
}

# A library that has nothing but the names and versions of libgcc_s, to link with: $unwinder.
stub_of_libgcc() {
  unwinder=$folder/libgcc_s.so.1
  for name in $unwinder_functions; do
    echo "void _Unwind_$name(void) {}"
  done >"$folder/stub.c"
  echo "$unwinder_versions" | tr -s ' \n' '\n' | sed 's/^GCC.*/}; & {/; /^GCC\|^}/!s/.*/_Unwind_&;/; 1s/^}; //; $s/$/ };/' >"$folder/stub.map"
  $zig cc -target "$processor-linux-gnu.2.17" -shared -nostdlib -fPIC -Wl,-soname,libgcc_s.so.1 \
    "-Wl,--version-script=$folder/stub.map" -o "$unwinder" "$folder/stub.c"
}

# tools/release/unwinder.c, and LLVM's unwinder under other names, which Rust has for musl: $unwinder.
unwinder_of_musl() {
  unwinder="$folder/unwinder.o $folder/libunwind.a"
  functions=
  : >"$folder/names"
  for name in $unwinder_functions; do
    functions="${functions}F($name) "
    echo "_Unwind_$name torch_Unwind_$name" >>"$folder/names"
  done
  $zig cc -target "$processor-linux-musl" -O2 -fPIC -Wall -Wextra "-DFUNCTIONS=$functions" -c -o "$folder/unwinder.o" tools/release/unwinder.c
  rust_tools=$(dirname "$(rustc --print target-libdir)")/bin
  "$rust_tools/rust-objcopy" --redefine-syms="$folder/names" \
    "$(rustc --print target-libdir --target "$processor-unknown-linux-musl")/self-contained/libunwind.a" "$folder/libunwind.a"
}

# Writes $linkers/PLATFORM-cc: write_linker PLATFORM COMMAND. rustc looks at the end of its name: `cc` says that it takes the arguments of a
# C compiler.
write_linker() {
  cat >"$linkers/$1-cc" <<END
#!/bin/sh
for argument in "\$@"; do
  shift
  case \$argument in
    -lgcc_s) set -- "\$@" $unwinder ;;
    *) set -- "\$@" "\$argument" ;;
  esac
done
exec $2 "\$@"
END
  chmod +x "$linkers/$1-cc"
}

# The linker for macOS is that of Rust: Zig's takes no list of symbols to export, and writes the newest macOS as the one that is needed. Zig
# has the list of Apple's functions. iconv is named by Rust's crate for C and is not used.
write_linker_of_macos() {
  rust_tools=$(dirname "$(rustc --print target-libdir)")/bin
  # The list names processors that Rust's linker does not know yet.
  sed 's/arm64e\.x1-[a-z]*//g; s/, *,/,/g; s/, *\]/ ]/g' \
    "$($zig env | sed -n 's/.*\.lib_dir = "\(.*\)",/\1/p')/libc/darwin/libSystem.tbd" >"$folder/libSystem.tbd"
  # Without it, rustc looks for Apple's own kit.
  export SDKROOT=$folder
  cat >"$linkers/$1-cc" <<END
#!/bin/sh
skip=
for argument in "\$@"; do
  shift
  if [ -n "\$skip" ]; then
    skip=
    continue
  fi
  case \$argument in
    -isysroot | -target) skip=yes ;;
    -liconv | -lc | -lm | -nodefaultlibs | -dynamiclib | -mmacosx-version-min=*) ;;
    -Wl,*)
      IFS=,
      set -- "\$@" \${argument#-Wl,}
      unset IFS
      ;;
    *) set -- "\$@" "\$argument" ;;
  esac
done
exec "$rust_tools/rust-lld" -flavor darwin -dylib -platform_version macos 11.0 11.0 "-L$folder" -install_name @rpath/core.so "\$@"
END
  chmod +x "$linkers/$1-cc"
}
