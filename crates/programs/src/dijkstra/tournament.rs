//! [`Tournament`]: keys by number, and which is least.
//!
//! A binary tree whose leaves are the keys. A node has the least key of each of its halves, and where it is, so that an
//! update takes one access of each level: the node above the leaf, then the node above that. The root is no memory.

use phineus_bytecode::{ElementType, Lane, mask_of};
use phineus_frontend::{Records, Tracer, Value, lanes_for};
use phineus_oblivious::{Memory, MemoryMethod};

use super::super::graph::bits_below;

/// A least key, and the number that has it: its bits below the node at hand, or nothing at a leaf.
#[derive(Clone)]
struct Winner {
    key: Value,
    number: Option<Value>,
}

impl Winner {
    /// The better of two halves, the left one if both are equal.
    #[track_caller]
    fn of(left: &Winner, right: &Winner) -> Winner {
        let is_right = right.key.lt(&left.key);
        let key = is_right.select(&right.key, &left.key);
        let number = match (&left.number, &right.number) {
            (Some(left), Some(right)) => is_right.select(right, left).bit_concat(&is_right),
            _ => is_right,
        };
        Winner { key, number: Some(number) }
    }

    /// From cells of a row: the key, and the number if there is one.
    fn from_cells(cells: &[Value]) -> Winner {
        Winner { key: cells[0].clone(), number: cells.get(1).cloned() }
    }

    fn cells(&self) -> impl Iterator<Item = &Value> {
        [&self.key].into_iter().chain(&self.number)
    }
}

/// Keys by number.
pub(super) struct Tournament {
    /// From the level above the leaves up to the one below the root.
    levels: Vec<Memory>,
    /// The halves of the root, and the winner.
    root: [Winner; 2],
    least: Winner,
}

impl Tournament {
    /// The largest key for all of `count` numbers.
    #[track_caller]
    pub(super) fn new(
        tracer: &Tracer,
        key: ElementType,
        count: u64,
        method: Option<MemoryMethod>,
    ) -> Tournament {
        let height = bits_below(count);
        let level = |below: u16| {
            let nodes = 1u64 << (height - 1 - below);
            let lanes = lanes_for(key.width().max(below)).min(nodes as u32);
            let half = nobody(tracer, key, below);
            let cells = || half.cells().chain(half.cells());
            let chunks = |cell: &Value| vec![cell.tile(lanes); (nodes / u64::from(lanes)) as usize];
            let elements: Vec<ElementType> = cells().map(Value::element).collect();
            let columns = cells().map(chunks).collect();
            let rows = Records::from_pieces(tracer, lanes, &elements, columns);
            Memory::named(&format!("tournament {nodes}"), rows, method)
        };
        let half = nobody(tracer, key, height - 1);
        let least = Winner::of(&half, &half);
        Tournament {
            levels: (0..height - 1).map(level).collect(),
            root: [half.clone(), half],
            least,
        }
    }

    /// The least key, and a number that has it.
    pub(super) fn least(&self) -> (Value, Value) {
        let Winner { key, number } = &self.least;
        (key.clone(), number.clone().expect("the root has two halves"))
    }

    /// Gives a number another key if `enable` is 1.
    #[track_caller]
    pub(super) fn update(&mut self, number: &Value, key: &Value, enable: &Value) {
        let mut winner = Winner { key: key.clone(), number: None };
        for (below, level) in (0..).zip(&mut self.levels) {
            let is_right = number.bit_slice(below, 1);
            let node = number.bit_slice(below + 1, number.width() - below - 1);
            let mut new = None;
            level.update(&node, |row| {
                let [left, right] = replaced(row, &winner, &is_right, enable);
                let cells = left.cells().chain(right.cells()).cloned().collect();
                new = Some(Winner::of(&left, &right));
                cells
            });
            winner = new.expect("an access changes a row");
        }
        let is_right = number.bit_slice(number.width() - 1, 1);
        let row: Vec<Value> = self.root.iter().flat_map(Winner::cells).cloned().collect();
        self.root = replaced(&row, &winner, &is_right, enable);
        self.least = Winner::of(&self.root[0], &self.root[1]);
    }
}

/// The halves of a node, one of which is `winner` if `enable` is 1.
#[track_caller]
fn replaced(row: &[Value], winner: &Winner, is_right: &Value, enable: &Value) -> [Winner; 2] {
    let (left, right) = row.split_at(row.len() / 2);
    let right_bit = is_right.and(enable);
    let left_bit = enable.xor(&right_bit);
    [(left, left_bit), (right, right_bit)].map(|(half, bit)| {
        let cells = winner.cells().zip(half).map(|(new, old)| bit.select(new, old));
        Winner::from_cells(&cells.collect::<Vec<_>>())
    })
}

/// The winner where nothing was updated: the largest key, and the first number, which has so many bits.
#[track_caller]
fn nobody(tracer: &Tracer, key: ElementType, number_bits: u16) -> Winner {
    let number = (number_bits > 0).then(|| ElementType::unsigned(number_bits));
    Winner {
        key: tracer.constant(key, mask_of(key.width())),
        number: number.map(|number| tracer.constant(number, Lane::ZERO)),
    }
}
