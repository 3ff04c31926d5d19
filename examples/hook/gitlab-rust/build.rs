//! Turns the descriptor set of the contract's schema into Rust types. Needs no protoc.

use prost::Message;
use prost_types::FileDescriptorSet;
use std::error::Error;
use std::fs;

/// Made from plugin.proto, which lies beside it.
const SCHEMA: &str = "../../../sdk/python/plughost_sdk/hook_messages/plugin.binpb";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCHEMA}");
    let bytes = fs::read(SCHEMA).map_err(|why| format!("{SCHEMA}: {why}"))?;
    prost_build::Config::new()
        // Hash maps would give the same pipeline in another order each time.
        .btree_map(["."])
        .compile_fds(FileDescriptorSet::decode(&*bytes)?)?;
    Ok(())
}
