//! Reads arbitrary bytes as an npy file. That is an error, or an array whose elements are in the file and whose header can be
//! written and read again.
#![no_main]

#[allow(dead_code, reason = "the file has the properties of three formats")]
#[path = "../../tests/formats/property.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(why) = property::check_npy(data) {
        panic!("{why}");
    }
});
