//! Rows of cells that are allocated when they are written: an array that is never written costs
//! nothing.
//!
//! A row is pages of cells, each made by the first write to it. Elsewhere a cell is that of a
//! pattern which repeats: what is not set, or the zeros of one element of an array.
//!
//! Cost: 16 bytes a cell of pages that are made, 16 bytes a page before the last of these.
//! Invariant: all rows together have no more cells than their [`CellBudget`], nor than the computer
//! has memory for; the write that would need more does not happen, and the budget is spent from
//! then on.

use crate::memory::cell::{MemoryCell, finer};

/// Cells of a page: 16 KiB, so that arrays that are written here and there stay small, and finding
/// a page costs little beside what is done with it.
const PAGE_CELLS: usize = 1024;

/// Cells of all objects of a program together: 2 GiB. Tests reach it with 2 MiB.
pub(crate) const CELLS_MAX: u64 = if cfg!(test) { 1 << 17 } else { 1 << 27 };

/// Memory that is kept until there is no other, so that this can be said.
const RESERVE_BYTES: usize = 1 << 20;

/// Why no more cells are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoMoreCells {
    /// There are [`CELLS_MAX`].
    Limit,
    /// The computer has no memory.
    Computer,
}

/// The cells that may still be made.
pub(crate) struct CellBudget {
    left: u64,
    pub(crate) full: Option<NoMoreCells>,
    reserve: Vec<u8>,
}

/// A row of cells.
pub(crate) struct CellPages {
    count: usize,
    /// Cells that repeat where no page was made.
    pattern: Box<[MemoryCell]>,
    pages: Vec<Option<Box<[MemoryCell]>>>,
}

impl Default for CellBudget {
    fn default() -> CellBudget {
        CellBudget { left: CELLS_MAX, full: None, reserve: Vec::with_capacity(RESERVE_BYTES) }
    }
}

impl CellBudget {
    fn take(&mut self, cells: usize) -> bool {
        match self.left.checked_sub(cells as u64) {
            Some(left) if self.full.is_none() => self.left = left,
            _ => self.fill(NoMoreCells::Limit),
        }
        self.full.is_none()
    }

    pub(crate) fn fill(&mut self, why: NoMoreCells) {
        self.full = self.full.or(Some(why));
        self.reserve = Vec::new();
    }

    /// Takes back the cells of a row that is no more.
    pub(crate) fn give_back(&mut self, pages: &CellPages) {
        self.left += pages.made() as u64;
    }
}

impl CellPages {
    /// A row of `count` cells that are not set.
    pub(crate) fn new(count: usize) -> CellPages {
        CellPages::repeated(count, Box::new([MemoryCell::Undefined]))
    }

    /// A row of `count` cells that repeat a pattern.
    pub(crate) fn repeated(count: usize, pattern: Box<[MemoryCell]>) -> CellPages {
        assert!(!pattern.is_empty(), "a pattern has cells");
        CellPages { count, pattern, pages: Vec::new() }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&MemoryCell> {
        if index >= self.count {
            return None;
        }
        let page = self.pages.get(index / PAGE_CELLS).and_then(Option::as_ref);
        Some(match page {
            Some(page) => &page[index % PAGE_CELLS],
            None => &self.pattern[index % self.pattern.len()],
        })
    }

    /// A cell that must be there.
    pub(crate) fn at(&self, index: usize) -> &MemoryCell {
        self.get(index).expect("accesses are checked")
    }

    /// Makes all pages from one cell to another; `false` if the budget is spent.
    pub(crate) fn make(&mut self, first: usize, last: usize, budget: &mut CellBudget) -> bool {
        let last = last.min(self.count.saturating_sub(1));
        (first / PAGE_CELLS..=last / PAGE_CELLS).all(|page| self.make_page(page, budget))
    }

    fn make_page(&mut self, page: usize, budget: &mut CellBudget) -> bool {
        if let Some(Some(_)) = self.pages.get(page) {
            return budget.full.is_none();
        }
        let first = page * PAGE_CELLS;
        let cells = PAGE_CELLS.min(self.count.saturating_sub(first));
        if !budget.take(cells) {
            return false;
        }
        let mut made = Vec::new();
        let more = (page + 1).saturating_sub(self.pages.len());
        if made.try_reserve_exact(cells).is_err() || self.pages.try_reserve(more).is_err() {
            budget.fill(NoMoreCells::Computer);
            return false;
        }
        let period = self.pattern.len();
        made.extend((first..first + cells).map(|index| self.pattern[index % period].clone()));
        if more > 0 {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some(made.into_boxed_slice());
        true
    }

    /// A cell to write to; `None` if there is none, or the budget is spent.
    pub(crate) fn cell_mut(
        &mut self,
        index: usize,
        budget: &mut CellBudget,
    ) -> Option<&mut MemoryCell> {
        if index >= self.count || !self.make_page(index / PAGE_CELLS, budget) {
            return None;
        }
        self.pages[index / PAGE_CELLS].as_mut()?.get_mut(index % PAGE_CELLS)
    }

    /// Each cell as `factor` cells, `count` in all; `false` if the budget is spent.
    pub(crate) fn refine(&mut self, factor: u32, count: usize, budget: &mut CellBudget) -> bool {
        if !budget.take(self.made() * (factor as usize - 1)) {
            return false;
        }
        let split = |cells: &[MemoryCell]| -> Vec<MemoryCell> {
            cells.iter().flat_map(|cell| finer(cell.clone(), factor)).collect()
        };
        let old = std::mem::take(&mut self.pages);
        let before = old.iter().flatten().map(|page| page.len()).sum::<usize>();
        self.pattern = split(&self.pattern).into_boxed_slice();
        self.count = count;
        for page in old {
            let Some(page) = page else {
                self.pages.extend((0..factor).map(|_| None));
                continue;
            };
            let first = self.pages.len() * PAGE_CELLS;
            let cells = split(&page);
            let kept = cells.len().min(count - first);
            self.pages.extend(cells[..kept].chunks(PAGE_CELLS).map(|cells| Some(cells.into())));
        }
        // The last page may have been longer than what is left of it.
        budget.left += (before * factor as usize - self.made()) as u64;
        true
    }

    /// The first cells, which become the pattern of another row.
    pub(crate) fn copied(&self) -> Box<[MemoryCell]> {
        (0..self.count).map(|index| self.at(index).clone()).collect()
    }

    /// Cells that were made.
    fn made(&self) -> usize {
        self.pages.iter().flatten().map(|page| page.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CProgram;
    use crate::data::CellValue;
    use phineus_frontend::Arguments;

    fn public(value: u128) -> MemoryCell {
        MemoryCell::new(&CellValue::Public(value), 1)
    }

    fn shown(pages: &CellPages) -> Vec<Option<u64>> {
        let value = |index| match pages.at(index) {
            MemoryCell::Public(value, _) => Some(*value),
            _ => None,
        };
        (0..pages.count).map(value).collect()
    }

    #[test]
    fn rows_are_as_if_all_their_cells_were_made() {
        for (count, pattern) in [(1, 1), (7, 2), (1024, 1), (1025, 3), (5000, 7), (0, 1)] {
            let cells: Vec<MemoryCell> = (0..pattern).map(|k| public(100 + k)).collect();
            let mut plain: Vec<Option<u64>> =
                (0..count).map(|index| Some(100 + index as u64 % pattern as u64)).collect();
            let mut budget = CellBudget::default();
            let mut pages = CellPages::repeated(count, cells.into());
            assert_eq!(shown(&pages), plain);
            for at in (0..count).step_by(977).chain([count.saturating_sub(1), count]) {
                let there = pages.cell_mut(at, &mut budget).map(|cell| *cell = public(7)).is_some();
                assert_eq!(there, at < count);
                plain.iter_mut().skip(at).take(1).for_each(|cell| *cell = Some(7));
            }
            assert_eq!(shown(&pages), plain);
            // Of the last cell there is one part less.
            let fine = (count * 4).saturating_sub(1);
            assert!(pages.refine(4, fine, &mut budget));
            let tails = |cell: &Option<u64>| [*cell, None, None, None];
            let finer: Vec<Option<u64>> = plain.iter().flat_map(tails).take(fine).collect();
            assert_eq!(shown(&pages), finer);
            assert_eq!(budget.left, CELLS_MAX - pages.made() as u64);
            budget.give_back(&pages);
            assert_eq!((budget.left, budget.full), (CELLS_MAX, None));
        }
    }

    /// The diagnostics of a program, as text.
    fn faults(text: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder for the program");
        let path = folder.path().join("large.c");
        std::fs::write(&path, format!("#include <phineus.h>\n{text}")).expect("it is written");
        let program = CProgram::open(&path).expect("it is a program");
        let arguments = Arguments::new(&program, []).expect("defaults are arguments");
        let found = program.check(&arguments).expect("it can be looked at");
        let errors = found.iter().filter(|diagnostic| diagnostic.is_error);
        errors.map(|d| format!("{}: {}", d.spot.line, d.message)).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_program_that_holds_too_much_is_refused_at_its_line() {
        let main = "PH_MAIN PH_OUT(a) uint32_t f(PH_IN(a) uint32_t x)\n{\n";
        let too_much = format!("hold more than {CELLS_MAX} elements");
        // In order and in lanes, by writing here and there, at once, by a copy, of many objects.
        for body in [
            "for (int i = 1; i < N; i++)\nbig[i] = big[i - 1] + 1;",
            "for (int i = 0; i < N; i++)\nbig[i] = x + i;",
            "for (int i = 0; i < N; i += 500)\nbig[i] = i;",
            "\nmemset((void *)big, 1, sizeof big);",
            "\nmemcpy((void *)big, (void *)other, sizeof big);",
            "for (int i = 0; i < 600; i++)\n*(volatile uint32_t *)calloc(1000, 4) = i;",
        ] {
            let globals = "enum { N = 300000 };\nstatic volatile uint32_t big[N], other[N];\n";
            let found =
                faults(&format!("{globals}{main}{body}\nreturn big[x & 7] + other[9];\n}}"));
            assert!(found.contains(&too_much), "{body}: {found}");
            // The line of the loop, or of what it does.
            assert!(["6: ", "7: "].iter().any(|line| found.starts_with(line)), "{body}: {found}");
        }
    }

    #[test]
    fn what_was_not_written_takes_no_cells() {
        let mut budget = CellBudget::default();
        let mut pages = CellPages::new(1 << 32);
        assert!(pages.cell_mut((1 << 32) - 1, &mut budget).is_some());
        assert!(pages.cell_mut(0, &mut budget).is_some());
        assert_eq!(pages.made(), 2 * PAGE_CELLS);
    }

    #[test]
    fn a_spent_budget_gives_no_more() {
        let mut budget = CellBudget { left: 1500, ..CellBudget::default() };
        let mut pages = CellPages::new(4000);
        assert!(pages.make(0, 10, &mut budget));
        assert!(!pages.make(1000, 1100, &mut budget) && budget.full == Some(NoMoreCells::Limit));
        assert!(pages.cell_mut(3, &mut budget).is_none(), "nothing is written any more");
        assert!(!pages.refine(2, 8000, &mut budget) && pages.count == 4000);
    }
}
