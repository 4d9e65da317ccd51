//! The source of the payload of a received message, and the buffers that it fills.

use std::sync::Arc;

use crate::ChannelError;
use crate::limits::READ_AHEAD_BYTES;
use crate::link::Link;
use crate::message::MessageKind;
use crate::pipe::Buffer;
use crate::reader::MessageReader;

/// Where the payload of a message comes from: the network, or the reorder window.
pub(crate) struct Payload<'a> {
    pub(crate) reader: &'a mut MessageReader,
    pub(crate) held: Option<Vec<u8>>,
    pub(crate) taken: usize,
    pub(crate) by_owner: bool,
    pub(crate) link: Arc<Link>,
}

impl Payload<'_> {
    /// Fills a part of `target`, which is not empty, and returns how much.
    fn fill(&mut self, target: &mut [u8]) -> Result<usize, ChannelError> {
        let Some(held) = &self.held else {
            let (by_owner, link) = (self.by_owner, &self.link);
            return self.reader.payload(target, &|| if by_owner { link.error() } else { None });
        };
        let count = target.len().min(held.len() - self.taken);
        target[..count].copy_from_slice(&held[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }

    pub(crate) fn fill_exact(&mut self, mut target: &mut [u8]) -> Result<(), ChannelError> {
        while !target.is_empty() {
            let count = self.fill(target)?;
            target = &mut target[count..];
        }
        Ok(())
    }

    fn discard(&mut self, length: usize) -> Result<(), ChannelError> {
        let mut scratch = [0; READ_AHEAD_BYTES];
        let mut left = length;
        while left > 0 {
            let wanted = left.min(scratch.len());
            left -= self.fill(&mut scratch[..wanted])?;
        }
        Ok(())
    }
}

/// Puts payload into the buffers of the incoming pipe.
pub(crate) struct BufferFiller<'a> {
    pub(crate) link: &'a Link,
    /// The buffer being filled, whether the owner reads no more, whether it waited.
    pub(crate) slot: (&'a mut Option<Buffer>, &'a mut bool, &'a mut bool),
}

impl BufferFiller<'_> {
    /// The buffer to fill next; `None` when the owner no longer reads.
    fn take_buffer(&mut self) -> Option<Buffer> {
        let (buffer, discarding, _) = &mut self.slot;
        if **discarding {
            return None;
        }
        let incoming = &self.link.incoming;
        let taken = buffer.take().map(|buffer| incoming.up_to_date(buffer));
        let buffer = taken.or_else(|| incoming.take_free(None).ok());
        **discarding = buffer.is_none();
        buffer
    }

    pub(crate) fn push_buffer(&mut self) {
        let (slot, discarding, was_awaited) = &mut self.slot;
        let Some(buffer) = slot.take() else {
            return;
        };
        if buffer.content().is_empty() && buffer.kind == MessageKind::Data {
            **slot = Some(buffer);
            return;
        }
        match self.link.incoming.push(buffer) {
            Ok((left_over, awaited)) => {
                **slot = left_over;
                **was_awaited |= awaited;
            }
            Err(_) => **discarding = true,
        }
    }

    pub(crate) fn data(
        &mut self,
        payload: &mut Payload<'_>,
        length: usize,
    ) -> Result<(), ChannelError> {
        let mut left = length;
        while left > 0 {
            let Some(mut buffer) = self.take_buffer() else {
                return payload.discard(left);
            };
            let room = buffer.room();
            let wanted = room.len().min(left);
            let outcome = payload.fill(&mut room[..wanted]);
            let count = *outcome.as_ref().unwrap_or(&0);
            buffer.grow(count);
            let is_full = buffer.room().is_empty();
            // Back in its place even after an error: what came before it is still delivered.
            *self.slot.0 = Some(buffer);
            outcome?;
            left -= count;
            if is_full {
                self.push_buffer();
            }
        }
        Ok(())
    }

    pub(crate) fn agreement(
        &mut self,
        payload: &mut Payload<'_>,
        length: usize,
    ) -> Result<(), ChannelError> {
        self.push_buffer();
        let Some(mut buffer) = self.take_buffer() else {
            return payload.discard(length);
        };
        payload.fill_exact(&mut buffer.room()[..length])?;
        buffer.grow(length);
        buffer.kind = MessageKind::Agreement;
        *self.slot.0 = Some(buffer);
        self.push_buffer();
        Ok(())
    }
}
