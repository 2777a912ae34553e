//! Linker arguments for the shared library, and errors for features and systems that do not fit.

// `mlua-sys` asks for a Lua too. It has one if only `mlua` was told which. An error here is the only one: the library is not compiled.
#[cfg(all(
    any(feature = "lua", feature = "module", feature = "vendored"),
    not(any(feature = "lua51", feature = "lua52", feature = "lua53", feature = "lua54", feature = "lua55", feature = "luajit"))
))]
compile_error!(
    "torch-storage has to know its Lua: choose one of its features `lua51`, `lua52`, `lua53`, `lua54`, `lua55` and `luajit`, the same \
     as of mlua, as in features = [\"host\", \"lua54\"]"
);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match target.as_str() {
        // The library must stay loaded. When a Lua state is closed, the package library unloads its libraries first, and the
        // finalizer of an object that was made before `require` may use a storage after that.
        "linux" | "android" | "freebsd" | "netbsd" | "openbsd" => println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete"),
        // The interpreter that loads the library defines the symbols of Lua.
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup"),
        // `mlua-sys` imports Lua's functions from `lua51.dll` or `lua54.dll`, for example, or from the one that LUA_LIB_NAME names.
        "windows" => {}
        other => {
            println!("cargo::error=torch-storage does not support the system '{other}': it needs Linux, a BSD, macOS or Windows")
        }
    }
}
