//! Compiles the few lines of C that give MPI's macros to Rust, and sets linker arguments.
//!
//! The environment variable `MPICC` names the compiler of the MPI library, as for `mpi-sys`.

fn main() {
    println!("cargo::rerun-if-changed=src/constants.c");
    println!("cargo::rerun-if-env-changed=MPICC");
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    cc::Build::new().compiler(compiler).file("src/constants.c").compile("torch_mpi_constants");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        // The function that ends MPI runs at the end of the process. The library must still be there.
        Ok("macos") => println!("cargo::rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup"),
        _ => println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete"),
    }
}
