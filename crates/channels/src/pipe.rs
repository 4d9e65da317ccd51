//! A bounded pipe of reusable buffers between two threads: the inside of every channel.
//!
//! All buffers are allocated at the start and go round: free, filled, queued, read, free; some may
//! be given up later or come to them ([`Pipe::resize`]). A buffer
//! pushed behind another one that has space is copied into it, so many small pushes cannot use up
//! the buffers: two neighbours in the queue together always hold more than one buffer. The order is
//! kept, and nothing is lost unless the pipe is broken.
//!
//! [`PipeWriter`] and [`PipeReader`] are the two ends as the protocol sees them: slices lent in
//! place.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::limits::BUFFER_BYTES;
use crate::message::MessageKind;
use crate::receiver::InlineReceiver;
use crate::{ChannelError, MAX_BORROW_BYTES};

/// One reusable piece of memory; `start..end` of it is in use.
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    /// How much of it may be in use.
    limit: usize,
    /// Kind of the bytes; only data is joined with data.
    pub(crate) kind: MessageKind,
}

impl Buffer {
    fn new(buffer_bytes: usize) -> Self {
        let bytes = vec![0; buffer_bytes].into_boxed_slice();
        Buffer { bytes, start: 0, end: 0, limit: buffer_bytes, kind: MessageKind::Data }
    }

    /// The bytes in use.
    pub(crate) fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The bytes behind those in use that may be taken into use.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..self.limit]
    }

    /// Takes the first `len` bytes of the free space into use.
    pub(crate) fn grow(&mut self, len: usize) {
        assert!(len <= self.limit - self.end, "a buffer cannot outgrow its memory");
        self.end += len;
    }

    /// Puts `bytes` behind those in use; there must be enough space.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.room()[..bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    fn clear(&mut self) {
        (self.start, self.end, self.kind) = (0, 0, MessageKind::Data);
    }
}

/// How a pipe came to its end.
#[derive(Clone)]
pub(crate) enum PipeEnd {
    /// The producer has nothing more to say; what is queued is still delivered.
    Finished,
    /// The session is dead.
    Broken(ChannelError),
}

/// Result of [`Pipe::pop`].
pub(crate) enum PopResult {
    Buffer(Buffer),
    End(PipeEnd),
    TimedOut,
}

struct PipeState {
    queue: VecDeque<Buffer>,
    free: Vec<Buffer>,
    /// Buffers that are still to be given up, when they come back.
    surplus: usize,
    /// How much of a buffer may be in use, of those that are filled from now on.
    buffer_bytes: usize,
    end: Option<PipeEnd>,
    consumer_waits: bool,
    producer_waits: bool,
}

/// The shared middle of a pipe.
pub(crate) struct Pipe {
    state: Mutex<PipeState>,
    filled: Condvar,
    freed: Condvar,
}

impl Pipe {
    pub(crate) fn new(buffer_count: usize) -> Arc<Self> {
        let state = PipeState {
            queue: VecDeque::with_capacity(buffer_count),
            free: (0..buffer_count).map(|_| Buffer::new(BUFFER_BYTES)).collect(),
            surplus: 0,
            buffer_bytes: BUFFER_BYTES,
            end: None,
            consumer_waits: false,
            producer_waits: false,
        };
        Arc::new(Pipe { state: Mutex::new(state), filled: Condvar::new(), freed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, PipeState> {
        self.state.lock().expect("no code panics while it holds this lock")
    }

    /// Waits for an empty buffer to fill; `Err` once the pipe has ended or at `deadline`.
    pub(crate) fn take_free(&self, deadline: Option<Instant>) -> Result<Buffer, Option<PipeEnd>> {
        let mut state = self.lock();
        loop {
            if let Some(end) = &state.end {
                return Err(Some(end.clone()));
            }
            if let Some(buffer) = state.free.pop() {
                return Ok(Buffer { limit: state.buffer_bytes, ..buffer });
            }
            state.producer_waits = true;
            let waited = wait(&self.freed, state, deadline);
            state = waited.ok_or(None)?;
            state.producer_waits = false;
        }
    }

    /// Queues a filled buffer, or copies it behind the last one queued and returns it empty; also
    /// returns whether the consumer was waiting for it.
    pub(crate) fn push(&self, mut buffer: Buffer) -> Result<(Option<Buffer>, bool), PipeEnd> {
        let mut state = self.lock();
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        let wake = std::mem::take(&mut state.consumer_waits);
        let len = buffer.content().len();
        let joined = match state.queue.back_mut() {
            Some(last) if last.kind == MessageKind::Data && buffer.kind == MessageKind::Data => {
                let fits = last.room().len() >= len;
                if fits {
                    last.append(buffer.content());
                }
                fits
            }
            _ => false,
        };
        let left_over = if joined {
            buffer.clear();
            buffer.limit = state.buffer_bytes;
            Some(buffer)
        } else {
            state.queue.push_back(buffer);
            None
        };
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok((left_over, wake))
    }

    /// A filled buffer or the end; `None` if there is neither.
    pub(crate) fn try_pop(&self) -> Option<PopResult> {
        let mut state = self.lock();
        match state.queue.pop_front() {
            Some(buffer) => Some(PopResult::Buffer(buffer)),
            None => state.end.clone().map(PopResult::End),
        }
    }

    /// Whether nothing is queued and the pipe goes on.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.queue.is_empty() && state.end.is_none()
    }

    /// Waits until [`try_pop`](Self::try_pop) has something, or `deadline`; returns whether it has.
    pub(crate) fn wait_filled(&self, deadline: Instant) -> bool {
        let mut state = self.lock();
        loop {
            if !state.queue.is_empty() || state.end.is_some() {
                return true;
            }
            state.consumer_waits = true;
            match wait(&self.filled, state, Some(deadline)) {
                Some(woken) => state = woken,
                None => return false,
            }
            state.consumer_waits = false;
        }
    }

    /// Waits for a filled buffer, the end, or `deadline`.
    pub(crate) fn pop(&self, deadline: Option<Instant>) -> PopResult {
        let mut state = self.lock();
        loop {
            if let Some(buffer) = state.queue.pop_front() {
                return PopResult::Buffer(buffer);
            }
            if let Some(end) = &state.end {
                return PopResult::End(end.clone());
            }
            state.consumer_waits = true;
            match wait(&self.filled, state, deadline) {
                Some(woken) => state = woken,
                None => return PopResult::TimedOut,
            }
            state.consumer_waits = false;
        }
    }

    /// A buffer that was taken, with the limit that an empty one has now.
    pub(crate) fn up_to_date(&self, buffer: Buffer) -> Buffer {
        let limit = if buffer.end == 0 { self.lock().buffer_bytes } else { buffer.limit };
        Buffer { limit, ..buffer }
    }

    /// Gives a buffer that has been read back to the producer.
    pub(crate) fn recycle(&self, mut buffer: Buffer) {
        buffer.clear();
        let mut state = self.lock();
        if state.surplus > 0 {
            state.surplus -= 1;
            return;
        }
        state.free.push(buffer);
        let wake = std::mem::take(&mut state.producer_waits);
        drop(state);
        if wake {
            self.freed.notify_one();
        }
    }

    /// Has `after` buffers instead of `before`, which are filled up to `buffer_bytes`. Once.
    pub(crate) fn resize(&self, [before, after]: [usize; 2], buffer_bytes: usize) {
        self.lock().buffer_bytes = buffer_bytes;
        match after.checked_sub(before) {
            Some(more) => self.grow(more),
            None => self.shrink(before - after),
        }
    }

    /// Has `count` buffers more.
    fn grow(&self, count: usize) {
        let mut state = self.lock();
        state.free.extend((0..count).map(|_| Buffer::new(BUFFER_BYTES)));
        drop(state);
        self.freed.notify_one();
    }

    /// Gives up `count` buffers: free ones now, others when they have been read.
    fn shrink(&self, count: usize) {
        let mut state = self.lock();
        let now = count.min(state.free.len());
        let left = state.free.len() - now;
        state.free.truncate(left);
        state.surplus += count - now;
    }

    /// Ends the pipe after what is queued.
    pub(crate) fn finish(&self) {
        self.end(PipeEnd::Finished, false);
    }

    /// Ends the pipe with an error; `at_once` drops what is queued. The first end stands, except
    /// that an error replaces [`PipeEnd::Finished`].
    pub(crate) fn break_off(&self, error: ChannelError, at_once: bool) {
        self.end(PipeEnd::Broken(error), at_once);
    }

    fn end(&self, end: PipeEnd, at_once: bool) {
        let mut state = self.lock();
        if at_once {
            state.queue.clear();
        }
        match (&state.end, &end) {
            (None, _) | (Some(PipeEnd::Finished), PipeEnd::Broken(_)) => state.end = Some(end),
            _ => {}
        }
        drop(state);
        self.filled.notify_all();
        self.freed.notify_all();
    }
}

/// Waits for a notification; `None` when `deadline` has passed.
fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, PipeState>,
    deadline: Option<Instant>,
) -> Option<MutexGuard<'a, PipeState>> {
    const HELD: &str = "no code panics while it holds this lock";
    let Some(deadline) = deadline else {
        return Some(condition.wait(state).expect(HELD));
    };
    let left = deadline.saturating_duration_since(Instant::now());
    if left == Duration::ZERO {
        return None;
    }
    Some(condition.wait_timeout(state, left).expect(HELD).0)
}

/// The end of a pipe into which a protocol writes.
pub(crate) struct PipeWriter {
    pipe: Arc<Pipe>,
    current: Option<Buffer>,
}

impl PipeWriter {
    pub(crate) fn new(pipe: Arc<Pipe>) -> Self {
        PipeWriter { pipe, current: None }
    }

    /// Lends `len` bytes of the current buffer to `fill`; hands over a full buffer first.
    pub(crate) fn lend<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, PipeEnd> {
        assert!(len <= MAX_BORROW_BYTES, "at most MAX_BORROW_BYTES are lent at a time");
        if self.current.as_ref().is_some_and(|buffer| buffer.end + len > buffer.limit) {
            self.publish()?;
        }
        if self.current.is_none() {
            self.current = Some(self.take_free()?);
        }
        let buffer = self.current.as_mut().expect("a buffer was just put there");
        let result = fill(&mut buffer.room()[..len]);
        buffer.grow(len);
        Ok(result)
    }

    /// Hands over everything written so far.
    pub(crate) fn publish(&mut self) -> Result<(), PipeEnd> {
        let Some(buffer) = self.current.take() else {
            return Ok(());
        };
        if buffer.end == 0 {
            self.current = Some(buffer);
            return Ok(());
        }
        (self.current, _) = self.pipe.push(buffer)?;
        Ok(())
    }

    /// How many bytes were written and not handed over.
    #[inline]
    pub(crate) fn pending_bytes(&self) -> usize {
        self.current.as_ref().map_or(0, |buffer| buffer.end)
    }

    /// Bytes that were written and not handed over, if there are any and at most `bytes_max`.
    pub(crate) fn pending(&self, bytes_max: usize) -> Option<&[u8]> {
        let content = self.current.as_ref()?.content();
        (1..=bytes_max).contains(&content.len()).then_some(content)
    }

    /// Forgets what is pending: it went another way.
    pub(crate) fn clear_pending(&mut self) {
        if let Some(buffer) = &mut self.current {
            buffer.clear();
        }
    }

    /// Hands over everything written so far and then one buffer of another kind.
    pub(crate) fn publish_control(
        &mut self,
        kind: MessageKind,
        content: &[u8],
    ) -> Result<(), PipeEnd> {
        self.publish()?;
        let mut buffer = match self.current.take() {
            Some(buffer) => buffer,
            None => self.take_free()?,
        };
        buffer.kind = kind;
        buffer.append(content);
        (self.current, _) = self.pipe.push(buffer)?;
        Ok(())
    }

    fn take_free(&self) -> Result<Buffer, PipeEnd> {
        self.pipe.take_free(None).map_err(|end| end.expect("without a deadline only an end fails"))
    }
}

/// The end of a pipe from which a protocol reads.
pub(crate) struct PipeReader {
    pipe: Arc<Pipe>,
    current: Option<Buffer>,
    /// Where bytes are joined that lie in more than one buffer.
    joined: Box<[u8]>,
    /// How to fill the pipe oneself instead of waiting for another thread to do it.
    direct: Option<InlineReceiver>,
}

/// Why [`PipeReader`] has nothing to lend.
pub(crate) enum NoDataReason {
    /// The pipe has ended.
    End(PipeEnd),
    /// The next buffer is not of the kind asked for.
    Unexpected(MessageKind),
    /// Nothing came before the deadline.
    TimedOut,
}

impl PipeReader {
    pub(crate) fn new(pipe: Arc<Pipe>) -> Self {
        let joined = vec![0; MAX_BORROW_BYTES].into_boxed_slice();
        PipeReader { pipe, current: None, joined, direct: None }
    }

    /// An inlet whose owner reads from the network itself where that is quicker.
    pub(crate) fn with_direct(pipe: Arc<Pipe>, direct: InlineReceiver) -> Self {
        PipeReader { direct: Some(direct), ..PipeReader::new(pipe) }
    }

    fn pop(&self, deadline: Option<Instant>) -> PopResult {
        match &self.direct {
            Some(direct) => direct.pop(&self.pipe),
            None => self.pipe.pop(deadline),
        }
    }

    /// Whether `len` bytes can be lent without waiting.
    pub(crate) fn holds(&self, len: usize) -> bool {
        self.current.as_ref().is_some_and(|buffer| buffer.content().len() >= len)
    }

    /// Waits for `len` bytes and lends them to `read`, in place where they lie in one buffer.
    pub(crate) fn lend<R>(
        &mut self,
        len: usize,
        deadline: Option<Instant>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, NoDataReason> {
        assert!(len <= MAX_BORROW_BYTES, "at most MAX_BORROW_BYTES are lent at a time");
        if len == 0 {
            return Ok(read(&[]));
        }
        self.refill(MessageKind::Data, deadline)?;
        if self.holds(len) {
            let buffer = self.current.as_mut().expect("a buffer that holds bytes is there");
            let result = read(&buffer.content()[..len]);
            buffer.start += len;
            return Ok(result);
        }
        let mut filled = 0;
        while filled < len {
            self.refill(MessageKind::Data, deadline)?;
            let buffer = self.current.as_mut().expect("refill leaves a buffer");
            let piece = buffer.content();
            let take = piece.len().min(len - filled);
            self.joined[filled..filled + take].copy_from_slice(&piece[..take]);
            buffer.start += take;
            filled += take;
        }
        Ok(read(&self.joined[..len]))
    }

    /// Waits for the next control buffer, which must be of this kind, and returns its content.
    pub(crate) fn take_control(
        &mut self,
        kind: MessageKind,
        deadline: Option<Instant>,
    ) -> Result<Vec<u8>, NoDataReason> {
        self.refill(kind, deadline)?;
        let buffer = self.current.take().expect("refill leaves a buffer");
        let content = buffer.content().to_vec();
        self.pipe.recycle(buffer);
        Ok(content)
    }

    /// Makes sure that the current buffer has unread bytes of the kind asked for.
    fn refill(&mut self, kind: MessageKind, deadline: Option<Instant>) -> Result<(), NoDataReason> {
        loop {
            if let Some(buffer) = self.current.take() {
                if kind == buffer.kind
                    && (kind != MessageKind::Data || !buffer.content().is_empty())
                {
                    self.current = Some(buffer);
                    return Ok(());
                }
                if !buffer.content().is_empty() || buffer.kind != MessageKind::Data {
                    return Err(NoDataReason::Unexpected(buffer.kind));
                }
                self.pipe.recycle(buffer);
            }
            match self.pop(deadline) {
                PopResult::Buffer(buffer) => self.current = Some(buffer),
                PopResult::End(end) => return Err(NoDataReason::End(end)),
                PopResult::TimedOut => return Err(NoDataReason::TimedOut),
            }
        }
    }
}
