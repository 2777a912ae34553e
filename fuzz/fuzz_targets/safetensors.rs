//! Reads arbitrary bytes as a safetensors file, and as an index. That is an error, or the tensors that the reference finds.
#![no_main]

#[allow(dead_code, reason = "the file has the properties of three formats")]
#[path = "../../tests/formats/property.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(why) = property::check_safetensors(data) {
        panic!("{why}");
    }
});
