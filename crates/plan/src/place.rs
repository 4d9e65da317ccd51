//! Placement: chooses the page and the slot of each value.
//!
//! Source: MAGE, section 6.2. A page holds values of one size only (a slab), so that none
//! straddles a page boundary; among the pages with space, the one with the fewest free slots is
//! taken, so that others can empty. Deviation: only pages that are in memory are candidates, since
//! a slot on a page that is on storage would cost a transfer that a fresh page does not.

use std::collections::HashMap;

use crate::replace::PageIndex;

const NONE: u32 = u32::MAX;

/// Sizes of values whose classes are found by index: 64 keys of each of 4096 wires.
const DENSE_SIZES: usize = 64 * 4096;

/// Place of one value.
#[derive(Clone, Copy, Default)]
pub(crate) struct Cell {
    pub(crate) page: PageIndex,
    /// Units from the beginning of the page.
    pub(crate) offset: u32,
}

/// Slots of the pages of one size class, found by how many of them are free.
struct Class {
    slots_per_page: u32,
    /// First candidate page with each number of free slots; 0 is unused.
    heads: Vec<u32>,
    /// One bit per entry of `heads` that is not empty.
    occupied: Vec<u64>,
}

/// Where values of each size go.
pub(crate) struct Placer {
    page_wires: u32,
    /// By size, for values of at most [`DENSE_SIZES`] units.
    classes: Vec<Option<Box<Class>>>,
    /// For larger values, of which there are few sizes.
    large: HashMap<u32, Box<Class>>,
    pages: Vec<SlabPage>,
    unused: Vec<PageIndex>,
    live_pages: u64,
    pub(crate) peak_pages: u64,
}

struct SlabPage {
    /// Wires of a value on this page.
    size: u32,
    free: u32,
    /// One bit per slot that is free.
    free_slots: Vec<u64>,
    previous: u32,
    next: u32,
    is_candidate: bool,
}

impl Placer {
    pub(crate) fn new(page_wires: u64) -> Placer {
        let page_wires = u32::try_from(page_wires).expect("a page has fewer than 2^32 wires");
        Placer {
            page_wires,
            classes: Vec::new(),
            large: HashMap::new(),
            pages: Vec::new(),
            unused: Vec::new(),
            live_pages: 0,
            peak_pages: 0,
        }
    }

    /// Takes a cell for a value of `wires` units on a candidate page.
    pub(crate) fn allocate(&mut self, wires: u32) -> Option<Cell> {
        let class = existing_class(&mut self.classes, &mut self.large, wires)?;
        let word = class.occupied.iter().position(|&word| word != 0)?;
        let free = 64 * word + class.occupied[word].trailing_zeros() as usize;
        let page = class.heads[free];
        Some(Cell { page, offset: self.take_slot(page) })
    }

    /// Begins a page for values of `wires` units and takes its first cell.
    pub(crate) fn allocate_page(&mut self, wires: u32) -> Cell {
        let slots = self.page_wires / wires;
        self.class(wires, slots);
        let mut free_slots = vec![u64::MAX; (slots as usize).div_ceil(64)];
        if !slots.is_multiple_of(64) {
            *free_slots.last_mut().expect("a page has a slot") = (1 << (slots % 64)) - 1;
        }
        let entry = SlabPage {
            size: wires,
            free: slots,
            free_slots,
            previous: NONE,
            next: NONE,
            is_candidate: false,
        };
        let page = match self.unused.pop() {
            Some(page) => {
                self.pages[page as usize] = entry;
                page
            }
            None => {
                self.pages.push(entry);
                self.pages.len() as PageIndex - 1
            }
        };
        self.live_pages += 1;
        self.peak_pages = self.peak_pages.max(self.live_pages);
        self.link(page);
        Cell { page, offset: self.take_slot(page) }
    }

    /// Gives a cell back; its units, and whether its page is empty now (and gone).
    pub(crate) fn release(&mut self, Cell { page, offset }: Cell) -> (u32, bool) {
        self.unlink(page);
        let entry = &mut self.pages[page as usize];
        let slot = (offset / entry.size) as usize;
        let bit = 1 << (slot % 64);
        assert_eq!(entry.free_slots[slot / 64] & bit, 0, "a slot is freed once");
        entry.free_slots[slot / 64] |= bit;
        entry.free += 1;
        if entry.free == self.page_wires / entry.size {
            self.unused.push(page);
            self.live_pages -= 1;
            return (entry.size, true);
        }
        let size = entry.size;
        self.link(page);
        (size, false)
    }

    /// Says whether `page` is in memory, so that new values may go there.
    pub(crate) fn set_resident(&mut self, page: PageIndex, resident: bool) {
        if resident {
            self.link(page);
        } else {
            self.unlink(page);
        }
    }

    fn class(&mut self, wires: u32, slots_per_page: u32) -> &mut Class {
        let index = wires as usize;
        let new = || {
            let heads = vec![NONE; slots_per_page as usize + 1];
            let occupied = vec![0; heads.len().div_ceil(64)];
            Box::new(Class { slots_per_page, heads, occupied })
        };
        if index > DENSE_SIZES {
            return self.large.entry(wires).or_insert_with(new);
        }
        if self.classes.len() <= index {
            self.classes.resize_with(index + 1, || None);
        }
        self.classes[index].get_or_insert_with(new)
    }

    fn take_slot(&mut self, page: PageIndex) -> u32 {
        self.unlink(page);
        let entry = &mut self.pages[page as usize];
        let word = entry.free_slots.iter().position(|&word| word != 0);
        let word = word.expect("a candidate page has a free slot");
        let bit = entry.free_slots[word].trailing_zeros();
        entry.free_slots[word] &= entry.free_slots[word] - 1;
        entry.free -= 1;
        let offset = (64 * word as u32 + bit) * entry.size;
        self.link(page);
        offset
    }

    /// Makes `page` a candidate if it has space.
    fn link(&mut self, page: PageIndex) {
        let entry = &mut self.pages[page as usize];
        if entry.is_candidate || entry.free == 0 {
            return;
        }
        let class = existing_class(&mut self.classes, &mut self.large, entry.size);
        let class = class.expect("a page has a class");
        debug_assert!(entry.free <= class.slots_per_page);
        let free = entry.free as usize;
        entry.is_candidate = true;
        entry.previous = NONE;
        entry.next = class.heads[free];
        let next = entry.next;
        class.heads[free] = page;
        class.occupied[free / 64] |= 1 << (free % 64);
        if next != NONE {
            self.pages[next as usize].previous = page;
        }
    }

    fn unlink(&mut self, page: PageIndex) {
        let entry = &mut self.pages[page as usize];
        if !entry.is_candidate {
            return;
        }
        entry.is_candidate = false;
        let (previous, next, free) = (entry.previous, entry.next, entry.free as usize);
        let class = existing_class(&mut self.classes, &mut self.large, entry.size);
        let class = class.expect("a page has a class");
        if previous == NONE {
            class.heads[free] = next;
            if next == NONE {
                class.occupied[free / 64] &= !(1 << (free % 64));
            }
        } else {
            self.pages[previous as usize].next = next;
        }
        if next != NONE {
            self.pages[next as usize].previous = previous;
        }
    }
}

/// The class of values of `wires` wires, if there are any.
#[inline]
fn existing_class<'a>(
    classes: &'a mut [Option<Box<Class>>],
    large: &'a mut HashMap<u32, Box<Class>>,
    wires: u32,
) -> Option<&'a mut Class> {
    match classes.get_mut(wires as usize) {
        Some(class) => class.as_deref_mut(),
        None => large.get_mut(&wires).map(|class| &mut **class),
    }
}
