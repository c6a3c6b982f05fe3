//! Decompression with a bound on what comes out: a few bytes of input may claim petabytes.

use std::io::Read;

/// 128 MiB of window: what `zstd --ultra` writes at most without `--long`. The decoder allocates it at once.
const WINDOW_LOG_MAX: u32 = 27;

/// Unpacks a zstd frame (what follows it is not looked at), or says why not. `limit` in bytes.
pub fn zstd(bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let wrong = |error: std::io::Error| format!("zstd: {error}");
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(wrong)?.single_frame();
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(wrong)?;
    bounded(decoder, limit, "zstd")
}

/// Unpacks a zlib stream, or says why not.
pub fn zlib(bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    bounded(flate2::read::ZlibDecoder::new(bytes), limit, "zlib")
}

fn bounded(source: impl Read, limit: u64, method: &str) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    // One byte more than allowed tells "just fits" from "more".
    source
        .take(limit.saturating_add(1))
        .read_to_end(&mut out)
        .map_err(|error| format!("{method}: damaged or cut short: {error}"))?;
    if out.len() as u64 > limit {
        return Err(format!(
            "{method}: unpacks to more than {limit} bytes; --max-unpacked raises the limit if the file is trusted"
        ));
    }
    Ok(out)
}
