//! The parameters of a join.

use phineus_bytecode::{Column, ElementType, Encoding};
use phineus_frontend::{
    Arguments, ColumnRange, ProgramError, Tracer, Value, column, receivers as named_receivers,
};
use phineus_oblivious::Matching;

use super::bit_column;
use super::columns::{Kinds, columns, width_of};
use crate::choices::choice;
use crate::{SITES, sites};

/// The column that says whether a row has a partner.
pub(super) const FOUND: &str = "matched";

/// The most bits of a key, with what orders equal ones, and of a payload.
const BITS_MAX: u16 = 255;

/// The most rows of one key.
const REPEATS_MAX: u32 = 64;

/// The most categories.
const CATEGORIES_MAX: u64 = 4096;

/// A join as its parameters describe it.
pub(super) struct JoinParameters {
    pub(super) key: Vec<Column>,
    /// Payload columns of each owner.
    pub(super) payload: [Vec<Column>; 2],
    pub(super) repeats: u32,
    pub(super) wanted: JoinResult,
    /// Who learns something, by site.
    learns: [bool; 2],
}

/// The kind of result that the receivers learn.
pub(super) enum JoinResult {
    /// Something about each of their own rows.
    Rows {
        /// Whether rows without a partner are shown.
        all: bool,
    },
    /// Totals.
    Totals(Totals),
}

/// Which totals.
pub(super) struct Totals {
    pub(super) count: bool,
    pub(super) sum: bool,
    pub(super) mean: bool,
    /// The summed column, if any.
    pub(super) value: Option<PayloadColumn>,
    /// The column of the category, and the number of categories.
    pub(super) category: Option<(PayloadColumn, u64)>,
}

/// A payload column: whose, and which.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PayloadColumn {
    pub(super) site: usize,
    pub(super) column: usize,
}

/// The output of the rows of a site.
pub(super) fn rows_name(site: usize) -> String {
    format!("joined_{}", SITES[site])
}

impl JoinParameters {
    pub(super) fn of(arguments: &Arguments) -> Result<JoinParameters, ProgramError> {
        let key = columns(arguments, "key", Kinds::All)?;
        if key.is_empty() {
            return Err(arguments.bad("key", "at least one column"));
        }
        let payload = [
            columns(arguments, "left", Kinds::Numbers)?,
            columns(arguments, "right", Kinds::Numbers)?,
        ];
        for (name, own) in [("left", &payload[0]), ("right", &payload[1])] {
            if own.iter().any(|column| key.iter().any(|key| key.name == column.name)) {
                return Err(arguments.bad(name, "columns that are not part of the key"));
            }
        }
        let expected = format!("1 to {REPEATS_MAX}");
        let repeats: u32 = arguments.parsed("repeats", &expected)?;
        if !(1..=REPEATS_MAX).contains(&repeats) {
            return Err(arguments.bad("repeats", &expected));
        }
        let names = sites();
        let to = named_receivers(arguments, &names)?;
        let learns = SITES.map(|site| to.contains(&site));
        let wanted = wanted(arguments, &payload)?;
        let plan = JoinParameters { key, payload, repeats, wanted, learns };
        for (name, bits) in [("key", plan.compared_bits()), ("left and right", plan.payload_bits())]
        {
            if bits > BITS_MAX {
                return Err(ProgramError::Refused(format!(
                    "the columns of {name} have {bits} bits together, at most {BITS_MAX} are possible"
                )));
            }
        }
        Ok(plan)
    }

    pub(super) fn key_bits(&self) -> u16 {
        width_of(&self.key)
    }

    /// Bits by which rows are merged.
    pub(super) fn compared_bits(&self) -> u16 {
        self.key_bits().saturating_add(Matching::order_bits(self.repeats))
    }

    /// Bits of the payload in the computation, at least one. Rows of both owners share them where
    /// rows are given out; for totals each owner has bits of its own.
    pub(super) fn payload_bits(&self) -> u16 {
        let [left, right] = [0, 1].map(|site| width_of(&self.sent(site)));
        let bits = match self.wanted {
            JoinResult::Rows { .. } => left.max(right),
            JoinResult::Totals(_) => left.saturating_add(right),
        };
        bits.max(1)
    }

    /// The payload columns that an owner brings: those that somebody has a use for.
    pub(super) fn sent(&self, site: usize) -> Vec<Column> {
        match &self.wanted {
            JoinResult::Rows { .. } if !self.learns[1 - site] => Vec::new(),
            JoinResult::Rows { .. } => self.payload[site].clone(),
            JoinResult::Totals(totals) => {
                let used = totals.places().filter(|place| place.site == site);
                let mut used: Vec<usize> = used.map(|place| place.column).collect();
                used.sort_unstable();
                used.dedup();
                used.into_iter().map(|column| self.payload[site][column].clone()).collect()
            }
        }
    }

    /// All columns that an owner brings.
    pub(super) fn brought(&self, site: usize) -> Vec<Column> {
        [self.key.clone(), self.sent(site)].concat()
    }

    /// An owner's payload among the payload bits of both.
    #[track_caller]
    pub(super) fn placed(
        &self,
        tracer: &Tracer,
        site: usize,
        payload: Option<Value>,
        lanes: u32,
    ) -> Value {
        let all = ElementType::unsigned(self.payload_bits());
        let none = || tracer.constant(all, phineus_bytecode::Lane::ZERO).tile(lanes);
        let Some(payload) = payload else { return none() };
        match (&self.wanted, site) {
            (JoinResult::Rows { .. }, _) | (JoinResult::Totals(_), 0) => payload.cast(all),
            (JoinResult::Totals(_), _) => match width_of(&self.sent(0)) {
                0 => payload.cast(all),
                below => {
                    let below = ElementType::unsigned(below);
                    let zeros = tracer.constant(below, phineus_bytecode::Lane::ZERO).tile(lanes);
                    zeros.bit_concat(&payload)
                }
            },
        }
    }

    /// The first bit of a column among the payload bits of both, and the column.
    pub(super) fn bits_of(&self, place: PayloadColumn) -> (u16, Column) {
        let wanted = &self.payload[place.site][place.column];
        let sent = self.sent(place.site);
        let before: Vec<Column> =
            sent.iter().take_while(|column| column.name != wanted.name).cloned().collect();
        let base = if place.site == 1 { width_of(&self.sent(0)) } else { 0 };
        (base + width_of(&before), wanted.clone())
    }

    /// The sites that learn something.
    pub(super) fn receivers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..2).filter(|&site| self.learns[site])
    }

    /// The most partners that a row of a site may have.
    pub(super) fn slots(&self, site: usize) -> usize {
        if site == 0 { self.repeats as usize } else { 1 }
    }

    /// Whether rows without a partner are shown.
    pub(super) fn keeps_all(&self) -> bool {
        matches!(self.wanted, JoinResult::Rows { all: true })
    }

    /// Columns that a site learns of one partner: whether there is one, and the partner's columns.
    pub(super) fn slot_columns(&self, site: usize, slot: usize) -> Vec<Column> {
        let suffix = if slot == 0 { String::new() } else { format!("_{}", slot + 1) };
        let partner = 1 - site;
        let mut all = vec![bit_column(&format!("{FOUND}{suffix}"))];
        all.extend(self.sent(partner).into_iter().map(|sent| Column {
            name: format!("{}.{}{suffix}", SITES[partner], sent.name),
            ..sent
        }));
        all
    }

    /// Categories are numbers from 0 on.
    pub(super) fn ranges(&self) -> Vec<ColumnRange> {
        let JoinResult::Totals(Totals { category: Some((place, count)), .. }) = &self.wanted else {
            return Vec::new();
        };
        let name = &self.payload[place.site][place.column].name;
        let brought = self.brought(place.site);
        let column = brought.iter().position(|column| column.name == *name);
        let column = column.expect("a category is brought");
        let (input, high) = (SITES[place.site].to_owned(), i128::from(*count) - 1);
        vec![ColumnRange { input, column, low: 0, high }]
    }

    /// One sentence about who learns what.
    pub(super) fn sentence(&self) -> String {
        let who: Vec<&str> = self.receivers().map(|site| SITES[site]).collect();
        let plural = who.len() > 1;
        let names = |columns: Vec<Column>| -> String {
            columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>().join(", ")
        };
        match &self.wanted {
            JoinResult::Rows { .. } => {
                let one = |site: usize| {
                    let (own, partner) = (SITES[site], SITES[1 - site]);
                    let sent = names(self.sent(1 - site));
                    let more = match (sent.is_empty(), self.slots(site)) {
                        (true, 1) => String::new(),
                        (true, _) => ", and how many each has".to_owned(),
                        (false, 1) => format!(", and {partner}'s {sent} of that row"),
                        (false, _) => format!(
                            ", how many each has, and {partner}'s {sent} of those rows in the order of \
                             its file"
                        ),
                    };
                    format!("{own} learns which of its rows have a partner{more}")
                };
                let each: Vec<String> = self.receivers().map(one).collect();
                format!(
                    "{}; all learn how many rows each brings, and nothing else",
                    each.join("; ")
                )
            }
            JoinResult::Totals(totals) => {
                let value = totals.value.map(|place| self.bits_of(place).1.name);
                let value = value.unwrap_or_default();
                let mut what = Vec::new();
                if totals.count {
                    what.push("the number of matches".to_owned());
                }
                if totals.sum {
                    what.push(format!("the sum of {value} over them"));
                }
                if totals.mean {
                    what.push(format!("the mean of {value} over them"));
                }
                let by = match &totals.category {
                    None => String::new(),
                    Some((place, _)) => format!(", for each {}", self.bits_of(*place).1.name),
                };
                let verb = if plural { "learn" } else { "learns" };
                format!(
                    "{} {verb} {}{by}; all learn how many rows each brings, and nothing else",
                    who.join(" and "),
                    what.join(" and ")
                )
            }
        }
    }
}

impl Totals {
    fn places(&self) -> impl Iterator<Item = PayloadColumn> + '_ {
        let category = self.category.as_ref().map(|(place, _)| *place);
        self.value.into_iter().chain(category)
    }
}

fn wanted(arguments: &Arguments, payload: &[Vec<Column>; 2]) -> Result<JoinResult, ProgramError> {
    let expected = "rows, or any of count,sum,mean separated by commas";
    let result: String = arguments.parsed("result", expected)?;
    if result == "rows" {
        let all = choice(arguments, "how", &["inner", "left"])? == "left";
        return Ok(JoinResult::Rows { all });
    }
    let (mut count, mut sum, mut mean) = (false, false, false);
    for word in result.split(',') {
        match word.trim() {
            "count" => count = true,
            "sum" => sum = true,
            "mean" => mean = true,
            _ => return Err(arguments.bad("result", expected)),
        }
    }
    let value = if sum || mean {
        let place = place(arguments, "value", payload)?;
        if payload[place.site][place.column].element.width() > 64 {
            return Err(arguments.bad("value", "a column of at most 64 bits"));
        }
        Some(place)
    } else {
        None
    };
    let by: String = arguments.parsed("by", "a column of left or right")?;
    let category = if by.is_empty() {
        None
    } else {
        let expected = format!("1 to {CATEGORIES_MAX}");
        let count: u64 = arguments.parsed("categories", &expected)?;
        if !(1..=CATEGORIES_MAX).contains(&count) {
            return Err(arguments.bad("categories", &expected));
        }
        let place = place(arguments, "by", payload)?;
        let column = &payload[place.site][place.column];
        let fits = column.element.width() >= 64 || count <= 1 << column.element.width();
        if column.element.is_signed() || column.encoding != Encoding::Number || !fits {
            return Err(arguments.bad("by", "an unsigned column that holds that many categories"));
        }
        Some((place, count))
    };
    Ok(JoinResult::Totals(Totals { count, sum, mean, value, category }))
}

/// The payload column that parameter `name` says.
fn place(
    arguments: &Arguments,
    name: &str,
    payload: &[Vec<Column>; 2],
) -> Result<PayloadColumn, ProgramError> {
    let expected = "the name of a column of left or right, if both have it as in site_b.amount";
    let text: String = arguments.parsed(name, expected)?;
    let (site, wanted) = match text.split_once('.') {
        Some((site, rest)) if SITES.contains(&site) => (Some(site), rest),
        _ => (None, text.as_str()),
    };
    let mut found = Vec::new();
    for (index, columns) in payload.iter().enumerate() {
        if site.is_none_or(|site| site == SITES[index]) {
            let column = columns.iter().position(|column| column.name == wanted);
            found.extend(column.map(|column| PayloadColumn { site: index, column }));
        }
    }
    match found[..] {
        [place] => Ok(place),
        _ => Err(arguments.bad(name, expected)),
    }
}

/// Columns of totals: the category, if there are some, then what is wanted.
pub(super) fn total_columns(plan: &JoinParameters, totals: &Totals) -> Vec<Column> {
    let mut all = Vec::new();
    if let Some((place, _)) = totals.category {
        let name = plan.bits_of(place).1.name;
        all.push(column(&name, ElementType::unsigned(16), Encoding::Number));
    }
    if totals.count {
        all.push(column("count", ElementType::unsigned(32), Encoding::Number));
    }
    let Some(place) = totals.value else { return all };
    let value = plan.bits_of(place).1;
    if totals.sum {
        let element = ElementType::integer(SUM_BITS, value.element.is_signed());
        all.push(column("sum", element, value.encoding));
    }
    if totals.mean {
        let encoding = Encoding::Fixed(mean_fraction(&value));
        all.push(column("mean", ElementType::signed(MEAN_BITS), encoding));
    }
    all
}

/// Bits of a sum: 2^32 values of 64 bits.
pub(super) const SUM_BITS: u16 = 96;

/// Bits of a mean: a sum with 16 binary places, and a sign.
pub(super) const MEAN_BITS: u16 = 128;

/// Binary places of a mean: at least 16.
pub(super) fn mean_fraction(value: &Column) -> u8 {
    places_of(value).max(16)
}

/// Binary places of a column.
pub(super) fn places_of(value: &Column) -> u8 {
    match value.encoding {
        Encoding::Fixed(places) => places,
        Encoding::Number | Encoding::Hex | Encoding::Text | Encoding::Float => 0,
    }
}
