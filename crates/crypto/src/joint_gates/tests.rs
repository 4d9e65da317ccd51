//! Every kernel against the portable one, and that one against the algebra of a gate.

use super::*;
use crate::Prg;

fn blocks(prg: &mut Prg, count: usize) -> Vec<Block> {
    let mut blocks = vec![Block::ZERO; count];
    prg.fill_blocks(&mut blocks);
    blocks
}

fn bits(blocks: &[Block]) -> Vec<u128> {
    blocks.iter().map(|block| block.to_bits()).collect()
}

/// All operations on random blocks.
fn everything(kernel: Kernel, count: usize, seed: u128) -> Vec<Vec<u128>> {
    let gates = JointGates::with_kernel(kernel);
    let mut prg = Prg::from_seed(Block::from_bits(seed));
    let offset = Delta::random(&mut prg);
    let [a, b, c, d, e] = [0; 5].map(|_| blocks(&mut prg, count));
    let (mut zero, mut one) = (c.clone(), d.clone());
    gates.both_keys(&a, &offset, [&mut zero, &mut one]);
    let (mut first, mut second) = (c.clone(), d.clone());
    gates.add_own([&a, &b], &offset, [&mut first, &mut second]);
    let mut public = e.clone();
    gates.with_public(&a, &b, &mut public);
    let mut sums = e.clone();
    gates.combine([&a, &b], [&c, &d, &e], &mut sums);
    let mut active = e.clone();
    gates.active(&a, &b, &offset, &mut active);
    [zero, one, first, second, public, sums, active].iter().map(|blocks| bits(blocks)).collect()
}

#[test]
fn every_kernel_gives_the_portable_blocks() {
    for count in [0, 1, 2, 3, 4, 5, 31, 64] {
        let expected = everything(Kernel::PORTABLE, count, 5);
        for kernel in Kernel::supported() {
            let name = kernel.name();
            assert_eq!(everything(kernel, count, 5), expected, "{name}, {count}, seed 5");
        }
    }
}

#[test]
fn keys_and_rows_are_those_of_a_gate() {
    let mut prg = Prg::from_seed(Block::from_bits(9));
    let (gates, offset) = (JointGates::selected(), Delta::random(&mut prg));
    let [a, b] = [0; 2].map(|_| blocks(&mut prg, 50));
    let [mut zero, mut one, mut first, mut second] = [0; 4].map(|_| vec![Block::ZERO; 50]);
    gates.both_keys(&a, &offset, [&mut zero, &mut one]);
    gates.add_own([&a, &b], &offset, [&mut first, &mut second]);
    let mut active = vec![Block::ZERO; 50];
    gates.active(&a, &b, &offset, &mut active);
    for k in 0..50 {
        assert_eq!([zero[k].select_u64(), one[k].select_u64()], [0, 1], "gate {k}");
        let r = offset.block();
        assert_eq!((zero[k] ^ one[k]).to_bits(), r.to_bits(), "gate {k}");
        assert_eq!(first[k].to_bits(), r.and_bit(b[k].select_bit()).to_bits(), "gate {k}");
        let expected = r.and_bit(a[k].select_bit()) ^ zero[k];
        assert_eq!(second[k].to_bits(), expected.to_bits(), "gate {k}");
        let expected = zero[k] ^ r.and_bit(b[k].select_bit());
        assert_eq!(active[k].to_bits() >> 1, expected.to_bits() >> 1, "gate {k}");
        assert_eq!(active[k].select_u64(), a[k].select_u64(), "gate {k}");
    }
}
