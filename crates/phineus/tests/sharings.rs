//! Sharings that `mixed` chooses: never dearer than one sharing for everything, nor than what is stated by hand, and the
//! results are right.
#![cfg(feature = "llvm")]

mod common;

use common::{Place, Result};
use serde_json::Value;

/// What `biometric` computes, without any sharing.
const NEAREST: &str = "#include <phineus.h>
PH_SIZE(N, 256)
PH_MAIN void nearest(PH_IN(alice) const uint32_t probe[4], PH_IN(bob) const uint32_t base[N][4],
                     PH_OUT(alice, bob) uint32_t *best)
{
    uint32_t least = UINT32_MAX;
    for (int i = 0; i < N; i++) {
        uint32_t distance = 0;
        for (int j = 0; j < 4; j++) {
            uint32_t d = probe[j] - base[i][j];
            distance += d * d;
        }
        if (distance < least)
            least = distance;
    }
    *best = least;
}
";

/// One round of k-means: products, comparisons and choices.
const CLUSTERS: &str = "#include <phineus.h>
PH_SIZE(N, 60)
PH_MAIN void clusters(PH_IN(alice) PH_RANGE(0, 1000) const int32_t points[N][2],
                      PH_IN(bob) PH_RANGE(0, 1000) const int32_t centers[3][2],
                      PH_OUT(bob) int32_t counts[3])
{
    for (int k = 0; k < 3; k++)
        counts[k] = 0;
    for (int i = 0; i < N; i++) {
        uint32_t best = UINT32_MAX, at = 0;
        for (int k = 0; k < 3; k++) {
            int32_t x = points[i][0] - centers[k][0], y = points[i][1] - centers[k][1];
            uint32_t distance = x * x + y * y;
            if (distance < best) {
                best = distance;
                at = k;
            }
        }
        for (int k = 0; k < 3; k++)
            counts[k] += at == k;
    }
}
";

/// Two blocks and more, between which values are carried.
const ROOTS: &str = "#include <phineus.h>
PH_MAIN void roots(PH_IN(alice) const uint32_t x[8], PH_IN(bob) const uint32_t y[8],
                   PH_OUT(alice, bob) uint32_t *sum)
{
    uint32_t all = 0, steps = 0;
    do {
        for (int i = 0; i < 8; i++)
            all += x[i] * y[i] + (x[i] > all ? steps : 1);
        steps++;
    } while (!ph_reveal(all > 1000000 || steps == 4));
    *sum = all;
}
";

/// Products of inputs whose lanes are moved first.
const MOVED: &str = "#include <phineus.h>
PH_MAIN void moved(PH_IN(alice) const uint32_t factors[64], PH_IN(bob) const uint32_t weights[64],
                   PH_OUT(alice) uint32_t *sum)
{
    uint32_t all = 0;
    for (int i = 0; i < 32; i++)
        all += factors[2 * i + 1] * weights[i];
    *sum = all;
}
";

/// Seconds that `mixed` takes to connect its three streams more than `garbled` takes for one.
const CONNECTIONS_S: f64 = 6e-3;

const NETWORKS: [Option<&str>; 3] = [None, Some("rtt=1ms,bw=1gbit"), Some("rtt=40ms,bw=100mbit")];

const PROGRAMS: [(&str, &str); 4] =
    [("nearest", NEAREST), ("clusters", CLUSTERS), ("roots", ROOTS), ("moved", MOVED)];

fn place() -> Result<Place> {
    let place = Place::new()?;
    for (name, text) in PROGRAMS {
        place.write(&format!("{name}.c"), text)?;
        place.run(&format!("data {name}.c"))?.succeeded()?;
    }
    Ok(place)
}

fn explained(place: &Place, line: &str, net: Option<&str>) -> Result<Value> {
    let net = net.map_or(String::new(), |net| format!(" --net {net}"));
    place.run(&format!("explain {line} --json{net}"))?.succeeded()?.document()
}

fn seconds(document: &Value) -> Result<f64> {
    document["seconds"]["total"].as_f64().ok_or_else(|| "a predicted time".into())
}

#[test]
fn no_choice_is_dearer_than_one_sharing_for_everything() -> Result {
    let place = place()?;
    for program in ["nearest.c", "clusters.c", "roots.c", "moved.c"] {
        for net in NETWORKS {
            let mixed = explained(&place, &format!("{program} --protocol mixed"), net)?;
            for protocol in ["gmw", "bmr", "arith"] {
                let other = explained(&place, &format!("{program} --protocol {protocol}"), net)?;
                let (mixed, other) = (seconds(&mixed)?, seconds(&other)?);
                assert!(mixed <= other * 1.001, "{program} {net:?}: {mixed}, {protocol} {other}");
            }
            let garbled =
                seconds(&explained(&place, &format!("{program} --protocol garbled"), net)?)?;
            let seconds = seconds(&mixed)?;
            let most = garbled * 1.02 + CONNECTIONS_S;
            assert!(seconds <= most, "{program} {net:?}: {seconds}, garbled {garbled}");
            let candidates = mixed["sharings"]["candidates"].as_array().ok_or("candidates")?;
            assert!(candidates.len() >= 3, "{candidates:?}");
            assert_eq!(mixed["sharings"]["is_network_assumed"], net.is_none());
        }
    }
    Ok(())
}

#[test]
fn what_is_found_costs_what_is_stated_by_hand() -> Result {
    let place = place()?;
    for net in NETWORKS {
        let found = seconds(&explained(&place, "nearest.c --protocol mixed", net)?)?;
        let hand = |minimum: &str| {
            let line = "biometric --param n=256 --param index=false --protocol mixed";
            let line = format!("{line} --param minimum={minimum}");
            seconds(&explained(&place, &line, net)?)
        };
        let least = hand("gmw")?.min(hand("bmr")?);
        assert!(found <= 1.05 * least, "{net:?}: {found}, by hand {least}");
    }
    Ok(())
}

/// Lanes that were moved came in as bits: 32 shared bits for each, and a round for the conversion.
#[test]
fn inputs_that_are_moved_before_products_are_not_converted() -> Result {
    let place = place()?;
    for protocol in ["arith", "mixed"] {
        for net in NETWORKS {
            let costs = &explained(&place, &format!("moved.c --protocol {protocol}"), net)?["plan"]
                ["costs"];
            assert!(costs["shared_bits_32"].is_null(), "{protocol} {net:?}: {costs}");
            // Unless all is garbled.
            if costs["y_and_gates"] == 0 {
                assert_eq!(costs["rounds"], 2, "{protocol} {net:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn runs_with_chosen_sharings_are_right_and_plans_are_proven() -> Result {
    let place = place()?;
    for (program, inputs) in [
        ("nearest", "--in probe=probe.csv --in base=base.csv"),
        ("clusters", "--in points=points.csv --in centers=centers.csv"),
        ("roots", "--in x=x.csv --in y=y.csv"),
        ("moved", "--in factors=factors.csv --in weights=weights.csv"),
    ] {
        for net in NETWORKS {
            let net = net.map_or(String::new(), |net| format!(" --net {net}"));
            let line = format!("run {program}.c --local --protocol mixed --verify {inputs}{net}");
            place.run(&line)?.succeeded()?.says("sharings: ")?;
        }
        let line =
            format!("plan {program}.c --protocol mixed --out p.plan --program-out p.program");
        place.run(&line)?.succeeded()?;
        place.run("check p.plan --program p.program")?.succeeded()?.says("right: ")?;
    }
    Ok(())
}

#[test]
fn programs_as_they_are_have_no_chosen_sharings() -> Result {
    let place = place()?;
    let whole = explained(&place, "nearest.c --protocol mixed --no-optimise", None)?;
    assert!(whole["sharings"].is_null());
    // Stated sharings bind: nothing is left to choose.
    let stated = explained(&place, "biometric --param n=20 --protocol mixed", None)?;
    assert!(stated["sharings"].is_null());
    Ok(())
}
