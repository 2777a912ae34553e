//! Any bytes as a `.t7` file: an error, or a tree that is the same after writing and reading. The first byte selects the encoding.
#![no_main]

#[path = "../../tests/t7/property.rs"]
mod property;
#[allow(dead_code, reason = "the tests make trees by hand, too")]
#[path = "../../tests/t7/tree/mod.rs"]
mod tree;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(why) = property::check(data) {
        panic!("{why}");
    }
});
