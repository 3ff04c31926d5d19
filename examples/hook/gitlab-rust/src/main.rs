//! A provider of the hook contract: pipelines in, `.gitlab-ci.yml` out. Speaks only on its pipes.

mod cache;
mod conversation;
mod emit;
mod findings;
mod frames;
mod job;
mod pipeline;
mod rules;
mod script;
mod services;
mod stages;
mod text;
mod yaml;

use std::io::{self, Write};
use std::process::ExitCode;

/// The messages of the contract, made by build.rs.
mod messages {
    #![allow(clippy::all, dead_code)] // other people's taste, and phases that are not used
    include!(concat!(env!("OUT_DIR"), "/cigen.plugin.v1.rs"));
}

fn main() -> ExitCode {
    match conversation::hold(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Not eprintln!, which panics if nobody reads stderr.
            let _ = writeln!(io::stderr(), "Error: {why}");
            ExitCode::FAILURE
        }
    }
}
