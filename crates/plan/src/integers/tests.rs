//! Ranges at the edge of what is counted, and products beyond it.

use super::range::Range;

mod wide;

/// The largest field has space for integers of 126 bits.
const LARGEST: u32 = 126;

#[test]
fn what_is_beyond_all_fields_fits_into_none() {
    let [unsigned, signed] = [false, true].map(|signed| Range::of_type(64, signed));
    let product = unsigned.mul(unsigned);
    for magnitude_bits in [30, 59, 125, LARGEST] {
        assert!(!product.fits(magnitude_bits), "a product of 128 bits");
        assert!(!product.add(product).fits(magnitude_bits));
        assert!(!product.sub(product).fits(magnitude_bits));
        assert!(!product.neg().fits(magnitude_bits));
        assert!(!product.mul(product).fits(magnitude_bits));
        assert!(!unsigned.square().times(1 << 40).fits(magnitude_bits));
        assert!(!Range::of_type(200, true).fits(magnitude_bits));
    }
    assert!(product.magnitude_bits() > LARGEST, "no field would do");
    assert!(unsigned.mul(signed).fits(128) == unsigned.mul(signed).fits(LARGEST));
}

#[test]
fn what_fits_fits_exactly() {
    for magnitude_bits in [30, 59, 125, LARGEST] {
        let least = 1 - (1i128 << magnitude_bits);
        let most = if magnitude_bits > 64 { 1 - least } else { -least };
        assert!(Range { low: least, high: most }.fits(magnitude_bits));
        assert!(!Range { low: 0, high: most + 1 }.fits(magnitude_bits));
        assert!(!Range { low: least - 1, high: 0 }.fits(magnitude_bits));
    }
    let signed = Range::of_type(64, true);
    assert!(signed.mul(signed).fits(LARGEST), "2^63 times 2^63 is 2^126");
    assert!(!signed.mul(signed).add(signed).fits(LARGEST));
}
