//! Linker arguments for the shared library, and an error on systems that are not supported.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match target.as_str() {
        // The library must stay loaded. When a Lua state is closed, the package library unloads its libraries first, and the
        // finalizer of an object that was made before `require` may use a storage after that.
        "linux" | "android" | "freebsd" | "netbsd" | "openbsd" => println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete"),
        // The interpreter that loads the library defines the symbols of Lua.
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup"),
        other => println!("cargo::error=torch-storage does not support the system '{other}': it needs Linux, a BSD or macOS"),
    }
}
