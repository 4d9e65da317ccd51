//! [`Allocation`]: the address of each wire, in block RAM or in DDR, which the host chooses.
//!
//! Source: sections 3.4.1 and 3.4.2. An address has 21 bits. Its lowest bit says where it is: 0 DDR, 1 block RAM. Inputs
//! come by DMA, so they are in DDR. Words 0 and 1 of the block RAM are never written: they
//! are the labels of the constants, 0 and the offset.

use super::layers::Layers;
use super::netlist::{Netlist, WireId};

/// Bits of an address with its flag: three addresses take two registers of 32 bits (section 3.4.1).
pub const ADDRESS_BITS: u32 = 2 * 32 / 3;

/// Words of one half of the block RAM: 6.75 Mbit of words of 108 bits (section 3.1.3).
pub const HALF_WORDS: u32 = (27 << 18) / 108;

/// Words of block RAM: both halves, 13.5 Mbit. Section 3.4.2 says 13 Mbit.
pub const BLOCK_RAM_WORDS: u32 = 2 * HALF_WORDS;

/// Words that are constants. The other half leaves them free too.
pub const CONSTANT_WORDS: u32 = 2;

const _: () = assert!(HALF_WORDS == 1 << 16 && ADDRESS_BITS == 21);

/// Where a label is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(u32);

impl Address {
    /// A word of block RAM.
    pub const fn block_ram(word: u32) -> Address {
        Address(word << 1 | 1)
    }

    /// A label in DDR. There are four in 512 bits.
    pub const fn ddr(place: u32) -> Address {
        Address(place << 1)
    }

    /// Whether it is in block RAM.
    pub fn is_block_ram(self) -> bool {
        self.0 & 1 == 1
    }

    /// Word of block RAM, or place in DDR.
    pub fn place(self) -> u32 {
        self.0 >> 1
    }

    /// The bits of a register.
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// Which results are stored on chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// None.
    DdrOnly,
    /// Those that only one gate reads, in the next layer. A layer writes one half and reads the other. What does not fit
    /// into a half is in DDR.
    DirectlyUsed,
    /// The results with the most accesses, for the whole run; no word is used twice.
    MostFrequentlyUsed {
        /// Words that are used.
        words: u32,
    },
}

/// Addresses of all wires.
pub struct Allocation {
    addresses: Vec<Address>,
    /// Labels in DDR.
    pub ddr_labels: u32,
    /// Results in block RAM.
    pub on_chip: u32,
    /// Results that the directly-used policy wants on chip, but a half was full.
    pub overflow: u32,
}

impl Allocation {
    /// Gives each wire its place.
    ///
    /// # Panics
    /// If the most frequently used policy has more words than the block RAM.
    pub fn new(netlist: &Netlist, layers: &Layers, policy: MemoryPolicy) -> Allocation {
        let mut allocation = Allocation {
            addresses: vec![Address::block_ram(0); netlist.wires_end as usize],
            ddr_labels: 0,
            on_chip: 0,
            overflow: 0,
        };
        allocation.addresses[WireId::ONE.index()] = Address::block_ram(1);
        let constants = netlist.constants.iter().map(|(wire, _)| *wire);
        for wire in netlist.inputs.iter().copied().chain(constants) {
            allocation.place_in_ddr(wire);
        }
        let frequent = match policy {
            MemoryPolicy::MostFrequentlyUsed { words } => most_frequent(layers, words),
            MemoryPolicy::DdrOnly | MemoryPolicy::DirectlyUsed => Vec::new(),
        };
        let (mut layer, mut used) = (0, 0);
        for gate in &layers.gates {
            let wire = gate.out;
            if layers.layer_of(wire) != layer {
                (layer, used) = (layers.layer_of(wire), CONSTANT_WORDS);
            }
            match policy {
                MemoryPolicy::DirectlyUsed if layers.is_direct(wire) && used < HALF_WORDS => {
                    let word = layer % 2 * HALF_WORDS + used;
                    allocation.place_on_chip(wire, word);
                    used += 1;
                }
                MemoryPolicy::MostFrequentlyUsed { .. } if frequent[wire.index()] => {
                    allocation.place_on_chip(wire, allocation.on_chip + CONSTANT_WORDS);
                }
                MemoryPolicy::DirectlyUsed if layers.is_direct(wire) => {
                    allocation.overflow += 1;
                    allocation.place_in_ddr(wire);
                }
                _ => allocation.place_in_ddr(wire),
            }
        }
        allocation
    }

    /// The place of a wire.
    pub fn address(&self, wire: WireId) -> Address {
        self.addresses[wire.index()]
    }

    /// Whether all addresses have [`ADDRESS_BITS`], which packed registers need.
    pub fn fits_packed_registers(&self) -> bool {
        self.addresses.iter().all(|address| address.bits() < 1 << ADDRESS_BITS)
    }

    fn place_in_ddr(&mut self, wire: WireId) {
        self.addresses[wire.index()] = Address::ddr(self.ddr_labels);
        self.ddr_labels += 1;
    }

    fn place_on_chip(&mut self, wire: WireId, word: u32) {
        self.addresses[wire.index()] = Address::block_ram(word);
        self.on_chip += 1;
    }
}

/// Marks the `words` results of gates that are read most often; earlier results first among equals.
fn most_frequent(layers: &Layers, words: u32) -> Vec<bool> {
    assert!(words <= BLOCK_RAM_WORDS - CONSTANT_WORDS, "two words are constants");
    let mut wires: Vec<WireId> = layers.gates.iter().map(|gate| gate.out).collect();
    wires.sort_by_key(|&wire| std::cmp::Reverse(layers.fan_out(wire)));
    wires.truncate(words as usize);
    let mut is_frequent = Vec::new();
    for wire in wires {
        if wire.index() >= is_frequent.len() {
            is_frequent.resize(wire.index() + 1, false);
        }
        is_frequent[wire.index()] = true;
    }
    let wires_end = layers.gates.iter().map(|gate| gate.out.index() + 1).max().unwrap_or(0);
    is_frequent.resize(wires_end, false);
    is_frequent
}
