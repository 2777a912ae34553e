//! Linker arguments of the shared library, and a clear word on systems that it does not know.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match target.as_str() {
        // Never unloaded: an object older than `require` may use a storage in its finalizer when the state is closed, after the
        // package library has let go of its libraries.
        "linux" | "android" | "freebsd" | "netbsd" | "openbsd" => println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete"),
        // The interpreter has Lua's symbols.
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup"),
        other => println!("cargo::error=torch-storage does not know the system '{other}': it needs Linux, a BSD or macOS"),
    }
}
