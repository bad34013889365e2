//! Runs STF scripts: `cargo run --example stf -- PROGRAM.json SCRIPT.stf [PROGRAM.json SCRIPT.stf ...]`.
//!
//! Prints one line a script and exits with 1 if any failed.

#[path = "../tests/support/stf.rs"]
mod stf;

fn main() -> std::process::ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let (mut passed, mut failed) = (0, 0);
    for pair in files.chunks_exact(2) {
        let result = match (std::fs::read_to_string(&pair[0]), std::fs::read_to_string(&pair[1])) {
            (Ok(json), Ok(script)) => stf::run(&json, &script),
            (Err(e), _) => Err(format!("{}: {e}", pair[0])),
            (_, Err(e)) => Err(format!("{}: {e}", pair[1])),
        };
        match result {
            Ok(()) => passed += 1,
            Err(message) => {
                failed += 1;
                println!("FAIL {} {}: {message}", pair[0], pair[1]);
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    std::process::ExitCode::from(u8::from(failed > 0))
}
