//! Reads arbitrary bytes as a `.t7` file. That is an error or gives a tree, which must be the same after it is written and read
//! again. The first byte of the input selects the encoding.
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
