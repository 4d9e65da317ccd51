//! An auction in which the price rises until at most one bidder is left; nobody shows how far they
//! would have gone. A loop that runs until what is opened says so: all learn the price, which is how
//! often it rose, and nothing else of the limits but what that says.
//!
//! `cargo run --example rising_auction -- run --local --protocol gmw --param step=10
//! --in ann=a.csv --in ben=b.csv --in cid=c.csv`

use phineus::{U8, U32, program};

fn main() -> std::process::ExitCode {
    let bidders = ["ann", "ben", "cid"];
    let mut auction = program("rising_auction").parameter("step", "10", "by how much it rises");
    for bidder in bidders {
        auction = auction.party(bidder);
    }
    let auction = auction.trace(move |t, arguments| {
        let step = arguments.count("step")? as u32;
        let limits: Vec<U32> = bidders
            .iter()
            .map(|bidder| t.input(bidder, 1).number::<U32>("limit").vector::<U32>().get(0))
            .collect();
        let bidding = |price: &U32| {
            let left = limits.iter().map(|limit| limit.ge(price).to::<U8>());
            left.reduce(|a, b| a + b).expect("there are bidders")
        };
        let price = U32::constant(t, 0);
        let price = t.while_open(
            "whether two or more go along",
            price,
            |price| bidding(price).ge(2),
            |price| price + step,
        );
        t.output("result", &bidders).number("price", &price).write();
        Ok(())
    });
    phineus::main(auction)
}
