//! Frames: four bytes of length, big-endian, then one message. Refuses what is over the limit, in both directions.

use prost::Message;
use std::io::{ErrorKind, Read, Write};

pub type Failure = Box<dyn std::error::Error>;

/// Bytes of one message, inclusive; the contract's number.
pub const LIMIT: usize = 10 * 1024 * 1024;
const HEADER: usize = 4;

/// None where the input ends between two frames.
pub fn receive(input: &mut impl Read) -> Result<Option<Vec<u8>>, Failure> {
    let Some(header) = receive_header(input)? else {
        return Ok(None);
    };
    let size = u32::from_be_bytes(header) as usize;
    // Before the memory is asked for: a header may promise four gigabytes.
    if size > LIMIT {
        return Err(too_large(size).into());
    }
    let mut body = vec![0; size];
    input
        .read_exact(&mut body)
        .map_err(|why| format!("the input ended inside a message of {size} bytes: {why}"))?;
    Ok(Some(body))
}

pub fn decode<M: Message + Default>(body: &[u8]) -> Result<M, Failure> {
    M::decode(body).map_err(|why| format!("a message cannot be read: {why}").into())
}

fn receive_header(input: &mut impl Read) -> Result<Option<[u8; HEADER]>, Failure> {
    let mut header = [0; HEADER];
    let mut filled = 0;
    while filled < HEADER {
        match input.read(&mut header[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err("the input ended inside the length of a message".into()),
            Ok(more) => filled += more,
            Err(why) if why.kind() == ErrorKind::Interrupted => (),
            Err(why) => return Err(why.into()),
        }
    }
    Ok(Some(header))
}

pub fn send(output: &mut impl Write, message: &impl Message) -> Result<(), Failure> {
    let size = message.encoded_len();
    if size > LIMIT {
        return Err(too_large(size).into());
    }
    let mut frame = Vec::with_capacity(HEADER + size);
    frame.extend_from_slice(&(size as u32).to_be_bytes());
    message.encode(&mut frame)?;
    output.write_all(&frame)?;
    Ok(output.flush()?)
}

fn too_large(size: usize) -> String {
    format!("a message of {size} bytes is over the limit of {LIMIT}")
}
