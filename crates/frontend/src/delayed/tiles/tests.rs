use super::*;

#[test]
fn tiles_open_the_fewest_elements() {
    let tiles = |rows, columns, vectors, most| {
        let Tiling { rows, columns, vectors } = Tiling::new([rows, columns, vectors], most);
        [rows, columns, vectors]
    };
    assert_eq!(tiles(8, 8, 8, 128), [8, 8, 8], "all of it");
    assert_eq!(tiles(128, 100, 1, 128), [128, 1, 1], "a vector: column by column");
    assert_eq!(tiles(16, 16, 16, 128), [16, 8, 8]);
    assert_eq!(tiles(128, 128, 128, 128), [16, 8, 8]);
    assert_eq!(tiles(64, 64, 64, 64), [8, 8, 8]);
    assert_eq!(tiles(9, 5, 7, 128), [9, 5, 7]);
    for (rows, columns, vectors, most) in [(1, 1, 1, 1), (3, 200, 1000, 64), (4096, 7, 3, 4096)] {
        let Tiling { rows: m, columns: k, vectors: n } =
            Tiling::new([rows, columns, vectors], most);
        assert!(m * k <= most && k * n <= most && m * n <= most, "{m} by {k} by {n}");
        assert!((1..=rows).contains(&m) && (1..=columns).contains(&k) && n <= vectors);
    }
}
