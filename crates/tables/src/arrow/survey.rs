//! Counts the rows of a stream of record batches, and the memory that the largest one takes, from the
//! headers of its messages.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{Message, MessageHeader, RecordBatch, root_as_footer, root_as_message};

use super::{BATCH_BYTES_MAX, CONTINUATION};

/// Bytes of the longest header: a schema of 100,000 columns has some MiB.
const HEADER_BYTES_MAX: usize = 64 << 20;

/// Findings in the headers of the messages.
pub(super) struct HeaderSummary {
    pub(super) rows: u64,
    /// Bytes of the dictionaries, with what they decompress to: they stay in memory.
    dictionary_bytes: u64,
    /// Bytes of the largest record batch, likewise.
    batch_bytes: u64,
}

impl HeaderSummary {
    const NOTHING: HeaderSummary = HeaderSummary { rows: 0, dictionary_bytes: 0, batch_bytes: 0 };

    /// Bytes that are in memory at once.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.dictionary_bytes.saturating_add(self.batch_bytes)
    }

    /// Adds a message whose header was read last of `input`, and skips its body.
    fn add(&mut self, header: &[u8], input: &mut impl Read) -> Result<MessageHeader, String> {
        let message = root_as_message(header).map_err(|error| error.to_string())?;
        let body = u64::try_from(message.bodyLength()).map_err(|_| "a negative length")?;
        let kind = message.header_type();
        let batch = match kind {
            MessageHeader::Schema => None,
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or("a batch without a header")?;
                let rows = u64::try_from(batch.length()).map_err(|_| "a negative length")?;
                self.rows = self.rows.checked_add(rows).ok_or("too many rows")?;
                Some(batch)
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch();
                Some(batch.and_then(|batch| batch.data()).ok_or("a dictionary without values")?)
            }
            _ => return Err("a message that is no part of a table".to_owned()),
        };
        let decompressed = match batch.filter(|batch| batch.compression().is_some()) {
            Some(batch) => skip_compressed(input, &message, batch)?,
            None => {
                skip(input, body)?;
                0
            }
        };
        let bytes = body.saturating_add(decompressed);
        if bytes > BATCH_BYTES_MAX {
            return Err(format!(
                "a record batch of {} MiB, which has to be in memory at once: write batches of fewer \
                 rows",
                bytes >> 20
            ));
        }
        match kind {
            MessageHeader::DictionaryBatch => self.dictionary_bytes += bytes,
            _ => self.batch_bytes = self.batch_bytes.max(bytes),
        }
        Ok(kind)
    }
}

/// Reads the headers of a stream.
pub(super) fn stream(input: &mut impl Read) -> Result<HeaderSummary, String> {
    let mut found = HeaderSummary::NOTHING;
    let mut has_schema = false;
    loop {
        match next_header(input)? {
            NextHeader::Message(header) => {
                has_schema |= found.add(&header, input)? == MessageHeader::Schema;
            }
            NextHeader::End => break,
            // Allowed by the format, but so ends what was cut between two batches.
            NextHeader::Nothing if has_schema => {
                return Err(
                    "it ends without its end mark, as a stream that was cut does".to_owned()
                );
            }
            NextHeader::Nothing => break,
        }
    }
    match has_schema {
        true => Ok(found),
        false => Err("it has no schema".to_owned()),
    }
}

/// Reads the headers of a file, which its footer names.
pub(super) fn file(input: &mut (impl Read + Seek)) -> Result<HeaderSummary, String> {
    let early = |_| "it ends too early".to_owned();
    let length_bytes = input.seek(SeekFrom::End(0)).map_err(early)?;
    input.seek(SeekFrom::End(-10)).map_err(early)?;
    let mut end = [0; 10];
    input.read_exact(&mut end).map_err(early)?;
    let length = read_footer_length(end).map_err(|error| error.to_string())?;
    if length > HEADER_BYTES_MAX {
        return Err(format!("a footer of {length} bytes"));
    }
    input.seek(SeekFrom::End(-10 - length as i64)).map_err(early)?;
    let mut footer = vec![0; length];
    input.read_exact(&mut footer).map_err(early)?;
    let footer = root_as_footer(&footer).map_err(|error| error.to_string())?;
    let mut found = HeaderSummary::NOTHING;
    let blocks = [footer.dictionaries(), footer.recordBatches()];
    for block in blocks.into_iter().flatten().flatten() {
        let number = |number: i64| u64::try_from(number).map_err(|_| "a negative length");
        let (offset, body) = (number(block.offset())?, number(block.bodyLength())?);
        let bytes = number(block.metaDataLength().into())?.saturating_add(body);
        if offset.saturating_add(bytes) > length_bytes || bytes > BATCH_BYTES_MAX {
            return Err("a record batch beyond its end".to_owned());
        }
        input.seek(SeekFrom::Start(offset)).map_err(early)?;
        let NextHeader::Message(header) = next_header(input)? else {
            return Err("it ends too early".to_owned());
        };
        // The library finds the body by the footer.
        let after = input.stream_position().map_err(early)?;
        if after != offset + bytes - body {
            return Err("a footer that contradicts its messages".to_owned());
        }
        found.add(&header, input)?;
    }
    Ok(found)
}

/// The next message of a stream, or how the stream ends.
enum NextHeader {
    Message(Vec<u8>),
    /// The mark of the end.
    End,
    /// No bytes any more.
    Nothing,
}

fn next_header(input: &mut impl Read) -> Result<NextHeader, String> {
    let mut word = [0; 4];
    if !read_or_end(input, &mut word)? {
        return Ok(NextHeader::Nothing);
    }
    // Streams of before version 0.15 have no such mark.
    if word == CONTINUATION {
        input.read_exact(&mut word).map_err(|_| "it ends too early")?;
    }
    let length = i32::from_le_bytes(word);
    match usize::try_from(length) {
        Ok(0) => Ok(NextHeader::End),
        Ok(length) if length <= HEADER_BYTES_MAX => {
            let mut header = Vec::new();
            let read = input.take(length as u64).read_to_end(&mut header);
            match read {
                Ok(read) if read == length => Ok(NextHeader::Message(header)),
                _ => Err("it ends too early".to_owned()),
            }
        }
        _ => Err(format!("a header of {length} bytes")),
    }
}

fn read_or_end(input: &mut impl Read, word: &mut [u8; 4]) -> Result<bool, String> {
    let mut filled = 0;
    while filled < word.len() {
        match input.read(&mut word[filled..]) {
            Ok(0) if filled == 0 => return Ok(false),
            Ok(0) => return Err("it ends too early".to_owned()),
            Ok(count) => filled += count,
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(true)
}

fn skip(input: &mut impl Read, bytes: u64) -> Result<(), String> {
    match std::io::copy(&mut input.take(bytes), &mut std::io::sink()) {
        Ok(skipped) if skipped == bytes => Ok(()),
        Ok(_) => Err("it ends too early".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Skips a compressed body; returns the bytes that its buffers decompress to, which stand before each.
fn skip_compressed(
    input: &mut impl Read,
    message: &Message<'_>,
    batch: RecordBatch<'_>,
) -> Result<u64, String> {
    let (mut position, mut decompressed) = (0u64, 0u64);
    for buffer in batch.buffers().into_iter().flatten() {
        let offset = u64::try_from(buffer.offset()).map_err(|_| "a negative offset")?;
        if buffer.length() < 8 {
            continue;
        }
        let gap = offset.checked_sub(position).ok_or("buffers that overlap")?;
        skip(input, gap)?;
        let mut prefix = [0; 8];
        input.read_exact(&mut prefix).map_err(|_| "it ends too early")?;
        position = offset.checked_add(8).ok_or("a length beyond any file")?;
        // -1 marks a buffer that is not compressed.
        let length = i64::from_le_bytes(prefix).max(0) as u64;
        decompressed = decompressed.saturating_add(length);
    }
    let rest = message.bodyLength() as u64;
    skip(input, rest.checked_sub(position).ok_or("buffers beyond the body")?)?;
    Ok(decompressed)
}
