//! Compressed answers, which are never asked for: servers and gateways send them nevertheless.
//!
//! What is read is bounded by what came: a small answer could otherwise become gigabytes, and hold up everything else meanwhile.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};

/// How many bytes of a compressed answer are read at a time: at most a thousand times as many come of them.
const STEP: usize = 256;
/// How many bytes may come of one, and how many more there may be in any case. A stream of many small frames, which repeat most
/// of their bytes, is compressed some thirty times.
pub(super) const MOST_PER_BYTE: u64 = 100;
const MOST_BEYOND: u64 = 1 << 20;

/// Reads a compressed body.
pub(super) struct Decoder {
    inner: Inner,
    /// What has come and is not read yet.
    waiting: Bytes,
    taken: u64,
    given: u64,
}

enum Inner {
    Gzip(MultiGzDecoder<Vec<u8>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

/// Why a body cannot be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// It is not of the coding, or was cut.
    Broken(io::Error),
    /// Far more comes of it than its size allows.
    TooDense,
}

impl Decoder {
    /// A decoder for what a header `content-encoding` names; `None` if it is not understood.
    pub(super) fn of(coding: &str) -> Option<Decoder> {
        let inner = match coding.trim().to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Inner::Gzip(MultiGzDecoder::new(Vec::new())),
            "deflate" => Inner::Deflate(ZlibDecoder::new(Vec::new())),
            _ => return None,
        };
        Some(Decoder { inner, waiting: Bytes::new(), taken: 0, given: 0 })
    }

    /// Takes in more of the body.
    pub(super) fn feed(&mut self, chunk: Bytes) {
        debug_assert!(self.waiting.is_empty(), "read what is there first");
        self.waiting = chunk;
    }

    /// The next piece of what has come; `None` when more has to come first.
    ///
    /// # Errors
    /// The body cannot be read further.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Unreadable> {
        while !self.waiting.is_empty() {
            let step = self.waiting.split_to(STEP.min(self.waiting.len()));
            self.taken += step.len() as u64;
            let out = self.inner.decode(&step).map_err(Unreadable::Broken)?;
            if let Some(out) = self.count(out)? {
                return Ok(Some(out));
            }
        }
        Ok(None)
    }

    /// What is left at the end of the body.
    ///
    /// # Errors
    /// It is not the end of the coding.
    pub(super) fn finish(&mut self) -> Result<Option<Bytes>, Unreadable> {
        let out = self.inner.finish().map_err(Unreadable::Broken)?;
        self.count(out)
    }

    fn count(&mut self, out: Vec<u8>) -> Result<Option<Bytes>, Unreadable> {
        self.given += out.len() as u64;
        if self.given > self.taken * MOST_PER_BYTE + MOST_BEYOND {
            return Err(Unreadable::TooDense);
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }
}

impl Inner {
    fn decode(&mut self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        Ok(match self {
            Inner::Gzip(decoder) => {
                decoder.write_all(bytes)?;
                // What it has read is given at once: a frame must not wait for the next one.
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
            Inner::Deflate(decoder) => {
                decoder.write_all(bytes)?;
                decoder.flush()?;
                std::mem::take(decoder.get_mut())
            }
        })
    }

    fn finish(&mut self) -> io::Result<Vec<u8>> {
        Ok(match self {
            Inner::Gzip(decoder) => {
                decoder.try_finish()?;
                std::mem::take(decoder.get_mut())
            }
            Inner::Deflate(decoder) => {
                decoder.try_finish()?;
                std::mem::take(decoder.get_mut())
            }
        })
    }
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").field("taken", &self.taken).field("given", &self.given).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Bytes {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().into()
    }

    fn read(coding: &str, body: Bytes) -> Result<(Vec<u8>, usize), Unreadable> {
        let mut decoder = Decoder::of(coding).unwrap();
        let (mut all, mut largest) = (Vec::new(), 0);
        decoder.feed(body);
        while let Some(piece) = decoder.next()? {
            largest = largest.max(piece.len());
            all.extend_from_slice(&piece);
        }
        all.extend(decoder.finish()?.unwrap_or_default());
        Ok((all, largest))
    }

    #[test]
    fn found_a5_an_answer_that_unpacks_to_gigabytes_is_cut_off() {
        let bomb = gzip(&vec![0; 64 << 20]);
        assert!(bomb.len() < 70_000);
        assert!(matches!(read("gzip", bomb), Err(Unreadable::TooDense)));
    }

    #[test]
    fn a_stream_of_small_frames_is_read_in_small_pieces() {
        let frames: String = (0..20_000)
            .map(|n| format!("data: {{\"id\":\"x\",\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", n * n))
            .collect();
        let (all, largest) = read("x-gzip", gzip(frames.as_bytes())).unwrap();
        assert!(all == frames.as_bytes());
        assert!(largest <= STEP * 1100);
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(frames.as_bytes()).unwrap();
        assert!(read("deflate", encoder.finish().unwrap().into()).unwrap().0 == frames.as_bytes());
        // Repeated signs of life are compressed most.
        let signs = ": keep-alive\n\n".repeat(50_000);
        assert!(read("gzip", gzip(signs.as_bytes())).unwrap().0 == signs.as_bytes());
    }

    #[test]
    fn a_body_that_is_cut_or_of_no_coding_is_broken() {
        let whole = gzip(b"data: x\n\n");
        assert!(matches!(read("gzip", whole.slice(..whole.len() - 9)), Err(Unreadable::Broken(_))));
        assert!(matches!(read("gzip", Bytes::from_static(b"data: x\n\n")), Err(Unreadable::Broken(_))));
        assert!(Decoder::of("br").is_none());
    }
}
