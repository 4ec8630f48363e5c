//! Compresses the lexicons, which are more than half a megabyte of text of which a program reads one
//! language or two.

use std::path::Path;
use std::{env, fs, io};

const LANGUAGES: [&str; 8] = ["ar", "de", "es", "fr", "he", "pt", "ru", "zh"];

fn main() -> io::Result<()> {
    let target = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    for language in LANGUAGES {
        let source = format!("src/data/{language}.tsv");
        println!("cargo:rerun-if-changed={source}");
        let packed = miniz_oxide::deflate::compress_to_vec(&fs::read(&source)?, 10);
        fs::write(Path::new(&target).join(language), packed)?;
    }
    Ok(())
}
