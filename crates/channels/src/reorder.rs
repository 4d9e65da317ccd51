//! Puts the messages of a stream back into their order, over a transport that does not keep it.
//!
//! A message is held if fewer than [`REORDER_MESSAGES`] stand between it and the one that is
//! missing, and if all that is held stays within [`REORDER_BYTES_MAX`]; the transport must not let
//! messages overtake each other further than that. Over a transport that keeps the order nothing is
//! ever held, and a message out of order is a fault.
//!
//! It orders what arrives; it repeats nothing that is lost, and protects against no one: messages
//! that are forged are for TLS to refuse.

use std::collections::BTreeMap;

use crate::limits::{REORDER_BYTES_MAX, REORDER_MESSAGES};
use crate::message::{MessageError, MessageHeader};

/// Messages that came before their position in the sequence.
pub(crate) struct Reorder {
    is_ordered: bool,
    held: BTreeMap<u64, (MessageHeader, Vec<u8>)>,
    held_bytes: usize,
}

impl Reorder {
    pub(crate) fn new(is_ordered: bool) -> Self {
        Reorder { is_ordered, held: BTreeMap::new(), held_bytes: 0 }
    }

    /// Whether this message must wait for others; a fault if it is old or too early.
    pub(crate) fn must_wait(
        &self,
        header: &MessageHeader,
        expected: u64,
    ) -> Result<bool, MessageError> {
        let found = header.sequence;
        if found == expected {
            return Ok(false);
        }
        let is_admitted = !self.is_ordered
            && found.checked_sub(expected).is_some_and(|ahead| ahead < REORDER_MESSAGES)
            && self.held_bytes + header.length as usize <= REORDER_BYTES_MAX
            && !self.held.contains_key(&found);
        if is_admitted { Ok(true) } else { Err(MessageError::Sequence { expected, found }) }
    }

    /// Keeps a message that must wait.
    pub(crate) fn hold(&mut self, header: MessageHeader, payload: Vec<u8>) {
        self.held_bytes += payload.len();
        self.held.insert(header.sequence, (header, payload));
    }

    /// The message whose turn it is, if it is here.
    pub(crate) fn take(&mut self, expected: u64) -> Option<(MessageHeader, Vec<u8>)> {
        let taken = self.held.remove(&expected)?;
        self.held_bytes -= taken.1.len();
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MessageKind;

    fn header(sequence: u64, length: u32) -> MessageHeader {
        MessageHeader { kind: MessageKind::Data, length, session: 1, stream: 0, sequence }
    }

    #[test]
    fn the_window_has_both_its_bounds() {
        let mut window = Reorder::new(false);
        let fault = |found| Err(MessageError::Sequence { expected: 5, found });
        assert_eq!(window.must_wait(&header(5, 9), 5), Ok(false));
        assert_eq!(window.must_wait(&header(4, 9), 5), fault(4));
        assert_eq!(window.must_wait(&header(5 + REORDER_MESSAGES, 9), 5), fault(69));
        assert_eq!(window.must_wait(&header(4 + REORDER_MESSAGES, 9), 5), Ok(true));
        let most = REORDER_BYTES_MAX as u32 - 9;
        window.hold(header(6, 9), vec![1; 9]);
        assert_eq!(window.must_wait(&header(6, 9), 5), fault(6));
        assert_eq!(window.must_wait(&header(7, most + 1), 5), fault(7));
        assert_eq!(window.must_wait(&header(7, most), 5), Ok(true));
        assert!(window.take(5).is_none());
        assert_eq!(
            window.take(6).map(|(header, payload)| (header.sequence, payload.len())),
            Some((6, 9))
        );
        assert_eq!(window.must_wait(&header(7, most + 9), 5), Ok(true));
    }

    #[test]
    fn where_the_order_is_kept_nothing_waits() {
        let window = Reorder::new(true);
        let fault = Err(MessageError::Sequence { expected: 5, found: 6 });
        assert_eq!(window.must_wait(&header(6, 1), 5), fault);
    }
}
