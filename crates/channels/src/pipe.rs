//! A bounded pipe of reusable blocks between two threads: the inside of every channel.
//!
//! All blocks are allocated at the start and go round: free, filled, queued, read, free; some may be
//! given up later or come to them ([`Pipe::resize`]). A block
//! pushed behind another one that has space is copied into it, so many small pushes cannot use up
//! the blocks: two neighbours in the queue together always hold more than one block. The order is
//! kept, and nothing is lost unless the pipe is broken.
//!
//! [`Outlet`] and [`Inlet`] are the two ends as the protocol sees them: slices lent in place.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::frame::Kind;
use crate::limits::BLOCK_BYTES;
use crate::receiver::Direct;
use crate::{ChannelError, MAX_BORROW_BYTES};

/// One reusable piece of memory; `start..end` of it is in use.
pub(crate) struct Block {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    /// How much of it may be in use.
    limit: usize,
    /// Kind of the bytes; only data is joined with data.
    pub(crate) kind: Kind,
}

impl Block {
    fn new(block_bytes: usize) -> Self {
        let bytes = vec![0; block_bytes].into_boxed_slice();
        Block { bytes, start: 0, end: 0, limit: block_bytes, kind: Kind::Data }
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
        assert!(len <= self.limit - self.end, "a block cannot outgrow its memory");
        self.end += len;
    }

    /// Puts `bytes` behind those in use; there must be enough space.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.room()[..bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    fn clear(&mut self) {
        (self.start, self.end, self.kind) = (0, 0, Kind::Data);
    }
}

/// How a pipe came to its end.
#[derive(Clone)]
pub(crate) enum End {
    /// The producer has nothing more to say; what is queued is still delivered.
    Finished,
    /// The session is dead.
    Broken(ChannelError),
}

/// Result of [`Pipe::pop`].
pub(crate) enum Popped {
    Block(Block),
    End(End),
    TimedOut,
}

struct State {
    queue: VecDeque<Block>,
    free: Vec<Block>,
    /// Blocks that are still to be given up, when they come back.
    surplus: usize,
    /// How much of a block may be in use, of those that are filled from now on.
    block_bytes: usize,
    end: Option<End>,
    consumer_waits: bool,
    producer_waits: bool,
}

/// The shared middle of a pipe.
pub(crate) struct Pipe {
    state: Mutex<State>,
    filled: Condvar,
    freed: Condvar,
}

impl Pipe {
    pub(crate) fn new(block_count: usize) -> Arc<Self> {
        let state = State {
            queue: VecDeque::with_capacity(block_count),
            free: (0..block_count).map(|_| Block::new(BLOCK_BYTES)).collect(),
            surplus: 0,
            block_bytes: BLOCK_BYTES,
            end: None,
            consumer_waits: false,
            producer_waits: false,
        };
        Arc::new(Pipe { state: Mutex::new(state), filled: Condvar::new(), freed: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds this lock")
    }

    /// Waits for an empty block to fill; `Err` once the pipe has ended or at `deadline`.
    pub(crate) fn take_free(&self, deadline: Option<Instant>) -> Result<Block, Option<End>> {
        let mut state = self.lock();
        loop {
            if let Some(end) = &state.end {
                return Err(Some(end.clone()));
            }
            if let Some(block) = state.free.pop() {
                return Ok(Block { limit: state.block_bytes, ..block });
            }
            state.producer_waits = true;
            let waited = wait(&self.freed, state, deadline);
            state = waited.ok_or(None)?;
            state.producer_waits = false;
        }
    }

    /// Queues a filled block, or copies it behind the last one queued and returns it empty; also
    /// returns whether the consumer was waiting for it.
    pub(crate) fn push(&self, mut block: Block) -> Result<(Option<Block>, bool), End> {
        let mut state = self.lock();
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        let wake = std::mem::take(&mut state.consumer_waits);
        let len = block.content().len();
        let joined = match state.queue.back_mut() {
            Some(last) if last.kind == Kind::Data && block.kind == Kind::Data => {
                let fits = last.room().len() >= len;
                if fits {
                    last.append(block.content());
                }
                fits
            }
            _ => false,
        };
        let left_over = if joined {
            block.clear();
            block.limit = state.block_bytes;
            Some(block)
        } else {
            state.queue.push_back(block);
            None
        };
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        Ok((left_over, wake))
    }

    /// A filled block or the end; `None` if there is neither.
    pub(crate) fn try_pop(&self) -> Option<Popped> {
        let mut state = self.lock();
        match state.queue.pop_front() {
            Some(block) => Some(Popped::Block(block)),
            None => state.end.clone().map(Popped::End),
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

    /// Waits for a filled block, the end, or `deadline`.
    pub(crate) fn pop(&self, deadline: Option<Instant>) -> Popped {
        let mut state = self.lock();
        loop {
            if let Some(block) = state.queue.pop_front() {
                return Popped::Block(block);
            }
            if let Some(end) = &state.end {
                return Popped::End(end.clone());
            }
            state.consumer_waits = true;
            match wait(&self.filled, state, deadline) {
                Some(woken) => state = woken,
                None => return Popped::TimedOut,
            }
            state.consumer_waits = false;
        }
    }

    /// A block that was taken, with the limit that an empty one has now.
    pub(crate) fn up_to_date(&self, block: Block) -> Block {
        let limit = if block.end == 0 { self.lock().block_bytes } else { block.limit };
        Block { limit, ..block }
    }

    /// Gives a block that has been read back to the producer.
    pub(crate) fn recycle(&self, mut block: Block) {
        block.clear();
        let mut state = self.lock();
        if state.surplus > 0 {
            state.surplus -= 1;
            return;
        }
        state.free.push(block);
        let wake = std::mem::take(&mut state.producer_waits);
        drop(state);
        if wake {
            self.freed.notify_one();
        }
    }

    /// Has `after` blocks instead of `before`, which are filled up to `block_bytes`. Once.
    pub(crate) fn resize(&self, [before, after]: [usize; 2], block_bytes: usize) {
        self.lock().block_bytes = block_bytes;
        match after.checked_sub(before) {
            Some(more) => self.grow(more),
            None => self.shrink(before - after),
        }
    }

    /// Has `count` blocks more.
    fn grow(&self, count: usize) {
        let mut state = self.lock();
        state.free.extend((0..count).map(|_| Block::new(BLOCK_BYTES)));
        drop(state);
        self.freed.notify_one();
    }

    /// Gives up `count` blocks: free ones now, others when they have been read.
    fn shrink(&self, count: usize) {
        let mut state = self.lock();
        let now = count.min(state.free.len());
        let left = state.free.len() - now;
        state.free.truncate(left);
        state.surplus += count - now;
    }

    /// Ends the pipe after what is queued.
    pub(crate) fn finish(&self) {
        self.end(End::Finished, false);
    }

    /// Ends the pipe with an error; `at_once` drops what is queued. The first end stands, except
    /// that an error replaces [`End::Finished`].
    pub(crate) fn break_off(&self, error: ChannelError, at_once: bool) {
        self.end(End::Broken(error), at_once);
    }

    fn end(&self, end: End, at_once: bool) {
        let mut state = self.lock();
        if at_once {
            state.queue.clear();
        }
        match (&state.end, &end) {
            (None, _) | (Some(End::Finished), End::Broken(_)) => state.end = Some(end),
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
    state: MutexGuard<'a, State>,
    deadline: Option<Instant>,
) -> Option<MutexGuard<'a, State>> {
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
pub(crate) struct Outlet {
    pipe: Arc<Pipe>,
    current: Option<Block>,
}

impl Outlet {
    pub(crate) fn new(pipe: Arc<Pipe>) -> Self {
        Outlet { pipe, current: None }
    }

    /// Lends `len` bytes of the current block to `fill`; hands over a full block first.
    pub(crate) fn lend<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, End> {
        assert!(len <= MAX_BORROW_BYTES, "at most MAX_BORROW_BYTES are lent at a time");
        if self.current.as_ref().is_some_and(|block| block.end + len > block.limit) {
            self.publish()?;
        }
        if self.current.is_none() {
            self.current = Some(self.take_free()?);
        }
        let block = self.current.as_mut().expect("a block was just put there");
        let result = fill(&mut block.room()[..len]);
        block.grow(len);
        Ok(result)
    }

    /// Hands over everything written so far.
    pub(crate) fn publish(&mut self) -> Result<(), End> {
        let Some(block) = self.current.take() else {
            return Ok(());
        };
        if block.end == 0 {
            self.current = Some(block);
            return Ok(());
        }
        (self.current, _) = self.pipe.push(block)?;
        Ok(())
    }

    /// Bytes that were written and not handed over, if there are any and at most `bytes_max`.
    pub(crate) fn pending(&self, bytes_max: usize) -> Option<&[u8]> {
        let content = self.current.as_ref()?.content();
        (1..=bytes_max).contains(&content.len()).then_some(content)
    }

    /// Forgets what is pending: it went another way.
    pub(crate) fn clear_pending(&mut self) {
        if let Some(block) = &mut self.current {
            block.clear();
        }
    }

    /// Hands over everything written so far and then one block of another kind.
    pub(crate) fn publish_control(&mut self, kind: Kind, content: &[u8]) -> Result<(), End> {
        self.publish()?;
        let mut block = match self.current.take() {
            Some(block) => block,
            None => self.take_free()?,
        };
        block.kind = kind;
        block.append(content);
        (self.current, _) = self.pipe.push(block)?;
        Ok(())
    }

    fn take_free(&self) -> Result<Block, End> {
        self.pipe.take_free(None).map_err(|end| end.expect("without a deadline only an end fails"))
    }
}

/// The end of a pipe from which a protocol reads.
pub(crate) struct Inlet {
    pipe: Arc<Pipe>,
    current: Option<Block>,
    /// Where bytes are joined that lie in more than one block.
    joined: Box<[u8]>,
    /// How to fill the pipe oneself instead of waiting for another thread to do it.
    direct: Option<Direct>,
}

/// Why [`Inlet`] has nothing to lend.
pub(crate) enum Dry {
    /// The pipe has ended.
    End(End),
    /// The next block is not of the kind asked for.
    Unexpected(Kind),
    /// Nothing came before the deadline.
    TimedOut,
}

impl Inlet {
    pub(crate) fn new(pipe: Arc<Pipe>) -> Self {
        let joined = vec![0; MAX_BORROW_BYTES].into_boxed_slice();
        Inlet { pipe, current: None, joined, direct: None }
    }

    /// An inlet whose owner reads from the network itself where that is quicker.
    pub(crate) fn with_direct(pipe: Arc<Pipe>, direct: Direct) -> Self {
        Inlet { direct: Some(direct), ..Inlet::new(pipe) }
    }

    fn pop(&self, deadline: Option<Instant>) -> Popped {
        match &self.direct {
            Some(direct) => direct.pop(&self.pipe),
            None => self.pipe.pop(deadline),
        }
    }

    /// Whether `len` bytes can be lent without waiting.
    pub(crate) fn holds(&self, len: usize) -> bool {
        self.current.as_ref().is_some_and(|block| block.content().len() >= len)
    }

    /// Waits for `len` bytes and lends them to `read`, in place where they lie in one block.
    pub(crate) fn lend<R>(
        &mut self,
        len: usize,
        deadline: Option<Instant>,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, Dry> {
        assert!(len <= MAX_BORROW_BYTES, "at most MAX_BORROW_BYTES are lent at a time");
        if len == 0 {
            return Ok(read(&[]));
        }
        self.refill(Kind::Data, deadline)?;
        if self.holds(len) {
            let block = self.current.as_mut().expect("a block that holds bytes is there");
            let result = read(&block.content()[..len]);
            block.start += len;
            return Ok(result);
        }
        let mut filled = 0;
        while filled < len {
            self.refill(Kind::Data, deadline)?;
            let block = self.current.as_mut().expect("refill leaves a block");
            let piece = block.content();
            let take = piece.len().min(len - filled);
            self.joined[filled..filled + take].copy_from_slice(&piece[..take]);
            block.start += take;
            filled += take;
        }
        Ok(read(&self.joined[..len]))
    }

    /// Waits for the next control block, which must be of this kind, and returns its content.
    pub(crate) fn take_control(
        &mut self,
        kind: Kind,
        deadline: Option<Instant>,
    ) -> Result<Vec<u8>, Dry> {
        self.refill(kind, deadline)?;
        let block = self.current.take().expect("refill leaves a block");
        let content = block.content().to_vec();
        self.pipe.recycle(block);
        Ok(content)
    }

    /// Makes sure that the current block has unread bytes of the kind asked for.
    fn refill(&mut self, kind: Kind, deadline: Option<Instant>) -> Result<(), Dry> {
        loop {
            if let Some(block) = self.current.take() {
                if kind == block.kind && (kind != Kind::Data || !block.content().is_empty()) {
                    self.current = Some(block);
                    return Ok(());
                }
                if !block.content().is_empty() || block.kind != Kind::Data {
                    return Err(Dry::Unexpected(block.kind));
                }
                self.pipe.recycle(block);
            }
            match self.pop(deadline) {
                Popped::Block(block) => self.current = Some(block),
                Popped::End(end) => return Err(Dry::End(end)),
                Popped::TimedOut => return Err(Dry::TimedOut),
            }
        }
    }
}
