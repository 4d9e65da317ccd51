//! Netlists of the circuits that are garbled in software, and random ones.

#![allow(dead_code)] // Not every test uses all of them.

use phineus_bytecode::random::SeededRng;
use phineus_circuits::{
    BitAlgebra, adder, aes, comparison, multiplier, scratch_wires, selection, sha256,
};
use phineus_overlay::netlist::{Netlist, NetlistBuilder, NetlistWire};

/// Inputs of these lengths, `outputs` outputs and `scratch` wires for `circuit`.
fn netlist<const N: usize>(
    inputs: [usize; N],
    outputs: usize,
    scratch: usize,
    circuit: impl FnOnce(
        &mut NetlistBuilder,
        &mut [NetlistWire],
        [&[NetlistWire]; N],
        &mut [NetlistWire],
    ),
) -> Netlist {
    let mut builder = NetlistBuilder::new();
    let mut values = inputs.map(|wires| vec![NetlistWire::default(); wires]);
    values.iter_mut().for_each(|value| builder.inputs(value));
    let mut out = vec![NetlistWire::default(); outputs];
    let mut scratch = vec![NetlistWire::default(); scratch];
    circuit(&mut builder, &mut out, values.each_ref().map(Vec::as_slice), &mut scratch);
    builder.outputs(&out);
    builder.finish().expect("it is small")
}

pub fn addition(width: usize, lanes: usize) -> Netlist {
    let wires = width * lanes;
    netlist([wires; 2], wires, scratch_wires(width, lanes), |alg, out, [a, b], scratch| {
        adder::add(alg, out, a, b, lanes, scratch);
    })
}

pub fn product(width: usize, lanes: usize) -> Netlist {
    let wires = width * lanes;
    netlist([wires; 2], wires, scratch_wires(width, lanes), |alg, out, [a, b], scratch| {
        multiplier::mul(alg, out, a, b, lanes, scratch);
    })
}

/// The product of two values of half the width.
pub fn full_product(width: usize, lanes: usize) -> Netlist {
    let wires = width / 2 * lanes;
    netlist([wires; 2], 2 * wires, scratch_wires(width, lanes), |alg, out, [a, b], scratch| {
        multiplier::mul_full_unsigned(alg, out, a, b, lanes, scratch);
    })
}

/// The product of two square matrices; the lanes of a value are the rows of a column.
pub fn matrix_product(width: usize, side: usize) -> Netlist {
    let lanes = side * side;
    let wires = width * lanes;
    let scratch = scratch_wires(width, lanes);
    netlist([wires; 2], wires, scratch, |alg, out, [a, b], scratch| {
        let zero = NetlistWire::default();
        let (mut left, mut right) = (vec![zero; wires], vec![zero; wires]);
        let (mut products, mut sum) = (vec![zero; wires], vec![zero; wires]);
        for k in 0..side {
            for bit in 0..width {
                for lane in 0..lanes {
                    let (row, column) = (lane / side, lane % side);
                    left[bit * lanes + lane] = a[bit * lanes + row * side + k];
                    right[bit * lanes + lane] = b[bit * lanes + k * side + column];
                }
            }
            multiplier::mul(alg, &mut products, &left, &right, lanes, scratch);
            if k == 0 {
                out.copy_from_slice(&products);
            } else {
                sum.copy_from_slice(out);
                adder::add(alg, out, &sum, &products, lanes, scratch);
            }
        }
    })
}

pub fn aes128() -> Netlist {
    aes128_blocks(1)
}

/// Blocks, each with its key.
pub fn aes128_blocks(blocks: usize) -> Netlist {
    let (wires, scratch) = (128 * blocks, aes::scratch_wires(blocks));
    netlist([wires; 2], wires, scratch, |alg, out, [key, block], scratch| {
        aes::aes128(alg, out, key, block, blocks, scratch);
    })
}

pub fn sha256() -> Netlist {
    netlist([256, 512], 256, sha256::scratch_wires(1), |alg, out, [state, block], scratch| {
        sha256::sha256_compress(alg, out, state, block, 1, scratch);
    })
}

/// Gates of random kinds on mostly recent wires.
pub fn random(seed: u64, gates: usize) -> Netlist {
    random_within(seed, gates, 500)
}

/// Gates of random kinds, constants included, on one of the last `recent` wires or sometimes on any; every third wire
/// at the end is an output.
pub fn random_within(seed: u64, gates: usize, recent: usize) -> Netlist {
    let mut random = SeededRng::new(seed);
    let mut builder = NetlistBuilder::new();
    let mut wires = vec![NetlistWire::default(); 1 + random.below(200) as usize];
    builder.inputs(&mut wires);
    for value in [false, true] {
        let mut constant = [NetlistWire::default()];
        builder.constant(&mut constant, value);
        wires.extend(constant);
    }
    for _ in 0..gates {
        let recent = wires.len().min(recent) as u64;
        let mut pick = || {
            let from = if random.below(8) == 0 { wires.len() as u64 } else { recent };
            wires[wires.len() - 1 - random.below(from) as usize]
        };
        let (a, b) = ([pick()], [pick()]);
        let mut out = [NetlistWire::default()];
        match random.below(5) {
            0 | 1 => builder.and(&mut out, &a, &b),
            2 | 3 => builder.xor(&mut out, &a, &b),
            _ => builder.not(&mut out, &a),
        }
        wires.extend(out);
    }
    let last = wires.len().saturating_sub(300);
    let outputs: Vec<NetlistWire> = wires[last..].iter().copied().step_by(3).collect();
    builder.outputs(&outputs);
    builder.finish().expect("it is small")
}

/// Sorts values of 32 bits with a record of 32 bits each, in a bitonic network, and gives one of every 64 bits that come
/// out. `builder` may write into a file.
pub fn sort(builder: &mut NetlistBuilder, count: usize) {
    const WIDTH: usize = 64;
    let zero = NetlistWire::default();
    let mut values: Vec<[NetlistWire; WIDTH]> = vec![[zero; WIDTH]; count];
    values.iter_mut().for_each(|value| builder.inputs(value));
    let mut scratch = vec![zero; scratch_wires(WIDTH, 1)];
    let mut step = |low: [NetlistWire; WIDTH], high: [NetlistWire; WIDTH]| {
        let (mut is_less, mut sorted) = ([zero], [[zero; WIDTH]; 2]);
        let keys = [&high[..WIDTH / 2], &low[..WIDTH / 2]];
        comparison::lt_unsigned(builder, &mut is_less, keys[0], keys[1], 1, &mut scratch);
        let [first, second] = &mut sorted;
        selection::cond_swap(builder, first, second, &is_less, &low, &high, &mut scratch);
        sorted
    };
    let mut size = 2;
    while size <= count {
        let mut distance = size / 2;
        while distance > 0 {
            for place in (0..count).filter(|place| place & distance == 0) {
                let other = place | distance;
                let (low, high) = if place & size == 0 { (place, other) } else { (other, place) };
                [values[low], values[high]] = step(values[low], values[high]);
            }
            distance /= 2;
        }
        size *= 2;
    }
    values.iter().for_each(|value| builder.outputs(&value[..1]));
}
