//! Tables that are written are read back.

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{ElementType, Encoding};

use super::*;
use crate::{Content, Input, TextKey, format_value, open, parse_text};

#[test]
fn what_is_written_is_read_back() {
    let cases = [
        (ElementType::unsigned(8), Encoding::Number, 0..256u64),
        (ElementType::signed(8), Encoding::Number, 0..256),
        (ElementType::signed(1), Encoding::Number, 0..2),
        (ElementType::unsigned(9), Encoding::Hex, 0..512),
    ];
    for (element, encoding, values) in cases {
        let column = Column { name: "x".to_owned(), element, encoding };
        for value in values.map(Lane::from) {
            let text = format_value(value, &column);
            let key = TextKey::within_a_file();
            assert_eq!(parse_text(&text, element, encoding, &key), Ok(value), "{text}");
        }
    }
}

#[test]
fn no_row_is_longer_than_said() {
    for width in 1..=256u16 {
        let encodings = [Encoding::Number, Encoding::Hex];
        let fixed = Encoding::Fixed((width % 64) as u8);
        let fixed = [(false, fixed), (true, fixed)].into_iter().filter(|_| width <= 128);
        let others = [false, true].into_iter().zip(encodings.into_iter().rev());
        for (signed, encoding) in others.chain(fixed) {
            let element = ElementType::integer(width, signed);
            let column = Column { name: "x".to_owned(), element, encoding };
            let most = Format::Csv.longest_bytes(std::slice::from_ref(&column), 1);
            for value in [mask_of(width), Lane::from(1) << usize::from(width - 1)] {
                let text = format_value(value, &column);
                assert!(text.len() < most as usize, "{text} as {element}");
            }
        }
    }
}

#[test]
fn a_table_survives() {
    let columns = vec![
        Column {
            name: "a, b".to_owned(),
            element: ElementType::signed(256),
            encoding: Encoding::Number,
        },
        Column {
            name: "c".to_owned(),
            element: ElementType::unsigned(12),
            encoding: Encoding::Hex,
        },
    ];
    let mut table = Table::new(columns.clone());
    table.push(&[Lane::MAX, Lane::from(10)]);
    table.push(&[Lane::from(5), Lane::from(0xfff)]);
    let mut bytes = Vec::new();
    write_table(&table, &mut *sink(Format::Csv, &mut bytes)).expect("memory");
    assert_eq!(bytes, b"\"a, b\",c\n-1,00a\n5,fff\n");
    let input = Input::count(open(Content::Bytes(bytes)).expect("CSV")).expect("it is right");
    let copy = input.read(&columns, &[], &TextKey::within_a_file()).expect("it is right").table;
    assert!(phineus_frontend::same_rows(&copy, &table));
}
