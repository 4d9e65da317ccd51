//! The reader's part for single instructions and for the functions that LLVM and C define.

use crate::carried::address_set::REGISTER_BITS;
use crate::compiler::library::NO_STOP;
use crate::ir::float::FloatOperation;
use crate::ir::{Binary, Compare, IrOperand, OperationKind, Type, Unary};
use crate::reader::ModuleReader;
use crate::reader::constants::integer;
use crate::reader::floats::{float_intrinsic, float_operation};
use crate::reader::llvm::{LLVMIntPredicate, LLVMOpcode, ValueRef};
use crate::reader::names::{FunctionNames, USE_DOUBLE};
use crate::reader::types::OTHER_FLOAT;

fn unsupported(what: impl Into<String>, remedy: &str) -> Option<OperationKind> {
    Some(OperationKind::Unsupported(what.into(), remedy.to_owned()))
}

const STOP: &str = "a stop of the program";

impl<'m> ModuleReader<'m> {
    /// Translates an instruction; `None` if it has no effect.
    pub(crate) fn kind(
        &self,
        names: &mut FunctionNames<'m>,
        instruction: ValueRef<'m>,
    ) -> Option<OperationKind> {
        let values = instruction.operands();
        let own = self.typ(instruction.typ());
        let is_other = |v: &ValueRef<'m>| matches!(self.typ(v.typ()), Type::Unsupported(_));
        let opcode = instruction.opcode();
        let is_call = opcode == LLVMOpcode::LLVMCall;
        if let Type::Unsupported(what) = &own
            && !is_call
        {
            return unsupported(what.clone(), USE_DOUBLE);
        }
        if !is_call && values.iter().any(is_other) {
            return unsupported(OTHER_FLOAT, USE_DOUBLE);
        }
        if let Some(binary) = binary(opcode) {
            return Some(OperationKind::Binary(binary, own.width(), self.operands(names, &values)));
        }
        if opcode == LLVMOpcode::LLVMFRem {
            let remedy =
                "write x - trunc(x / y) * y, which is rounded, or use integers or ph_fixed";
            return unsupported("the remainder of floating-point numbers (fmod)", remedy);
        }
        if let Some(operation) = float_operation(instruction) {
            let from = self.typ(values[0].typ()).width();
            return Some(self.float(names, operation, (from, own.width()), &values));
        }
        let mut operand = |index: usize| self.operand(names, values[index]);
        Some(match opcode {
            LLVMOpcode::LLVMICmp => {
                let width = self.typ(values[0].typ()).width();
                let compare = compare(instruction.predicate());
                OperationKind::Compare(compare, width, [operand(0), operand(1)])
            }
            LLVMOpcode::LLVMTrunc | LLVMOpcode::LLVMZExt | LLVMOpcode::LLVMSExt => {
                let unary = match opcode {
                    LLVMOpcode::LLVMTrunc => Unary::Truncate,
                    LLVMOpcode::LLVMZExt => Unary::ZeroExtend,
                    _ => Unary::SignExtend,
                };
                OperationKind::Unary(
                    unary,
                    self.typ(values[0].typ()).width(),
                    own.width(),
                    operand(0),
                )
            }
            LLVMOpcode::LLVMSelect => {
                OperationKind::Select(own.width(), [operand(0), operand(1), operand(2)])
            }
            LLVMOpcode::LLVMLoad => OperationKind::Load(own, operand(0)),
            LLVMOpcode::LLVMStore => {
                OperationKind::Store(self.typ(values[0].typ()), [operand(0), operand(1)])
            }
            LLVMOpcode::LLVMAlloca => {
                let typ = instruction.allocated();
                let (size, granule) = (self.layout.size(typ), self.granule(typ));
                OperationKind::Allocate(variable(&instruction.name()), size, granule, operand(0))
            }
            LLVMOpcode::LLVMGetElementPtr => {
                let base = operand(0);
                let mut open = |value| Some(self.operand(names, value));
                match self.address(instruction.source_element(), &values[1..], &mut open) {
                    Some((offset, indices)) => OperationKind::Address(base, offset, indices),
                    None => return unsupported("an address of several places", "use one index"),
                }
            }
            LLVMOpcode::LLVMPtrToInt => OperationKind::ToInteger(operand(0)),
            LLVMOpcode::LLVMIntToPtr => OperationKind::ToPointer(operand(0)),
            LLVMOpcode::LLVMBitCast | LLVMOpcode::LLVMAddrSpaceCast => {
                if self.typ(values[0].typ()) != own {
                    return unsupported("a vector seen as another", "use shifts and masks");
                }
                OperationKind::Freeze(operand(0))
            }
            LLVMOpcode::LLVMFreeze => OperationKind::Freeze(operand(0)),
            LLVMOpcode::LLVMCall => return self.call(names, instruction, &values),
            LLVMOpcode::LLVMFence => return None,
            _ => return self.rearranging(names, instruction, &values),
        })
    }

    /// Parts of vectors and structures, and what is nothing.
    fn rearranging(
        &self,
        names: &mut FunctionNames<'m>,
        instruction: ValueRef<'m>,
        values: &[ValueRef<'m>],
    ) -> Option<OperationKind> {
        let mut operand = |index: usize| self.operand(names, values[index]);
        Some(match instruction.opcode() {
            LLVMOpcode::LLVMExtractValue => {
                OperationKind::Extract(operand(0), instruction.indices())
            }
            LLVMOpcode::LLVMInsertValue => {
                OperationKind::Insert(operand(0), operand(1), instruction.indices())
            }
            LLVMOpcode::LLVMExtractElement => {
                OperationKind::ExtractElement([operand(0), operand(1)])
            }
            LLVMOpcode::LLVMInsertElement => {
                OperationKind::InsertElement([operand(0), operand(1), operand(2)])
            }
            LLVMOpcode::LLVMShuffleVector => {
                OperationKind::Shuffle([operand(0), operand(1)], instruction.mask())
            }
            LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg => {
                return unsupported(
                    "an atomic operation",
                    "a program has one thread: use = and +=",
                );
            }
            LLVMOpcode::LLVMVAArg => {
                return unsupported(
                    "a variable argument list",
                    "give the function fixed arguments",
                );
            }
            _ => {
                let shown: String = instruction.printed().trim().chars().take(60).collect();
                return unsupported(format!("'{shown}'"), "write it with other operations");
            }
        })
    }

    fn operands<const N: usize>(
        &self,
        names: &mut FunctionNames<'m>,
        values: &[ValueRef<'m>],
    ) -> [IrOperand; N] {
        std::array::from_fn(|index| self.operand(names, values[index]))
    }

    fn call(
        &self,
        names: &mut FunctionNames<'m>,
        call: ValueRef<'m>,
        values: &[ValueRef<'m>],
    ) -> Option<OperationKind> {
        let callee = call.called()?;
        let arguments = &values[..call.argument_count()];
        if callee.is_assembly() {
            return unsupported("inline assembly", "write it in C");
        }
        let operands = |names: &mut FunctionNames<'m>| -> Vec<IrOperand> {
            arguments.iter().map(|value| self.operand(names, *value)).collect()
        };
        let Some(&function) = self.functions.get(&callee) else {
            let target = self.operand(names, callee);
            return Some(OperationKind::CallPointer(target, operands(names)));
        };
        if !callee.blocks().is_empty() {
            return Some(OperationKind::Call(function, operands(names)));
        }
        let name = callee.name();
        match name.strip_prefix("llvm.") {
            Some(intrinsic) => self.intrinsic(names, intrinsic, call, arguments),
            None => self.library(names, &name, arguments, function),
        }
    }

    /// A function of C's library, or one that is nowhere.
    fn library(
        &self,
        names: &mut FunctionNames<'m>,
        name: &str,
        arguments: &[ValueRef<'m>],
        function: u32,
    ) -> Option<OperationKind> {
        if let Some(bits) = name.strip_prefix("phineus_reveal_") {
            let bits = match bits {
                "_Float16" => Ok(16),
                "float" => Ok(32),
                "double" => Ok(64),
                _ => bits.parse(),
            };
            return match (bits, arguments) {
                (Ok(width @ 1..=REGISTER_BITS), [value]) => {
                    Some(OperationKind::Reveal(width, self.operand(names, *value)))
                }
                _ => unsupported(
                    "opening an integer of 128 bits",
                    "open its halves, of 64 bits each, one after the other",
                ),
            };
        }
        Some(match (name, arguments.len()) {
            ("memcpy" | "memmove", 3) => OperationKind::Copy(self.operands(names, arguments)),
            ("memset", 3) => OperationKind::Fill(self.operands(names, arguments)),
            ("malloc", 1) => {
                OperationKind::Heap(self.operands::<1>(names, arguments).to_vec(), false)
            }
            ("calloc", 2) => {
                OperationKind::Heap(self.operands::<2>(names, arguments).to_vec(), true)
            }
            ("free", 1) => return None,
            ("abs" | "labs" | "llabs", 1) => {
                let width = self.typ(arguments[0].typ()).width();
                OperationKind::Unary(Unary::Abs, width, width, self.operand(names, arguments[0]))
            }
            _ => {
                let known = self.library.get(name).copied().unwrap_or(function);
                OperationKind::Call(
                    known,
                    arguments.iter().map(|v| self.operand(names, *v)).collect(),
                )
            }
        })
    }

    fn intrinsic(
        &self,
        names: &mut FunctionNames<'m>,
        name: &str,
        call: ValueRef<'m>,
        arguments: &[ValueRef<'m>],
    ) -> Option<OperationKind> {
        let stem: Vec<&str> = name.split('.').collect();
        let own = self.typ(call.typ());
        // Not metadata of the debugger.
        let is_other = |v: &ValueRef<'m>| matches!(self.typ(v.typ()), Type::Unsupported(what) if what == OTHER_FLOAT);
        if matches!(own, Type::Unsupported(_)) || arguments.iter().any(is_other) {
            return unsupported(OTHER_FLOAT, USE_DOUBLE);
        }
        let width = own.width();
        if let Some(operation) = float_intrinsic(&stem) {
            let from = self.typ(arguments[0].typ()).width();
            return Some(self.float(names, operation, (from, width), arguments));
        }
        if let ("is", Some(&"fpclass")) = (stem[0], stem.get(1)) {
            let from = self.typ(arguments[0].typ()).width();
            let operation = FloatOperation::IsOfClass(integer(arguments[1]) as u16);
            return Some(self.float(names, operation, (from, width), &arguments[..1]));
        }
        if let ["vector", "reduce", which, ..] = stem.as_slice() {
            return match reduction(which) {
                Some(op) => {
                    Some(OperationKind::Reduce(op, width, self.operand(names, arguments[0])))
                }
                None => unsupported(format!("the reduction {which}"), "write a loop"),
            };
        }
        let (first, rest) = (stem[0], stem.get(1..).unwrap_or_default());
        if let Some(binary) = match (first, rest.first().copied()) {
            ("umin", _) => Some(Binary::UMin),
            ("umax", _) => Some(Binary::UMax),
            ("smin", _) => Some(Binary::SMin),
            ("smax", _) => Some(Binary::SMax),
            ("uadd", Some("sat")) => Some(Binary::UAddSat),
            ("sadd", Some("sat")) => Some(Binary::SAddSat),
            ("usub", Some("sat")) => Some(Binary::USubSat),
            ("ssub", Some("sat")) => Some(Binary::SSubSat),
            _ => None,
        } {
            return Some(OperationKind::Binary(binary, width, self.operands(names, arguments)));
        }
        if let (Some("with"), Some((op, signed))) = (rest.first().copied(), overflow(first)) {
            return Some(OperationKind::Overflow(
                op,
                signed,
                width,
                self.operands(names, arguments),
            ));
        }
        let unary = |unary, names: &mut FunctionNames<'m>| {
            Some(OperationKind::Unary(unary, width, width, self.operand(names, arguments[0])))
        };
        match first {
            "abs" => unary(Unary::Abs, names),
            "ctpop" => unary(Unary::PopCount, names),
            "ctlz" => unary(Unary::LeadingZeros, names),
            "cttz" => unary(Unary::TrailingZeros, names),
            "bswap" => unary(Unary::ByteSwap, names),
            "bitreverse" => unary(Unary::BitReverse, names),
            "fshl" | "fshr" => {
                Some(OperationKind::Funnel(first == "fshl", width, self.operands(names, arguments)))
            }
            "memcpy" | "memmove" => Some(OperationKind::Copy(self.operands(names, arguments))),
            "memset" => Some(OperationKind::Fill(self.operands(names, arguments))),
            "expect" | "annotation" | "ssa" | "launder" | "strip" | "ptr" | "threadlocal" => {
                Some(OperationKind::Freeze(self.operand(names, arguments[0])))
            }
            "lifetime" if rest.first() == Some(&"start") => {
                Some(OperationKind::Begin(self.operand(names, arguments[1])))
            }
            "lifetime" | "dbg" | "assume" | "donothing" | "var" | "experimental"
            | "stackrestore" | "prefetch" | "sideeffect" | "invariant" => None,
            "trap" | "debugtrap" | "ubsantrap" => unsupported(STOP, NO_STOP),
            "stacksave" => None,
            _ if name.starts_with("va_") => unsupported(
                "a variable number of arguments".to_owned(),
                "pass an array and its length",
            ),
            _ => unsupported(format!("LLVM's {name}"), "write it with other operations"),
        }
    }
}

/// The variable that clang made an `alloca` of, without what passes add to its name; empty for
/// those that are not in the program.
fn variable(name: &str) -> String {
    const CLANGS_OWN: [&str; 9] =
        ["agg", "byval", "cleanup", "coerce", "ref", "retval", "saved_stack", "tmp", "vla"];
    let stem = name.split('.').next().unwrap_or_default();
    let is_own = CLANGS_OWN.contains(&stem.trim_end_matches(|c: char| c.is_ascii_digit()));
    if is_own { String::new() } else { stem.to_owned() }
}

fn binary(opcode: LLVMOpcode) -> Option<Binary> {
    Some(match opcode {
        LLVMOpcode::LLVMAdd => Binary::Add,
        LLVMOpcode::LLVMSub => Binary::Sub,
        LLVMOpcode::LLVMMul => Binary::Mul,
        LLVMOpcode::LLVMUDiv => Binary::UDiv,
        LLVMOpcode::LLVMSDiv => Binary::SDiv,
        LLVMOpcode::LLVMURem => Binary::URem,
        LLVMOpcode::LLVMSRem => Binary::SRem,
        LLVMOpcode::LLVMShl => Binary::Shl,
        LLVMOpcode::LLVMLShr => Binary::LShr,
        LLVMOpcode::LLVMAShr => Binary::AShr,
        LLVMOpcode::LLVMAnd => Binary::And,
        LLVMOpcode::LLVMOr => Binary::Or,
        LLVMOpcode::LLVMXor => Binary::Xor,
        _ => return None,
    })
}

pub(crate) fn reduction(name: &str) -> Option<Binary> {
    Some(match name {
        "add" => Binary::Add,
        "mul" => Binary::Mul,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        "umin" => Binary::UMin,
        "umax" => Binary::UMax,
        "smin" => Binary::SMin,
        "smax" => Binary::SMax,
        _ => return None,
    })
}

fn overflow(name: &str) -> Option<(Binary, bool)> {
    Some(match name {
        "uadd" => (Binary::Add, false),
        "usub" => (Binary::Sub, false),
        "umul" => (Binary::Mul, false),
        "sadd" => (Binary::Add, true),
        "ssub" => (Binary::Sub, true),
        "smul" => (Binary::Mul, true),
        _ => return None,
    })
}

fn compare(predicate: LLVMIntPredicate) -> Compare {
    match predicate {
        LLVMIntPredicate::LLVMIntEQ => Compare::Eq,
        LLVMIntPredicate::LLVMIntNE => Compare::Ne,
        LLVMIntPredicate::LLVMIntUGT => Compare::Ugt,
        LLVMIntPredicate::LLVMIntUGE => Compare::Uge,
        LLVMIntPredicate::LLVMIntULT => Compare::Ult,
        LLVMIntPredicate::LLVMIntULE => Compare::Ule,
        LLVMIntPredicate::LLVMIntSGT => Compare::Sgt,
        LLVMIntPredicate::LLVMIntSGE => Compare::Sge,
        LLVMIntPredicate::LLVMIntSLT => Compare::Slt,
        LLVMIntPredicate::LLVMIntSLE => Compare::Sle,
    }
}
