//! Compresses the vocabulary of the built-in models, a text of which the program needs one copy.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_BUILT_IN_MODEL").is_none() {
        return Ok(());
    }
    let source = "../../models/static/uncased-vocab.txt";
    println!("cargo:rerun-if-changed={source}");
    let target = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let packed = miniz_oxide::deflate::compress_to_vec(&fs::read(source)?, 10);
    fs::write(Path::new(&target).join("vocabulary"), packed)
}
