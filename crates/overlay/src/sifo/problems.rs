//! [`Problem`]: the fourteen problems of SIFO and its page ranks, with what Tables 1, 3 and 4 say of them.
//!
//! All counts of Tables 1 and 3 are those of our netlists, except where the paper contradicts itself:
//! * 6-bit adder: 17 layers and 42 wires. Its 6 ANDs and 24 XORs are a chain of 18 layers, and an adder has a wire for the
//!   carry in every other row, which makes 43.
//! * 30-bit Hamming distance: Table 3 says A = 163, B = 147, C = 11, but A - B = C in every other row. A = 174, B = 163,
//!   C = 11 is right: the columns are shifted and two digits exchanged. Table 4 repeats the mistake.
//! * 10x10 4-bit product: 7,526 ANDs, but n³(2w² - w) + n²(n - 1)w, which holds in all other rows, is 31,600. The counts of
//!   gates, A, B, C and D are 23.8 % of the whole, so this is a part of it.
//! * Sort: 4,638 XORs, but 5,717 wires are right only for 4,664. Ten keys of each of two parties are sorted, twenty in all.
//! * Inputs: Table 1 counts those of one party for the sort and the products of matrices. Outputs: it counts 40 bits of the
//!   sort, 2w bits for a sum that has w, and n bits for a Hamming distance that has 5 to 7.
//! * Table 1, last column: ANDs / 10, not batches of 10 within layers; 1 for 20 ANDs.

use super::circuits::Circuit;
use super::layers::Statistics;
use super::netlist::{Gate, GateKind, Netlist, WireId};

/// A problem of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Sum of two numbers of this many bits.
    Adder(usize),
    /// Hamming distance of two strings of this many bits.
    HammingDistance(usize),
    /// Full product of two numbers of this many bits.
    Product(usize),
    /// Ten 4-bit numbers of each party, sorted.
    Sort,
    /// Product of square matrices; elements are sums modulo 2^`width`.
    MatrixProduct {
        /// Rows and columns.
        side: usize,
        /// Bits of an element.
        width: usize,
    },
    /// Page rank of this many nodes. The paper has no counts; the circuit is ours.
    PageRank(usize),
}

/// The fourteen problems in the order of Tables 1, 3, 4 and 11.
pub const PROBLEMS: [Problem; 14] = [
    Problem::Adder(6),
    Problem::HammingDistance(10),
    Problem::HammingDistance(30),
    Problem::HammingDistance(50),
    Problem::Product(8),
    Problem::Product(16),
    Problem::Product(32),
    Problem::Product(64),
    Problem::Sort,
    Problem::MatrixProduct { side: 5, width: 4 },
    Problem::MatrixProduct { side: 10, width: 4 },
    Problem::MatrixProduct { side: 5, width: 8 },
    Problem::MatrixProduct { side: 10, width: 8 },
    Problem::MatrixProduct { side: 20, width: 4 },
];

/// Bits of a rank: a fixed-point number.
const RANK_BITS: usize = 32;
const PAGE_RANK_ITERATIONS: usize = 2;

impl Problem {
    /// Its name in the paper.
    pub fn name(self) -> String {
        match self {
            Problem::Adder(width) => format!("{width}-bit adder"),
            Problem::HammingDistance(width) => format!("{width}-bit HD"),
            Problem::Product(width) => format!("{width}-bit mult"),
            Problem::Sort => "10 4-bit sort".to_owned(),
            Problem::MatrixProduct { side, width } => format!("{side}x{side} {width}-bit m_mult"),
            Problem::PageRank(nodes) => format!("{nodes} PR"),
        }
    }

    /// The netlist as FlexSC makes it.
    pub fn netlist(self) -> Netlist {
        let mut circuit = Circuit::default();
        match self {
            Problem::Adder(width) => {
                let (x, y) = (circuit.input(width), circuit.input(width));
                let sum = circuit.add(&x, &y);
                circuit.output(&sum);
            }
            Problem::HammingDistance(width) => {
                let (x, y) = (circuit.input(width), circuit.input(width));
                let differs = circuit.xor_all(&x, &y);
                let count = circuit.count_ones(&differs);
                circuit.output(&count);
            }
            Problem::Product(width) => {
                let (x, y) = (circuit.input(width), circuit.input(width));
                let product = circuit.multiply_full(&x, &y);
                circuit.output(&product);
            }
            Problem::Sort => {
                let mut keys: Vec<Vec<WireId>> = (0..20).map(|_| circuit.input(4)).collect();
                circuit.sort(&mut keys);
                keys.iter().for_each(|key| circuit.output(key));
            }
            Problem::MatrixProduct { side, width } => matrix_product(&mut circuit, side, width),
            Problem::PageRank(nodes) => page_rank(&mut circuit, nodes),
        }
        circuit.finish()
    }

    /// The counts of Tables 1 and 3 as printed, if they have the problem.
    pub fn published(self) -> Option<Statistics> {
        let place = PROBLEMS.iter().position(|problem| *problem == self)?;
        let [layers, ands, xors, wires, single_use, direct, single_use_later, max] = COUNTS[place];
        Some(Statistics {
            layers,
            ands,
            xors,
            wires,
            single_use,
            direct,
            single_use_later,
            direct_in_layer_max: max,
        })
    }

    /// The netlist that was timed: of the 10x10 4-bit product the first 30,015 gates, else [`Problem::netlist`].
    pub fn timed_netlist(self) -> Netlist {
        let mut netlist = self.netlist();
        if self == (Problem::MatrixProduct { side: 10, width: 4 }) {
            let counts = self.published().expect("the tables have it");
            netlist.gates.truncate(counts.ands + counts.xors);
            let end = netlist.gates.last().expect("there are gates").out;
            netlist.constants.retain(|(wire, _)| *wire <= end);
            netlist.outputs.retain(|wire| *wire <= end);
        }
        netlist
    }
}

/// Layers, ANDs, XORs (Table 1), wires, A, B, C, Max D (Table 3), as printed.
const COUNTS: [[usize; 8]; 14] = [
    [17, 6, 24, 42, 12, 12, 0, 1],
    [22, 20, 90, 140, 55, 50, 5, 7],
    [27, 60, 270, 420, 163, 147, 11, 22],
    [32, 100, 450, 700, 293, 269, 24, 37],
    [57, 120, 352, 495, 296, 247, 49, 64],
    [121, 496, 1472, 2015, 1232, 1007, 225, 256],
    [249, 2016, 6016, 8127, 5024, 4063, 961, 1024],
    [505, 8128, 24320, 32639, 20288, 16319, 3969, 4096],
    [278, 848, 4638, 5717, 2968, 2136, 832, 40],
    [25, 3900, 11600, 16175, 9700, 8350, 1350, 2000],
    [27, 7526, 22489, 31472, 18768, 16051, 2717, 3809],
    [57, 15800, 47200, 64375, 39400, 32850, 6550, 8000],
    [57, 127_200, 380_800, 517_500, 317_600, 263_400, 54_200, 64_000],
    [37, 254_400, 761_600, 1_050_800, 635_200, 541_600, 93_600, 128_000],
];

fn matrix_product(circuit: &mut Circuit, side: usize, width: usize) {
    let mut matrix = || (0..side * side).map(|_| circuit.input(width)).collect::<Vec<_>>();
    let (left, right) = (matrix(), matrix());
    for row in 0..side {
        for column in 0..side {
            let mut sum = Vec::new();
            for k in 0..side {
                let x = &left[row * side + k];
                let product = circuit.multiply_full(x, &right[k * side + column]);
                let low = &product[..width];
                sum = if k == 0 { low.to_vec() } else { circuit.add(&sum, low) };
            }
            circuit.output(&sum);
        }
    }
}

/// Ranks of a graph whose adjacency matrix is secret, `nodes`² bits, and whose outgoing degrees are inputs: in each
/// iteration a rank is divided by the degree, sent along the edges, summed, and damped by a secret factor.
fn page_rank(circuit: &mut Circuit, nodes: usize) {
    let edges: Vec<Vec<WireId>> = (0..nodes).map(|_| circuit.input(nodes)).collect();
    let degrees: Vec<Vec<WireId>> = (0..nodes).map(|_| circuit.input(RANK_BITS)).collect();
    let mut ranks: Vec<Vec<WireId>> = (0..nodes).map(|_| circuit.input(RANK_BITS)).collect();
    let damping = circuit.input(RANK_BITS);
    for _ in 0..PAGE_RANK_ITERATIONS {
        let shares: Vec<Vec<WireId>> =
            ranks.iter().zip(&degrees).map(|(rank, degree)| circuit.divide(rank, degree)).collect();
        for (node, rank) in ranks.iter_mut().enumerate() {
            let mut sum = vec![WireId::ZERO; RANK_BITS];
            for (share, edges) in shares.iter().zip(&edges) {
                let sent: Vec<WireId> =
                    share.iter().map(|&bit| circuit.and(bit, edges[node])).collect();
                sum = circuit.add(&sum, &sent);
            }
            *rank = circuit.multiply_full(&sum, &damping)[RANK_BITS..].to_vec();
        }
    }
    ranks.iter().for_each(|rank| circuit.output(rank));
}

/// Percentages of Table 4, derived from counts: A of all wires, B of A, B of all wires.
pub fn percentages(counts: Statistics) -> [f64; 3] {
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
    [
        percent(counts.single_use, counts.wires),
        percent(counts.direct, counts.single_use),
        percent(counts.direct, counts.wires),
    ]
}

/// Table 4 as printed: percentages A, B, C.
pub const PUBLISHED_PERCENTAGES: [[f64; 3]; 14] = [
    [28.57, 100.0, 28.6],
    [39.29, 90.9, 35.7],
    [35.00, 90.2, 38.8],
    [41.86, 91.8, 38.4],
    [59.80, 83.4, 49.9],
    [61.14, 81.7, 50.0],
    [61.82, 80.9, 50.0],
    [62.16, 80.4, 50.0],
    [51.92, 72.0, 37.4],
    [59.97, 86.1, 51.6],
    [59.63, 85.5, 51.0],
    [61.20, 83.4, 51.0],
    [61.37, 82.9, 50.9],
    [60.45, 85.3, 51.5],
];

/// The gates of Table 1 that our own netlists of the same functions take, ANDs and XORs: constants folded.
pub fn folded_counts(netlist: &Netlist) -> (usize, usize) {
    // A wire is a constant, or a representative wire, possibly complemented.
    let mut known: Vec<Folded> = vec![Folded::Constant(false); netlist.wires_end as usize];
    let (mut ands, mut xors) = (0, 0);
    known[WireId::ONE.index()] = Folded::Constant(true);
    netlist.inputs.iter().for_each(|&wire| known[wire.index()] = Folded::Wire(wire, false));
    for &(wire, value) in &netlist.constants {
        known[wire.index()] = Folded::Constant(value);
    }
    for Gate { kind, a, b, out } in netlist.gates.iter().copied() {
        let (a, b) = (known[a.index()], known[b.index()]);
        let folded = match kind {
            GateKind::Xor => a.xor(b),
            GateKind::And => a.and(b),
        };
        if folded.is_none() {
            match kind {
                GateKind::Xor => xors += 1,
                GateKind::And => ands += 1,
            }
        }
        known[out.index()] = folded.unwrap_or(Folded::Wire(out, false));
    }
    (ands, xors)
}

#[derive(Clone, Copy)]
enum Folded {
    Constant(bool),
    Wire(WireId, bool),
}

impl Folded {
    fn xor(self, other: Folded) -> Option<Folded> {
        Some(match (self, other) {
            (Folded::Constant(x), Folded::Constant(y)) => Folded::Constant(x ^ y),
            (Folded::Constant(x), Folded::Wire(wire, not))
            | (Folded::Wire(wire, not), Folded::Constant(x)) => Folded::Wire(wire, not ^ x),
            (Folded::Wire(x, not_x), Folded::Wire(y, not_y)) if x == y => {
                Folded::Constant(not_x ^ not_y)
            }
            (Folded::Wire(..), Folded::Wire(..)) => return None,
        })
    }

    fn and(self, other: Folded) -> Option<Folded> {
        Some(match (self, other) {
            (Folded::Constant(false), _) | (_, Folded::Constant(false)) => Folded::Constant(false),
            (Folded::Constant(true), known) | (known, Folded::Constant(true)) => known,
            (Folded::Wire(x, not_x), Folded::Wire(y, not_y)) if x == y => match not_x == not_y {
                true => Folded::Wire(x, not_x),
                false => Folded::Constant(false),
            },
            (Folded::Wire(..), Folded::Wire(..)) => return None,
        })
    }
}
