//! Prints how long a row at a secret point takes: its values at all points, and the sum of the rows. Run it with
//! `--release`.

use std::time::Instant;

use phineus_crypto::point_function::{BitRows, PointBits, deal, evaluate};
use phineus_crypto::{Block, Prg};

fn main() {
    let mut prg = Prg::from_seed(Block::from_bits(1));
    println!("best of 21, one core, rows of 128 bits");
    for bits in [10, 12, 14, 16, 18, 20, 22] {
        let points = PointBits::new(bits);
        let mut keys = [0; 2].map(|_| vec![Block::ZERO; points.key_blocks()]);
        let [first, second] = &mut keys;
        deal(points, 5, &mut prg, [first, second]);
        let mut buffers = [0; 2].map(|_| vec![Block::ZERO; points.leaves()]);
        let [values, hashes] = &mut buffers;
        let mut rows = BitRows::new(points, 128);
        let (mut sum, mut best) = ([0; 2], [f64::INFINITY; 2]);
        for _ in 0..21 {
            let start = Instant::now();
            evaluate(points, first, values, hashes);
            let evaluated = start.elapsed().as_secs_f64();
            rows.select(values, 1, &mut sum);
            let selected = start.elapsed().as_secs_f64() - evaluated;
            best = [best[0].min(evaluated), best[1].min(selected)];
        }
        let [evaluated, selected] = best.map(|seconds| 1e6 * seconds);
        println!("2^{bits} rows: {evaluated:.1} us to evaluate, {selected:.1} us to add up");
    }
}
