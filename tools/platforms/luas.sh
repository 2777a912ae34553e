# Functions of tools/need that put the Luas of other platforms into .tools: `arm64-luas` and `musl-luas`. Each gets a folder with `bin`,
# whose programs have the names of this machine's: a PATH that begins with it runs them in their place.

# Adds a target of the Rust compiler.
need_target() {
  rustc --print target-libdir --target "$1" 2>/dev/null | xargs -r test -d && return
  say "The target $1 of the Rust compiler is missing. Running: rustup target add $1"
  rustup target add "$1" || stop "install it with: rustup target add $1"
}

# Writes $folder/bin/NAME: write_program NAME LINE...
write_program() {
  program=$folder/bin/$1
  shift
  mkdir -p "$folder/bin"
  printf '%s\n' '#!/bin/sh' 'folder=$(cd "$(dirname "$0")/.." && pwd) || exit 1' "$@" >"$program"
  chmod +x "$program"
}

# Calls apt-get with lists and a cache of its own, in $folder, for packages of ARM64. So the system's lists stay as they are.
apt_of_arm64() {
  apt-get -qq -o "Dir::State::lists=$folder/apt/lists" -o "Dir::Cache=$folder/apt/cache" -o APT::Sandbox::User=root \
    -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Acquire::Languages=none "$@"
}

# Debian's Luas for ARM64 and the modules in C of busted, and the current LuaJIT, which is compiled. They are in .tools/arm64/root, with
# the C library, and qemu-aarch64 runs them. `cc` compiles modules in C for them.
arm64_packages='lua5.1 lua5.4 luajit liblua5.1-0 liblua5.4-0 libluajit-5.1-2 lua-filesystem lua-system lua-term
  libc6 libgcc-s1 libreadline8 libtinfo6'

# Writes the programs that run the Luas for ARM64, and `cc`. A part of Debian's headers of Lua is in the folder of this processor, which
# comes last there, because the C library's headers for this processor are in it, too.
write_arm64_programs() {
  for name in lua5.1 lua5.4 luajit luajit-rolling; do
    jit=
    [ "$name" != luajit-rolling ] || jit='export LUA_PATH="$folder/luajit/?.lua;${LUA_PATH:-;}"'
    write_program "$name" "$jit" "exec qemu-aarch64 -L \"\$folder/root\" -0 \"\$0\" \"\$folder/root/usr/bin/$name\" \"\$@\""
  done
  write_program cc 'exec aarch64-linux-gnu-gcc -idirafter "/usr/include/$(gcc -print-multiarch)" "$@"'
}

need_arm64_luas() {
  folder=$PWD/.tools/arm64
  case $("$folder/bin/luajit-rolling" -v 2>/dev/null) in
    "LuaJIT $luajit_version "*) write_arm64_programs; return ;;
  esac
  say "The Luas for ARM64 are missing: they run the specs. Unpacking Debian's packages and building LuaJIT, once, in .tools"
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/packages"
  (
    apt_of_arm64 update && cd "$folder/packages" && apt_of_arm64 download $arm64_packages && cd .. &&
      for package in packages/*.deb; do dpkg -x "$package" root || exit; done
  ) >"$folder.log" 2>&1 && (
    root=$folder
    folder=$folder/luajit
    vendor "$luajit_crate" && cp luajit_relver.txt luajit2/.relver && cd luajit2 &&
      make amalg BUILDMODE=static HOST_CC=cc CROSS=aarch64-linux-gnu- TARGET_SYS=Linux PREFIX=/usr MULTILIB=lib/aarch64-linux-gnu &&
      cp src/luajit "$root/root/usr/bin/luajit-rolling" && cp -r src/jit "$folder"
  ) >>"$folder.log" 2>&1 || {
    tail -n 20 "$folder.log" >&2
    stop 'the Luas for ARM64 could not be made'
  }
  rm -rf "$folder/apt" "$folder/packages" "$folder/luajit/source" "$folder.log"
  write_arm64_programs
  "$folder/bin/luajit-rolling" -v | grep -q "LuaJIT $luajit_version " || stop "$luajit_crate is not LuaJIT $luajit_version"
}

# Lua 5.1 for musl on ARM64, linked by Zig, in .tools/arm64-musl with the loader of Debian's package. qemu-aarch64 runs it.
need_arm64_musl_lua() {
  folder=$PWD/.tools/arm64-musl
  main=$PWD/spec/support/lua.c
  zig="$PWD/.tools/zig/bin/python -m ziglang"
  cmp -s "$main" "$folder/main.c" && return
  say "Lua 5.1 for musl on ARM64 is missing: it runs the files of a release. Building it once, in .tools"
  rm -rf "$folder"
  mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial" "$folder/bin"
  (
    apt_of_arm64 update && cd "$folder/apt" && apt_of_arm64 download musl && dpkg -x musl_*.deb "$folder/root" || exit
    root=$folder
    folder=$root/lua
    vendor "$lua_crate" && cd lua-5.1.* &&
      $zig cc -target aarch64-linux-musl -dynamic -std=gnu11 -O2 -w -DLUA_USE_POSIX -DLUA_USE_DLOPEN -rdynamic -I. -o "$root/bin/program" \
        "$main" *.c -lm -ldl
  ) >"$folder.log" 2>&1 || {
    tail -n 20 "$folder.log" >&2
    stop 'Lua 5.1 for musl on ARM64 could not be built'
  }
  rm -rf "$folder/lua" "$folder/apt" "$folder.log"
  write_program lua5.1 'exec qemu-aarch64 -L "$folder/root" -0 "$0" "$folder/bin/program" "$@"'
  cp "$main" "$folder/main.c"
}

# GCC's library that unwinds the stack, as Alpine Linux has it: $root/lib/libgcc_s.so.1. That of Debian needs glibc, so it is linked
# from the static one, whose symbols are hidden. LuaJIT tells it by `__register_frame` where machine code is. The linker would otherwise
# put a copy of that function into the program. Then the unwinder would not know the code, and an error that leaves it would end the
# process.
make_libgcc_of_musl() {
  static=$(gcc -print-file-name=libgcc_eh.a)
  nm "$static" 2>/dev/null | sed -n 's/.* T \(_Unwind_.*\|__\(de\)\{0,1\}register_frame\)$/\1/p' >"$root/lib/names"
  "$(dirname "$(rustc --print target-libdir)")/bin/llvm-objcopy" "--set-symbols-visibility=$root/lib/names=default" "$static" \
    "$root/lib/libgcc_eh.a" &&
    musl-gcc -O2 -fPIC -Wall -Wextra -Werror -shared -Wl,-soname,libgcc_s.so.1 -Wl,--eh-frame-hdr -o "$root/lib/libgcc_s.so.1" \
      tools/platforms/find_object.c -Wl,--whole-archive "$root/lib/libgcc_eh.a" -Wl,--no-whole-archive &&
    ln -s libgcc_s.so.1 "$root/lib/libgcc_s.so"
}

# Lua 5.1, Lua 5.4 and the current LuaJIT for musl, with the main program of spec/support/lua.c.
# Links the main program $main with a library of Lua, as $root/bin/NAME, and keeps the library: musl_program NAME LIBRARY
# It finds libgcc_s beside its own folder.
musl_program() {
  mkdir -p "$root/include/$1" && cp lua.h luaconf.h lualib.h lauxlib.h "$root/include/$1" && cp "$2" "$root/lib/lib$1.a" &&
    musl-gcc -std=gnu11 -O2 -I. $link '-Wl,-rpath,$ORIGIN/../lib' -o "$root/bin/$1" "$main" "$2" -lm -ldl -lgcc_s
}

# Whether LuaJIT for musl catches an error that leaves machine code: string.rep has no memory there in the 99th round. The messages are in a
# table, because LuaJIT loses what such a round assigns to a local variable.
luajit_of_musl_catches() {
  [ -x "$folder/bin/luajit" ] && "$folder/bin/luajit" -e '
    local counts, caught = {}, {}
    for i = 1, 100 do counts[i] = i == 99 and 2 ^ 31 - 100 or 10 end
    for i = 1, 100 do
      local ok, message = pcall(string.rep, "xy", counts[i])
      caught[i] = not ok and message
    end
    assert(caught[99] == "not enough memory")' 2>/dev/null
}

need_musl_luas() {
  folder=$PWD/.tools/musl
  main=$PWD/spec/support/lua.c
  cmp -s "$main" "$folder/main.c" && luajit_of_musl_catches && return
  say "The Luas for musl are missing: they run the specs. Building them once, in .tools"
  rm -rf "$folder"
  mkdir -p "$folder/lib" "$folder/bin"
  (
    root=$folder
    make_libgcc_of_musl || exit
    link="-L$root/lib -Wl,-E -Wl,--eh-frame-hdr"
    folder=$root/lua
    vendor "$lua_crate" || exit
    for name in lua5.1 lua5.4; do
      (
        # They find the modules in Lua of Debian's packages, busted among them.
        cd "lua-${name#lua}".* && sed -i 's,"/usr/local/","/usr/",' luaconf.h || exit
        musl-gcc -std=gnu11 -O2 -w -DLUA_USE_POSIX -DLUA_USE_DLOPEN -c *.c && ar rcs liblua.a *.o &&
          musl_program "$name" liblua.a
      ) || exit
    done
    folder=$root/luajit
    vendor "$luajit_crate" && cp luajit_relver.txt luajit2/.relver && cd luajit2 &&
      make amalg CC=musl-gcc BUILDMODE=static PREFIX=/usr TARGET_XLIBS='-lm -ldl -lgcc_s' TARGET_LDFLAGS="$link" && cd src &&
      musl_program luajit libluajit.a && cp -r jit "$folder"
  ) >"$folder.log" 2>&1 || {
    tail -n 20 "$folder.log" >&2
    stop 'the Luas for musl could not be built'
  }
  rm -rf "$folder"/lua "$folder"/luajit/source "$folder.log"
  mv "$folder/bin/luajit" "$folder/luajit"
  write_program luajit 'export LUA_PATH="$folder/luajit/?.lua;${LUA_PATH:-;}"' 'exec "$folder/luajit/luajit" "$@"'
  # LuaJIT raises errors through the frames of modules, and finds them by a table that musl-gcc leaves out. A part of Debian's headers of
  # Lua 5.4 is in the folder of the processor, which comes last here, because the C library's headers of glibc are there, too.
  write_program cc 'exec musl-gcc -Wl,--eh-frame-hdr -idirafter "/usr/include/$(gcc -print-multiarch)" "$@"'
  luajit_of_musl_catches || stop 'the LuaJIT for musl ends when an error leaves compiled code'
  cp "$main" "$folder/main.c"
}

# Builds Lua 5.1, Lua 5.4 and the current LuaJIT for Windows, each with the program tools/platforms/wine/host.c, in folders of
# .tools/windows. Wine of Debian 12 lacks one of the system's libraries, which Rust's programs take random numbers from.
need_windows_luas() {
  all=$PWD/.tools/windows
  sources=$PWD/tools/platforms/wine
  built="$lua_crate, $luajit_crate, $(cat "$sources/host.c" "$sources/random.c" | cksum)"
  [ "$(cat "$all/built" 2>/dev/null)" = "$built" ] && return
  say 'The Luas for Windows are missing: they run the specs under Wine. Building them once, in .tools/windows'
  mkdir -p "$all"
  cross=x86_64-w64-mingw32-
  compile="${cross}gcc -std=gnu11 -O2 -Wall -Wextra"
  (
    set -e
    folder=$all/source
    for version in 5.1.5 5.4.9; do
      target=$all/lua${version%.*} name=$(echo "lua${version%.*}" | tr -d .)
      mkdir -p "$target"
      (
        vendor "$lua_crate" && cd "lua-$version"
        ${cross}gcc -O2 -DLUA_BUILD_AS_DLL -shared -o "$target/$name.dll" *.c "-Wl,--out-implib,lib$name.a"
        $compile -I. -o "$target/host.exe" "$sources/host.c" "lib$name.a"
      )
    done
    mkdir -p "$all/luajit"
    (
      vendor "$luajit_crate" && cp luajit_relver.txt luajit2/.relver && cd luajit2/src
      make amalg HOST_CC=cc "CROSS=$cross" TARGET_SYS=Windows
      cp -r lua51.dll jit "$all/luajit"
      $compile -I. -o "$all/luajit/host.exe" "$sources/host.c" libluajit-5.1.dll.a
    )
    for lua in lua5.1 lua5.4 luajit; do
      $compile -shared -o "$all/$lua/bcryptprimitives.dll" "$sources/random.c" -ladvapi32
    done
    rm -rf "$folder"
    echo "$built" >"$all/built"
  ) >"$all.log" 2>&1 || {
    tail -n 20 "$all.log" >&2
    stop 'The Luas for Windows could not be built'
  }
  rm -f "$all.log"
}
