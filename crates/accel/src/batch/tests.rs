//! Loads stay within buffers and pieces cover products, whatever the sizes.

use super::*;
use phineus_crypto::field::{F61, Field};

#[test]
fn loads_fill_buffers_and_no_more() {
    for out_len in [2, 4, 256, 1000, 40_000, 250_000] {
        for columns in [1, 2, 3, 17, 1000, 60_000] {
            let form = LoadShape { out_len, columns, count: 1, widths: [1, 2] };
            let count = form.capacity::<F61>();
            let (places, end) = form.places::<F61>(count);
            assert!(end <= BUFFER_BYTES && count * out_len * F61::BYTES <= BUFFER_BYTES);
            let starts = places.iter().flat_map(|&(matrix, vectors)| [matrix, vectors]);
            assert!(starts.collect::<Vec<_>>().is_sorted());
            let results = (count + 1) * out_len * F61::BYTES;
            let (_, more) = form.places::<F61>(count + 1);
            assert!(more + 4 * ALIGN_BYTES > BUFFER_BYTES || results > BUFFER_BYTES, "{form:?}");
            let most = form.columns_max::<F61>();
            let widest = LoadShape { columns: most, ..form };
            assert!(most == 0 || widest.capacity::<F61>() >= 1, "{form:?}");
        }
    }
}
