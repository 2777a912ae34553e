//! Reads arbitrary bytes as an npz file. That is an error, or arrays whose elements are in the file and do not overlap.
#![no_main]

#[allow(dead_code, reason = "the file has the properties of three formats")]
#[path = "../../tests/formats/property.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(why) = property::check_npz(data) {
        panic!("{why}");
    }
});
