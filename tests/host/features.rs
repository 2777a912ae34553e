//! What the compiler says to a program whose cargo features do not fit.

use std::process::Command;

/// The errors of cargo for this crate with these features, a line for each.
fn errors_with(features: &str) -> Vec<String> {
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--locked", "--lib", "--color", "never", "--features", features])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(["--target-dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/features")])
        .output()
        .unwrap();
    let text = String::from_utf8(checked.stderr).unwrap();
    assert!(!checked.status.success(), "{text}");
    text.lines().filter(|line| line.starts_with("error")).map(str::to_owned).collect()
}

/// `mlua` knows its Lua from a feature of its own, so only this crate can miss it.
#[test]
fn a_program_that_chooses_no_lua_reads_which_there_are() {
    for features in ["host,module,mlua/lua54", "module", "vendored"] {
        let errors = errors_with(features);
        let [missing, end] = &*errors else { panic!("{features}: {errors:#?}") };
        assert!(missing.contains("`lua51`, `lua52`, `lua53`, `lua54`, `lua55` and `luajit`"), "{features}: {missing}");
        assert!(end.contains("could not compile `torch-storage`"), "{features}: {end}");
    }
}
