//! Hybrid circuits: bundles that are assembled here, against plain integers, and bad files.
//!
//! The directories in `tests/hycc` are what is assembled here; `checked_in_bundles_are_the_same`
//! compares them, and `HYCC_BLESS=1` writes them anew.

use std::path::{Path, PathBuf};

use phineus_bytecode::{Instruction, Lane, Op, ProgramReader, Sharing, Table, verify};
use phineus_frontend::hycc::Hybrid;
use phineus_frontend::{Arguments, Program, ProgramError, reference, trace_to_file};

/// Writes a `.circ` file, version 5.
struct Assembler {
    name: &'static str,
    inputs: Vec<(&'static str, u8, Kind)>,
    outputs: Vec<(&'static str, Kind, Vec<u32>)>,
    calls: Vec<Call>,
    /// Widths of input wires, then of all others.
    widths: Vec<u8>,
    input_wires: usize,
    gates: Vec<u8>,
    gate_count: u32,
}

struct Call {
    name: &'static str,
    returns: Vec<(&'static str, Kind)>,
    arguments: Vec<(&'static str, Kind, Vec<u32>)>,
}

/// Unsigned or signed integers of some bits; how many, as an array if more than one.
#[derive(Clone, Copy)]
struct Kind {
    signed: bool,
    width: u8,
    count: u8,
}

const fn unsigned(width: u8) -> Kind {
    Kind { signed: false, width, count: 1 }
}

const fn array(width: u8, count: u8) -> Kind {
    Kind { signed: true, width, count }
}

impl Kind {
    fn bytes(self) -> Vec<u8> {
        let integer = [if self.signed { 1 } else { 2 }, self.width];
        if self.count > 1 { [&[3, self.count][..], &integer].concat() } else { integer.to_vec() }
    }
}

impl Assembler {
    fn new(name: &'static str) -> Assembler {
        Assembler {
            name,
            inputs: Vec::new(),
            outputs: Vec::new(),
            calls: Vec::new(),
            widths: Vec::new(),
            input_wires: 0,
            gates: Vec::new(),
            gate_count: 0,
        }
    }

    /// Input wires of `width` bits for a variable.
    fn wires(&mut self, kind: Kind, width: u8) -> Vec<u32> {
        let first = self.widths.len() as u32;
        let count = usize::from(kind.width / width) * usize::from(kind.count);
        self.widths.resize(self.widths.len() + count, width);
        self.input_wires = self.widths.len();
        (first..self.widths.len() as u32).collect()
    }

    fn input(&mut self, name: &'static str, owner: u8, kind: Kind, width: u8) -> Vec<u32> {
        self.inputs.push((name, owner, kind));
        self.wires(kind, width)
    }

    /// A call; its arguments are given later.
    fn call(&mut self, name: &'static str, returns: &[(&'static str, Kind, u8)]) -> Vec<Vec<u32>> {
        let wires = returns.iter().map(|&(_, kind, width)| self.wires(kind, width)).collect();
        let returns = returns.iter().map(|&(name, kind, _)| (name, kind)).collect();
        self.calls.push(Call { name, returns, arguments: Vec::new() });
        wires
    }

    fn gate(&mut self, code: u8, operands: &[u32], width: u8) -> u32 {
        self.gates.push(code);
        operands.iter().for_each(|wire| self.gates.extend(wire.to_le_bytes()));
        self.gate_count += 1;
        self.widths.push(width);
        self.widths.len() as u32 - 1
    }

    fn bit(&mut self, code: u8, operands: &[u32]) -> u32 {
        self.gate(code, operands, 1)
    }

    fn constant(&mut self, value: u8, width: u8) -> u32 {
        self.gates.extend([0xc5, width, value]);
        self.gate_count += 1;
        self.widths.push(width);
        self.widths.len() as u32 - 1
    }

    fn split(&mut self, wire: u32) -> Vec<u32> {
        let width = self.widths[wire as usize];
        let first = self.gate(0xe0, &[wire], 1);
        self.widths.resize(self.widths.len() + usize::from(width) - 1, 1);
        (first..first + u32::from(width)).collect()
    }

    fn combine(&mut self, bits: &[u32]) -> u32 {
        self.gate(0x40 | (bits.len() as u8 - 1), bits, bits.len() as u8)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = 0xcb11_c06c_u32.to_le_bytes().to_vec();
        bytes.push(5);
        let outputs = self.outputs.iter().map(|(_, _, wires)| wires.len()).sum::<usize>();
        let counts = [self.input_wires, outputs, self.inputs.len(), self.outputs.len()];
        bytes.extend(self.gate_count.to_le_bytes());
        counts.iter().for_each(|&count| bytes.extend((count as u32).to_le_bytes()));
        bytes.extend((self.calls.len() as u32).to_le_bytes());
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend(text.as_bytes());
            bytes.push(0);
        };
        text(&mut bytes, self.name);
        text(&mut bytes, "");
        for (name, owner, kind) in &self.inputs {
            text(&mut bytes, name);
            bytes.push(*owner);
            bytes.extend(kind.bytes());
        }
        for (name, kind, _) in &self.outputs {
            text(&mut bytes, name);
            bytes.extend(kind.bytes());
        }
        for call in &self.calls {
            text(&mut bytes, call.name);
            bytes.extend((call.arguments.len() as u32).to_le_bytes());
            bytes.extend((call.returns.len() as u32).to_le_bytes());
            let arguments = call.arguments.iter().map(|(name, kind, _)| (name, kind));
            for (name, kind) in call.returns.iter().map(|(n, k)| (n, k)).chain(arguments) {
                text(&mut bytes, name);
                bytes.extend(kind.bytes());
            }
        }
        // The wires as one structure of as many single wires.
        bytes.push(0x80);
        let (low, high) = (self.input_wires & 0x7f, self.input_wires >> 7);
        bytes.extend(if high > 0 { vec![low as u8 | 0x80, high as u8] } else { vec![low as u8] });
        bytes.extend(&self.widths[..self.input_wires]);
        bytes.extend(&self.gates);
        let arguments = self.calls.iter().flat_map(|call| &call.arguments);
        for (_, _, wires) in self.outputs.iter().chain(arguments) {
            wires.iter().for_each(|wire| bytes.extend(wire.to_le_bytes()));
        }
        bytes
    }
}

const AND: u8 = 1;
const OR: u8 = 2;
const XOR: u8 = 3;
const NOT: u8 = 4;
const ONE: u8 = 5;
const ADD: u8 = 0xc1;
const SUB: u8 = 0xc2;
const NEG: u8 = 0xc3;
const MUL: u8 = 0xc4;

/// The sum of squared differences of two pairs, in arithmetic sharing.
fn squared() -> Assembler {
    let mut module = Assembler::new("squared");
    let a = module.input("a", 0, array(32, 2), 32);
    let b = module.input("b", 0, array(32, 2), 32);
    let squares: Vec<u32> = (0..2)
        .map(|k| {
            let difference = module.gate(SUB, &[a[k], b[k]], 32);
            module.gate(MUL, &[difference, difference], 32)
        })
        .collect();
    let sum = module.gate(ADD, &squares, 32);
    module.outputs.push(("d", unsigned(32), vec![sum]));
    module
}

/// Whether the squared distance is below a limit, which is compared bit by bit.
fn near() -> Assembler {
    let mut module = Assembler::new("mpc_main");
    let x = module.input("INPUT_A_x", 0, array(32, 2), 1);
    let y = module.input("INPUT_B_y", 1, array(32, 2), 32);
    let limit = module.input("INPUT_B_limit", 1, unsigned(32), 1);
    let d = module.call("squared", &[("d", unsigned(32), 1)]).remove(0);
    // From the lowest bit: less = d is 0 and the limit 1, or they are equal and it was less.
    let mut less = module.bit(ONE, &[]);
    less = module.bit(NOT, &[less]);
    for (&d, &limit) in d.iter().zip(&limit) {
        let differ = module.bit(XOR, &[d, limit]);
        let changed = module.bit(XOR, &[less, limit]);
        let taken = module.bit(AND, &[differ, changed]);
        less = module.bit(XOR, &[less, taken]);
    }
    module.outputs.push(("OUTPUT_near", unsigned(1), vec![less]));
    module.calls[0].arguments = vec![("a", array(32, 2), x), ("b", array(32, 2), y)];
    module
}

/// All gates in one arithmetic module: `-(x * y + 7)`, its odd bits masked by `z`.
fn masked() -> Assembler {
    let mut module = Assembler::new("mpc_main");
    let x = module.input("INPUT_A_x", 0, unsigned(16), 16)[0];
    let y = module.input("INPUT_B_y", 1, unsigned(16), 16)[0];
    let z = module.input("INPUT_B_z", 1, unsigned(1), 1)[0];
    let product = module.gate(MUL, &[x, y], 16);
    let seven = module.constant(7, 16);
    let sum = module.gate(ADD, &[product, seven], 16);
    let negative = module.gate(NEG, &[sum], 16);
    let bits = module.split(negative);
    let one = module.bit(ONE, &[]);
    let kept: Vec<u32> = bits
        .iter()
        .enumerate()
        .map(|(k, &bit)| {
            if k % 2 == 1 {
                return module.bit(AND, &[bit, z]);
            }
            // bit | !1, which is the bit.
            let zero = module.bit(NOT, &[one]);
            module.bit(OR, &[bit, zero])
        })
        .collect();
    let whole = module.combine(&kept);
    let both = module.gate(ADD, &[whole, x], 16);
    module.outputs.push(("OUTPUT_bits", unsigned(16), kept));
    module.outputs.push(("OUTPUT_sum", unsigned(16), vec![both]));
    module
}

type Files = Vec<(&'static str, Vec<u8>)>;

fn distance_bundle() -> Files {
    vec![
        ("hybrid.cmb", b"mpc_main@bool_size.circ\nsquared@arith.circ\n".to_vec()),
        ("mpc_main@bool_size.circ", near().bytes()),
        ("squared@arith.circ", squared().bytes()),
    ]
}

fn masked_bundle() -> Files {
    vec![("mpc_main@arith.circ", masked().bytes())]
}

fn directory(files: &Files) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).expect("it is written");
    }
    directory
}

fn checked_in(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hycc").join(name)
}

#[test]
fn checked_in_bundles_are_the_same() {
    for (name, files) in [("distance", distance_bundle()), ("masked", masked_bundle())] {
        for (file, bytes) in files {
            let path = checked_in(name).join(file);
            if std::env::var_os("HYCC_BLESS").is_some() {
                std::fs::create_dir_all(checked_in(name)).expect("it can be made");
                std::fs::write(&path, &bytes).expect("it can be written");
            }
            let found = std::fs::read(&path).expect("it is checked in");
            assert!(found == bytes, "{} differs", path.display());
        }
    }
}

/// Traces, verifies and runs; gives the outputs and the instructions.
fn run(path: &Path, given: &[(&str, &str)], inputs: &[Table]) -> (Table, Vec<Instruction>) {
    let hybrid = Hybrid::open(path).expect("the bundle is right");
    let mut arguments = Arguments::new(&hybrid, given.iter().copied()).expect("they exist");
    arguments.set_rows("site_a", inputs[0].row_count());
    arguments.set_rows("site_b", inputs[1].row_count());
    let (file, _) = trace_to_file(&hybrid, &arguments).expect("it traces");
    let mut reader = ProgramReader::open(file).expect("it was written");
    assert_eq!(verify(&mut reader).expect("it reads"), []);
    let mut all = Vec::new();
    reader
        .for_each::<phineus_bytecode::Error>(|instruction| {
            all.push(*instruction);
            Ok(())
        })
        .expect("it reads");
    let mut outputs = reference::run(&hybrid, &arguments, inputs).expect("it runs");
    let reference = hybrid.reference(&arguments, inputs).expect("it has one").expect("it runs");
    assert!(hybrid.agrees(&outputs, &reference));
    (outputs.remove(0), all)
}

/// A table of the columns that the program wants.
fn table(path: &Path, port: usize, rows: &[Vec<u64>]) -> Table {
    let hybrid = Hybrid::open(path).expect("the bundle is right");
    let arguments = Arguments::new(&hybrid, []).expect("there are defaults");
    let (_, traced) = trace_to_file(&hybrid, &arguments).expect("it traces");
    let mut table = Table::new(traced.description.inputs[port].columns.clone());
    for row in rows {
        table.push(&row.iter().map(|&cell| Lane::from(cell)).collect::<Vec<_>>());
    }
    table
}

/// Numbers that differ, small and large.
fn numbers(seed: u64) -> u64 {
    let mixed = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    if seed.is_multiple_of(3) { mixed & 0xff } else { mixed & 0xffff_ffff }
}

#[test]
fn modules_are_called_in_their_sharings() {
    let path = checked_in("distance");
    let rows = 150;
    let a: Vec<Vec<u64>> = (0..rows).map(|k| vec![numbers(2 * k), numbers(2 * k + 1)]).collect();
    let b: Vec<Vec<u64>> =
        (0..rows).map(|k| vec![numbers(5 * k), numbers(7 * k), numbers(k) >> 3]).collect();
    let inputs = [table(&path, 0, &a), table(&path, 1, &b)];
    let names = |t: &Table| t.columns().iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&inputs[0]), ["INPUT_A_x[0]", "INPUT_A_x[1]"]);
    assert_eq!(names(&inputs[1]), ["INPUT_B_y[0]", "INPUT_B_y[1]", "INPUT_B_limit"]);
    let (output, all) = run(&path, &[], &inputs);
    for (row, (a, b)) in a.iter().zip(&b).enumerate() {
        let square = |k: usize| {
            let difference = (a[k] as u32).wrapping_sub(b[k] as u32);
            difference.wrapping_mul(difference)
        };
        let near = square(0).wrapping_add(square(1)) < b[2] as u32;
        assert_eq!(output.cell(row as u64, 0), Lane::from(u8::from(near)), "row {row}");
    }
    let sharings = |op: Op| -> Vec<Sharing> {
        let mut found: Vec<Sharing> =
            all.iter().filter(|i| i.op == op).map(|i| i.element.sharing()).collect();
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(sharings(Op::Mul), [Sharing::Arithmetic]);
    assert_eq!(sharings(Op::And), [Sharing::Garbled]);
    // y comes in as integers at once.
    assert_eq!(sharings(Op::Input), [Sharing::Arithmetic, Sharing::Garbled]);
    assert!(all.iter().filter(|i| i.op == Op::Mul).all(|i| i.operands[0] == i.operands[1]));
    // And all of it in the run's own sharing.
    let (same, all) = run(&path, &[("sharing", "any"), ("parties", "3")], &inputs);
    assert!(all.iter().all(|i| i.element.sharing() == Sharing::Any));
    assert!(phineus_frontend::same_rows(&same, &output));
}

#[test]
fn every_gate_computes_what_it_says() {
    let path = checked_in("masked");
    let rows = 70;
    let a: Vec<Vec<u64>> = (0..rows).map(|k| vec![numbers(k) & 0xffff]).collect();
    let b: Vec<Vec<u64>> = (0..rows).map(|k| vec![numbers(k + 99) & 0xffff, k % 2]).collect();
    let inputs = [table(&path, 0, &a), table(&path, 1, &b)];
    for bits in ["gmw", "bmr"] {
        let (output, _) = run(&path, &[("bits", bits)], &inputs);
        for (row, (a, b)) in a.iter().zip(&b).enumerate() {
            let (x, y) = (a[0] as u16, b[0] as u16);
            let negative = x.wrapping_mul(y).wrapping_add(7).wrapping_neg();
            let masked = if b[1] == 1 { negative } else { negative & 0x5555 };
            assert_eq!(output.cell(row as u64, 0), Lane::from(masked));
            assert_eq!(output.cell(row as u64, 1), Lane::from(masked.wrapping_add(x)));
        }
    }
}

/// A call may need the result of one that stands after it.
#[test]
fn calls_are_done_in_an_order_in_which_they_can_be() {
    let double = || {
        let mut module = Assembler::new("double");
        let x = module.input("x", 0, unsigned(8), 8)[0];
        let twice = module.gate(ADD, &[x, x], 8);
        module.outputs.push(("y", unsigned(8), vec![twice]));
        module
    };
    let mut main = Assembler::new("mpc_main");
    let a = main.input("INPUT_A", 0, unsigned(8), 8);
    let b = main.input("INPUT_B", 1, unsigned(8), 8);
    let last = main.call("double", &[("y", unsigned(8), 8)]).remove(0);
    let first = main.call("double", &[("y", unsigned(8), 8)]).remove(0);
    let between = main.gate(SUB, &[first[0], b[0]], 8);
    main.calls[0].arguments = vec![("x", unsigned(8), vec![between])];
    main.calls[1].arguments = vec![("x", unsigned(8), a)];
    main.outputs.push(("OUTPUT", unsigned(8), last));
    let files =
        vec![("mpc_main@arith.circ", main.bytes()), ("double@arith.circ", double().bytes())];
    let directory = directory(&files);
    let inputs = [table(directory.path(), 0, &[vec![100]]), table(directory.path(), 1, &[vec![3]])];
    let (output, _) = run(directory.path(), &[], &inputs);
    assert_eq!(output.cell(0, 0), Lane::from((2 * (2 * 100 - 3)) as u8));
    // In a circle there is none.
    main.calls[1].arguments = vec![("x", unsigned(8), vec![2])];
    let error = opening(&vec![
        ("mpc_main@arith.circ", main.bytes()),
        ("double@arith.circ", double().bytes()),
    ]);
    assert!(
        error.ends_with("calls, such as that of 'double', need each other's results"),
        "{error}"
    );
}

/// Module `name`, which calls `callee` on its input and again on what that gives.
fn calls_twice(name: &'static str, callee: &'static str) -> Assembler {
    let mut module = Assembler::new(name);
    let x = module.input("x", 0, unsigned(8), 8);
    let first = module.call(callee, &[("y", unsigned(8), 8)]).remove(0);
    let second = module.call(callee, &[("y", unsigned(8), 8)]).remove(0);
    module.calls[0].arguments = vec![("x", unsigned(8), x)];
    module.calls[1].arguments = vec![("x", unsigned(8), first)];
    module.outputs.push(("y", unsigned(8), second));
    module
}

#[test]
fn calls_that_would_not_end_are_refused() {
    let names: Vec<&'static str> = (0..40).map(|at| &*format!("m{at}").leak()).collect();
    let mut files: Files = vec![("m40@arith.circ", {
        let mut last = Assembler::new("m40");
        let x = last.input("x", 0, unsigned(8), 8);
        let twice = last.gate(ADD, &[x[0], x[0]], 8);
        last.outputs.push(("y", unsigned(8), vec![twice]));
        last.bytes()
    })];
    for (at, name) in names.iter().enumerate().skip(1) {
        let callee = names.get(at + 1).unwrap_or(&"m40");
        files.push((format!("{name}@arith.circ").leak(), calls_twice(name, callee).bytes()));
    }
    files.push(("mpc_main@arith.circ", calls_twice("mpc_main", names[1]).bytes()));
    let error = opening(&files);
    assert!(error.ends_with("with all calls is more than 2^34 steps"), "{error}");
}

fn opening(files: &Files) -> String {
    let directory = directory(files);
    match Hybrid::open(directory.path()) {
        Ok(_) => panic!("it is wrong"),
        Err(error) => error.to_string().replace(&directory.path().display().to_string(), "DIR"),
    }
}

#[test]
fn bad_bundles_say_what_is_wrong() {
    let main = || ("mpc_main@bool_size.circ", near().bytes());
    let arith = || ("squared@arith.circ", squared().bytes());
    let cases: Vec<(Files, &str)> = vec![
        (vec![], "DIR names no modules"),
        (vec![main()], "module 'mpc_main' calls 'squared', which is not in the bundle"),
        (
            vec![("a.cmb", b"\n  mpc_main@arith.circ  \n".to_vec())],
            "a.cmb:2: there is no file 'DIR/mpc_main@arith.circ'",
        ),
        (vec![("a.cmb", vec![0xff])], "a.cmb:1: this is not text"),
        (
            vec![("a.cmb", vec![]), ("b.cmb", vec![])],
            "there are several bundles, name one: DIR/a.cmb, DIR/b.cmb",
        ),
        (
            vec![main(), arith(), ("squared@bool_depth.circ", squared().bytes())],
            "DIR/squared@bool_depth.circ: there is another module 'squared'; choose one of them \
             in a .cmb file",
        ),
        (
            vec![("x@bool.circ", squared().bytes())],
            "x@bool.circ: '@bool' is unknown; known are @arith, @bool_depth and @bool_size",
        ),
        (
            vec![
                arith(),
                ("other@arith.circ", {
                    let mut other = squared();
                    other.name = "other";
                    other.bytes()
                }),
            ],
            "DIR: none of the modules is 'mpc_main'",
        ),
        (
            vec![
                main(),
                ("squared@arith.circ", {
                    let mut wrong = squared();
                    wrong.inputs[1].0 = "c";
                    wrong.bytes()
                }),
            ],
            "where 'mpc_main' calls 'squared', no variable 'c' of 64 bits is given",
        ),
        (
            vec![
                main(),
                ("squared@arith.circ", {
                    let mut wrong = squared();
                    wrong.outputs[0].0 = "e";
                    wrong.bytes()
                }),
            ],
            "where 'mpc_main' calls 'squared', no variable 'd' of 32 bits is returned",
        ),
        (
            vec![
                ("mpc_main@bool_size.circ", {
                    let mut wrong = near();
                    let again = wrong.calls[0].arguments[0].clone();
                    wrong.calls[0].arguments.push(again);
                    wrong.bytes()
                }),
                arith(),
            ],
            "module 'mpc_main' has two variables 'a' as arguments",
        ),
        (
            vec![("mpc_main@bool_size.circ", {
                let mut wrong = near();
                wrong.calls[0].name = "mpc_main";
                wrong.bytes()
            })],
            "where 'mpc_main' calls 'mpc_main', no variable 'INPUT_A_x' of 64 bits is given",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(opening(&files), expected);
    }
}

#[test]
fn bad_modules_say_what_is_wrong_and_where() {
    let one = |bytes: Vec<u8>| opening(&vec![("m@arith.circ", bytes)]);
    let good = squared().bytes();
    assert_eq!(
        one(b"hello".to_vec()),
        "m@arith.circ, byte 4: this is no circuit of HyCC: it does \
         not begin as one"
    );
    let mut version = good.clone();
    version[4] = 6;
    assert_eq!(one(version), "m@arith.circ, byte 5: version 6 of the format, known is 5");
    let wrong = |change: fn(&mut Assembler)| {
        let mut module = squared();
        change(&mut module);
        let message = one(module.bytes());
        message.split_once(": ").expect("it has a place").1.to_owned()
    };
    assert_eq!(wrong(|m| m.gates[0] = 0x99), "gate 0x99 is unknown");
    assert_eq!(wrong(|m| m.gates[0] = AND), "a Boolean gate on 32 bits, not on 1");
    assert_eq!(wrong(|m| m.gates[1] = 9), "wire 9 is used before it is defined");
    assert_eq!(wrong(|m| m.widths[1] = 16), "'a' has 64 bits, its wires 80");
    assert_eq!(wrong(|m| m.widths[1] = 0xc1), "inputs of kind 3");
    assert_eq!(wrong(|m| m.inputs[0].1 = 2), "'a' belongs to party 2, not 0 or 1");
    assert_eq!(wrong(|m| m.inputs[0].2.width = 65), "an integer of 65 bits, not of 1 to 64");
    assert_eq!(wrong(|m| m.outputs[0].2.push(0)), "something follows the circuit");
    assert_eq!(wrong(|m| m.outputs[0].1.width = 16), "'d' has 16 bits, its wires 32");
    assert_eq!(wrong(|m| m.name = "a\x07"), "a name has characters that none has");
    // Cut off anywhere, it is too short.
    for length in 0..good.len() {
        let message = one(good[..length].to_vec());
        let known = ["ends too early", "does not end", "wires belong to no", "'d' has", "wire "];
        assert!(known.iter().any(|part| message.contains(part)), "{length}: {message}");
    }
}

/// Any one byte changed gives an error or a program, and nothing else.
#[test]
fn damaged_modules_do_not_panic() {
    let good = near().bytes();
    let arith = squared().bytes();
    let mut refused = 0;
    // Everything before the gates, and some of those, which are all alike.
    let places: Vec<usize> = (0..good.len().min(300)).chain((300..good.len()).step_by(7)).collect();
    for &place in &places {
        let mut bytes = good.clone();
        bytes[place] ^= [1u8, 0x80, 0xff][place % 3];
        let files =
            vec![("mpc_main@bool_depth.circ", bytes), ("squared@arith.circ", arith.clone())];
        let directory = directory(&files);
        let Ok(hybrid) = Hybrid::open(directory.path()) else {
            refused += 1;
            continue;
        };
        let arguments = Arguments::new(&hybrid, []).expect("there are defaults");
        match trace_to_file(&hybrid, &arguments) {
            Ok(_) | Err(ProgramError::Refused(_) | ProgramError::Faults(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > places.len() / 3, "most changes are found: {refused}");
}
