#![no_main]

#[path = "../../tests/it/fuzz/bodies.rs"]
#[allow(dead_code)]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::configuration(data));
