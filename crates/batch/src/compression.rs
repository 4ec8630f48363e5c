//! Compression of a whole text.

use std::io::{self, Read, Write};

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::format::Compression;

pub(crate) fn decompress(
    from: Box<dyn Read + Send>,
    compression: Compression,
) -> io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Compression::None => from,
        Compression::Gzip => Box::new(MultiGzDecoder::new(from)),
        #[cfg(feature = "arrow")]
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::new(from)?),
        #[cfg(not(feature = "arrow"))]
        Compression::Zstd => return Err(no_zstd()),
    })
}

/// Compresses what is written to it. Without [`Compressor::finish`] the output is truncated.
pub(crate) enum Compressor<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    #[cfg(feature = "arrow")]
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write> Compressor<W> {
    pub fn new(to: W, compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain(to),
            Compression::Gzip => Self::Gzip(GzEncoder::new(to, flate2::Compression::default())),
            #[cfg(feature = "arrow")]
            Compression::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(to, 0)?),
            #[cfg(not(feature = "arrow"))]
            Compression::Zstd => return Err(no_zstd()),
        })
    }

    pub fn finish(self) -> io::Result<()> {
        let mut to = match self {
            Self::Plain(to) => to,
            Self::Gzip(packer) => packer.finish()?,
            #[cfg(feature = "arrow")]
            Self::Zstd(packer) => packer.finish()?,
        };
        to.flush()
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(to) => to.write(bytes),
            Self::Gzip(packer) => packer.write(bytes),
            #[cfg(feature = "arrow")]
            Self::Zstd(packer) => packer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(to) => to.flush(),
            Self::Gzip(packer) => packer.flush(),
            #[cfg(feature = "arrow")]
            Self::Zstd(packer) => packer.flush(),
        }
    }
}

#[cfg(not(feature = "arrow"))]
fn no_zstd() -> io::Error {
    io::Error::other("this program was built without zstd; build it with the feature `arrow`")
}
