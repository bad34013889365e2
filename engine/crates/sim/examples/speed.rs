//! Prints how many packet-hops a second the simulator reaches: `cargo run --release -p sim --example speed`.

use std::error::Error;
use std::time::Instant;

use sim::bench;
use sim::time::{Nanos, SECOND};
use sim::Network;

type Build = fn() -> Result<Network, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1);
    let cases: [(&str, Build, Nanos); 4] = [
        ("chain", || Ok(bench::chains(1, 10)?), 60 * SECOND),
        ("links", || Ok(bench::chains(909, 10)?), SECOND / 20),
        ("star", || Ok(bench::star(10_000)?), SECOND * 2),
        ("p4", p4_chain, 10 * SECOND),
    ];
    for (name, build, until) in cases {
        if wanted.as_deref().is_none_or(|wanted| wanted == name) {
            time(name, build()?, until)?;
        }
    }
    Ok(())
}

fn p4_chain() -> Result<Network, Box<dyn Error>> {
    let json = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../p4src/canopy.json"))?;
    Ok(bench::p4_chain(&json, 9).map_err(|error| error.to_string())?)
}

fn time(name: &str, mut network: Network, until: Nanos) -> Result<(), Box<dyn Error>> {
    network.run(1)?; // routes
    let (start, busy, hops) = (Instant::now(), busy_seconds(), network.packet_hops());
    network.run(until)?;
    let (seconds, busy) = (start.elapsed().as_secs_f64(), busy_seconds() - busy);
    let hops = (network.packet_hops() - hops) as f64;
    let millions = hops / 1e6;
    println!("{name}: {:.2} million packet-hops/s, {:.2} of a whole core", millions / seconds, millions / busy);
    Ok(())
}

/// Seconds this process has had a processor, where Linux tells: others may be using it as well.
fn busy_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}
