//! [`Flow`]: which block of a program runs after which, decided by values that all parties know.
//!
//! A program of several blocks is a list of straight-line programs ([`crate::binary::BlockDirectory`]).
//! Each ends with *steps* on public registers, of 64 bits each, all 0 at the start: what the block
//! opened goes into a register, registers are computed with, and a register may become a carried
//! value. Then comes the next block, or the end. Execution begins with block 0, which alone has
//! inputs and is never entered again. A block that is repeated runs its stated number of iterations before it
//! leads on.
//!
//! Invariants, which [`Flow::faults`] and `verify_blocks` check: all registers, blocks and ports
//! exist; a carried value is loaded only where every path from the start has stored it.
//!
//! Public by nature: which blocks run, how often, and all registers.

mod missing;

use serde::{Deserialize, Serialize};

use crate::description::Description;
use crate::limits::{BLOCKS_MAX, ITERATIONS_MAX, REGISTER_BITS, REGISTERS_MAX};
use crate::meaning::Lane;

/// The blocks of a program, as far as they say what runs next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// How many public registers there are.
    pub registers: u32,
    /// How each block ends.
    pub blocks: Vec<BlockEnd>,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockEnd {
    /// Operations on registers, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<RegisterStep>,
    /// The block that runs next.
    pub next: Successor,
}

/// One operation on registers at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum RegisterStep {
    /// `register` becomes what the block opened as an output port, extended by its sign if signed.
    Open {
        /// Where it goes.
        register: u32,
        /// The output port.
        port: u32,
    },
    /// `register` becomes a constant.
    Set {
        /// Where it goes.
        register: u32,
        /// The constant.
        value: u64,
    },
    /// `register` becomes `a op b`.
    Compute {
        /// Where it goes.
        register: u32,
        /// The operation.
        op: RegisterOp,
        /// The first operand.
        a: u32,
        /// The second operand.
        b: u32,
    },
    /// A carried value becomes the register, cut to its type, in every lane.
    Publish {
        /// The carried value.
        slot: u32,
        /// The register.
        register: u32,
    },
}

/// Successor of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Successor {
    /// Nothing.
    End,
    /// A block.
    Jump {
        /// Its number.
        block: u32,
    },
    /// The block itself, until it has run `iterations` times in a row; then another one.
    Repeat {
        /// The block's own number.
        block: u32,
        /// How often it runs.
        iterations: u64,
        /// The block behind it.
        then: u32,
    },
    /// One of two blocks.
    Branch {
        /// The register that decides.
        register: u32,
        /// The block if the register is not 0.
        nonzero: u32,
        /// The block if it is.
        zero: u32,
    },
}

impl Successor {
    /// The blocks that may run next.
    pub fn blocks(self) -> impl Iterator<Item = usize> {
        let (first, second) = match self {
            Successor::End => (None, None),
            Successor::Jump { block } => (Some(block), None),
            Successor::Repeat { block, then, .. } => (Some(block), Some(then)),
            Successor::Branch { nonzero, zero, .. } => (Some(nonzero), Some(zero)),
        };
        first.into_iter().chain(second).map(|block| block as usize)
    }

    /// How often the block runs in a row, each time that another one leads to it.
    pub fn iterations(self) -> u64 {
        match self {
            Successor::Repeat { iterations, .. } => iterations,
            Successor::End | Successor::Jump { .. } | Successor::Branch { .. } => 1,
        }
    }
}

/// Where a run of a program is: its registers, and how often the block at hand has run in a row.
#[derive(Clone, Debug)]
pub struct FlowState {
    registers: Vec<u64>,
    iteration: u64,
}

impl FlowState {
    /// How often the block at hand has run in a row before.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }
}

macro_rules! register_ops {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal $meaning:expr;)+) => {
        /// Operations on registers, modulo 2^64.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum RegisterOp { $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+ }

        impl RegisterOp {
            /// All of them.
            pub const ALL: &[RegisterOp] = &[$(RegisterOp::$variant),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(RegisterOp::$variant => $name,)+ }
            }

            /// Description of the operation.
            pub const fn doc(self) -> &'static str {
                match self { $(RegisterOp::$variant => concat!($($doc),+),)+ }
            }

            /// `a op b`.
            pub fn apply(self, a: u64, b: u64) -> u64 {
                let meaning: fn(u64, u64) -> u64 = match self {
                    $(RegisterOp::$variant => $meaning,)+
                };
                meaning(a, b)
            }
        }
    };
}

register_ops! {
    /// Sum.
    Add = "add" u64::wrapping_add;
    /// Difference.
    Sub = "sub" u64::wrapping_sub;
    /// Product.
    Mul = "mul" u64::wrapping_mul;
    /// Bitwise and.
    And = "and" |a, b| a & b;
    /// Bitwise or; of a register with itself: a copy.
    Or = "or" |a, b| a | b;
    /// Bitwise exclusive or.
    Xor = "xor" |a, b| a ^ b;
    /// 1 if equal, else 0.
    Eq = "eq" |a, b| u64::from(a == b);
    /// 1 if different, else 0.
    Ne = "ne" |a, b| u64::from(a != b);
    /// 1 if less as unsigned integers, else 0.
    Lt = "lt" |a, b| u64::from(a < b);
    /// 1 if less or equal as unsigned integers, else 0.
    Le = "le" |a, b| u64::from(a <= b);
    /// 1 if less as signed integers, else 0.
    SignedLt = "slt" |a, b| u64::from((a as i64) < b as i64);
    /// 1 if less or equal as signed integers, else 0.
    SignedLe = "sle" |a, b| u64::from(a as i64 <= b as i64);
}

/// Interface to the values that a block opened and publishes, for those who run it.
pub trait BlockValues {
    /// Why something is not known, or cannot be published.
    type Error;

    /// The value that the block opened as output port `port`.
    ///
    /// # Errors
    /// If it is not available.
    fn opened(&self, port: u32) -> Result<Lane, Self::Error>;

    /// Makes `value` the carried value `slot`, in every lane.
    ///
    /// # Errors
    /// If it cannot.
    fn publish(&mut self, slot: u32, value: u64) -> Result<(), Self::Error>;
}

impl Flow {
    /// That of a program of one block.
    pub fn of_one_block() -> Flow {
        let end = BlockEnd { steps: Vec::new(), next: Successor::End };
        Flow { registers: 0, blocks: vec![end] }
    }

    /// The state before the first block.
    pub fn begin(&self) -> FlowState {
        FlowState { registers: vec![0; self.registers as usize], iteration: 0 }
    }

    /// Which blocks run, and how often in a row, if nothing that is opened decides it.
    pub fn stated(&self) -> Option<Vec<(usize, u64)>> {
        let mut is_seen = vec![false; self.blocks.len()];
        let mut stated = Vec::new();
        let mut next = Some(0);
        while let Some(block) = next {
            let successor = self.blocks[block].next;
            // What comes back to a block otherwise than by repeating it never ends.
            if std::mem::replace(&mut is_seen[block], true) {
                return None;
            }
            stated.push((block, successor.iterations()));
            next = match successor {
                Successor::End => None,
                Successor::Jump { block } | Successor::Repeat { then: block, .. } => {
                    Some(block as usize)
                }
                Successor::Branch { .. } => return None,
            };
        }
        Some(stated)
    }

    /// How often each block runs, if nothing that is opened decides it.
    pub fn times(&self) -> Option<Vec<u64>> {
        let mut times = vec![0; self.blocks.len()];
        self.stated()?.into_iter().for_each(|(block, iterations)| times[block] = iterations);
        Some(times)
    }

    /// As [`Flow::times`], or once each if what is opened decides it.
    pub fn times_or_once(&self) -> Vec<u64> {
        self.times().unwrap_or_else(|| vec![1; self.blocks.len()])
    }

    /// Does the steps at the end of `block`; gives the block that runs next, if one does.
    ///
    /// # Errors
    /// If what was opened is not available, or something cannot be published.
    ///
    /// # Panics
    /// If the flow has faults.
    pub fn leave<O: BlockValues>(
        &self,
        description: &Description,
        block: usize,
        state: &mut FlowState,
        openings: &mut O,
    ) -> Result<Option<usize>, O::Error> {
        let BlockEnd { steps, next } = &self.blocks[block];
        let registers = &mut state.registers;
        for step in steps {
            match *step {
                RegisterStep::Open { register, port } => {
                    let element = description.outputs[port as usize].columns[0].element;
                    let value = openings.opened(port)?.as_limbs()[0];
                    let unused = u32::from(REGISTER_BITS - element.width());
                    registers[register as usize] = match element.is_signed() {
                        true => ((value << unused) as i64 >> unused) as u64,
                        false => value,
                    };
                }
                RegisterStep::Set { register, value } => registers[register as usize] = value,
                RegisterStep::Compute { register, op, a, b } => {
                    let (a, b) = (registers[a as usize], registers[b as usize]);
                    registers[register as usize] = op.apply(a, b);
                }
                RegisterStep::Publish { slot, register } => {
                    openings.publish(slot, registers[register as usize])?;
                }
            }
        }
        state.iteration += 1;
        if let Successor::Repeat { block, iterations, .. } = *next
            && state.iteration < iterations
        {
            return Ok(Some(block as usize));
        }
        state.iteration = 0;
        Ok(match *next {
            Successor::End => None,
            Successor::Jump { block } | Successor::Repeat { then: block, .. } => {
                Some(block as usize)
            }
            Successor::Branch { register, nonzero, .. } if registers[register as usize] != 0 => {
                Some(nonzero as usize)
            }
            Successor::Branch { zero, .. } => Some(zero as usize),
        })
    }

    /// All that is wrong with it, one sentence each.
    pub fn faults(&self, description: &Description) -> Vec<String> {
        let mut faults = Vec::new();
        if self.blocks.is_empty() || self.blocks.len() > BLOCKS_MAX {
            faults.push(format!("a program has 1 to {BLOCKS_MAX} blocks"));
        }
        if self.registers > REGISTERS_MAX {
            faults.push(format!("a program has at most {REGISTERS_MAX} registers"));
        }
        for (number, BlockEnd { steps, next }) in self.blocks.iter().enumerate() {
            let mut fault = |what: String| faults.push(format!("block {number}: {what}"));
            for step in steps {
                step.faults(self.registers, description).into_iter().for_each(&mut fault);
            }
            for block in next.blocks() {
                if block >= self.blocks.len() {
                    fault(format!("there is no block {block}, only {} in all", self.blocks.len()));
                } else if block == 0 {
                    fault("the first block runs once: no other leads to it".to_owned());
                }
            }
            if let Successor::Repeat { block, iterations, then } = *next
                && (block as usize != number
                    || then as usize == number
                    || !(1..=ITERATIONS_MAX).contains(&iterations))
            {
                fault(format!(
                    "only a block itself is repeated, 1 to {ITERATIONS_MAX} times, and then another follows"
                ));
            }
            if let Successor::Branch { register, .. } = next
                && *register >= self.registers
            {
                fault(no_register(*register, self.registers));
            }
        }
        faults
    }

    /// The first block that loads a carried value which some path to it has not stored, with the
    /// value: by block, `loads` and `stores` are what it loads and what it stores.
    pub fn missing(&self, loads: &[Vec<u32>], stores: &[Vec<u32>]) -> Option<(usize, u32)> {
        missing::missing(self, loads, stores)
    }
}

fn no_register(register: u32, count: u32) -> String {
    format!("there is no register {register}, only {count} in all")
}

impl RegisterStep {
    /// The register that it writes, if it does.
    pub fn writes(&self) -> Option<u32> {
        match *self {
            RegisterStep::Open { register, .. }
            | RegisterStep::Set { register, .. }
            | RegisterStep::Compute { register, .. } => Some(register),
            RegisterStep::Publish { .. } => None,
        }
    }

    fn faults(&self, count: u32, description: &Description) -> Vec<String> {
        let registers = match *self {
            RegisterStep::Open { register, .. } | RegisterStep::Set { register, .. } => {
                vec![register]
            }
            RegisterStep::Publish { register, .. } => vec![register],
            RegisterStep::Compute { register, a, b, .. } => vec![register, a, b],
        };
        let missing = registers.into_iter().filter(|&register| register >= count);
        let mut faults: Vec<String> = missing.map(|missing| no_register(missing, count)).collect();
        match *self {
            RegisterStep::Open { port, .. } if !description.is_opened(port as usize) => {
                faults.push(format!("output {port} is none that is opened"));
            }
            RegisterStep::Publish { slot, .. } if slot as usize >= description.slots.len() => {
                let count = description.slots.len();
                faults.push(format!("there is no carried value {slot}, only {count} in all"));
            }
            _ => {}
        }
        faults
    }
}
