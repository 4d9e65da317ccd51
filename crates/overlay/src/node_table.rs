//! [`NodeTable`]: a number for each of few among many nodes, which lie near each other.
//!
//! A page has the numbers of 128 nodes, and exists while one of them is there. So memory does not grow with the nodes,
//! but for 4 bytes a page.

/// No number.
pub(crate) const ABSENT: u32 = u32::MAX;

/// Nodes of a page.
const PAGE: usize = 128;

#[derive(Clone)]
struct Page {
    numbers: [u32; PAGE],
    count: u32,
}

/// Numbers by node.
pub(crate) struct NodeTable {
    /// The page of every 128 nodes, or [`ABSENT`].
    directory: Vec<u32>,
    pages: Vec<Page>,
    free: Vec<u32>,
}

impl NodeTable {
    /// A table for nodes below `node_count`.
    pub(crate) fn new(node_count: usize) -> NodeTable {
        let directory = vec![ABSENT; node_count.div_ceil(PAGE)];
        NodeTable { directory, pages: Vec::new(), free: Vec::new() }
    }

    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let numbers = size_of::<u32>() * (self.directory.len() + self.free.capacity());
        (numbers + size_of::<Page>() * self.pages.capacity()) as u64
    }

    /// The number of a node, or [`ABSENT`].
    #[inline]
    pub(crate) fn get(&self, node: u32) -> u32 {
        match self.directory[node as usize / PAGE] {
            ABSENT => ABSENT,
            page => self.pages[page as usize].numbers[node as usize % PAGE],
        }
    }

    /// Gives a node a number that it does not have yet.
    #[inline]
    pub(crate) fn put(&mut self, node: u32, number: u32) {
        let entry = node as usize / PAGE;
        if self.directory[entry] == ABSENT {
            self.directory[entry] = self.new_page();
        }
        let page = &mut self.pages[self.directory[entry] as usize];
        page.numbers[node as usize % PAGE] = number;
        page.count += 1;
    }

    /// Takes the number of a node out, or returns [`ABSENT`].
    #[inline]
    pub(crate) fn take(&mut self, node: u32) -> u32 {
        let entry = node as usize / PAGE;
        let place = self.directory[entry];
        if place == ABSENT {
            return ABSENT;
        }
        let page = &mut self.pages[place as usize];
        let number = std::mem::replace(&mut page.numbers[node as usize % PAGE], ABSENT);
        page.count -= u32::from(number != ABSENT);
        if page.count == 0 {
            self.directory[entry] = ABSENT;
            self.free.push(place);
        }
        number
    }

    fn new_page(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.pages.push(Page { numbers: [ABSENT; PAGE], count: 0 });
            self.pages.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use phineus_bytecode::random::{SeededRng, Seeds};

    use super::*;

    #[test]
    fn a_table_is_a_map() {
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        let (mut table, mut map) = (NodeTable::new(5000), HashMap::new());
        for number in 0..100_000 {
            let node = random.below(5000) as u32;
            let expected = map.get(&node).copied().unwrap_or(ABSENT);
            assert_eq!(table.get(node), expected, "seed {seed}");
            if expected == ABSENT {
                table.put(node, number);
                map.insert(node, number);
            } else if random.below(3) > 0 {
                assert_eq!(table.take(node), expected, "seed {seed}");
                map.remove(&node);
            }
        }
        for node in 0..5000 {
            assert_eq!(table.take(node), map.remove(&node).unwrap_or(ABSENT), "seed {seed}");
        }
        assert!(
            table.free.len() == table.pages.len() && table.pages.len() <= 5000_usize.div_ceil(PAGE)
        );
    }
}
