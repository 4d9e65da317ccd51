//! Kernels with keys, generators and ciphers of their own.

use phineus_crypto::secret::{classify, declassify};
use phineus_crypto::{
    AndIndex, Block, CrHash, Delta, GarbledGate, HalfGates, PageCipher, Prg, transpose,
};

use crate::wire::{secret_block, secret_prg, secret_words};

/// Sizes around the widths of kernels.
const SIZES: [usize; 6] = [1, 3, 8, 17, 64, 130];

pub fn all() {
    let mut prg = secret_prg(1);
    for size in SIZES {
        generator(&mut prg, size);
        pages(size);
        gates(&mut prg, size);
        let mut blocks = vec![Block::ZERO; size];
        prg.fill_blocks(&mut blocks);
        CrHash::new(Block::from_bits(3)).hash_blocks(5, &mut blocks);
    }
    let (rows, columns) = (128, 128);
    let bits = secret_words(&mut prg, rows * columns / 64);
    let mut transposed = vec![Block::ZERO; columns];
    transpose(zerocopy::IntoBytes::as_bytes(&bits[..]), rows / 8, &mut transposed);
}

fn generator(prg: &mut Prg, size: usize) {
    let mut own = Prg::from_seed(prg.next_block());
    let mut bytes = vec![0; size];
    own.fill_bytes(&mut bytes);
}

fn pages(size: usize) {
    let cipher = PageCipher::from_seed(secret_block(2));
    let mut page = vec![1u8; size * 16];
    classify(&mut page[..]);
    let tag = cipher.seal(7, &mut page);
    // What is written to storage is public.
    declassify(&page[..], "written to storage");
    cipher.open(7, &mut page, tag).expect("nobody changed it");
}

fn gates(prg: &mut Prg, size: usize) {
    let delta = Delta::random(prg);
    let gates = HalfGates::new(Block::from_bits(9));
    let [mut a, mut b, mut out] = [(); 3].map(|()| vec![Block::ZERO; size]);
    prg.fill_blocks(&mut a);
    prg.fill_blocks(&mut b);
    let mut rows = vec![0; size * GarbledGate::BYTES];
    gates.garble(&delta, AndIndex(1), &a, &b, &mut out, &mut rows);
    declassify(&rows[..], "sent to the evaluator");
    gates.evaluate(AndIndex(1), &a, &b, &mut out, &rows);
}
