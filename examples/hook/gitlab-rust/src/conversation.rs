//! The conversation: a handshake, then rounds of plan and generate until the host closes its end.

use crate::findings::Findings;
use crate::frames::{Failure, LIMIT, receive, send};
use crate::messages::{GenerateRequest, GenerateResult, Hello, PlanRequest, PlanResult, PluginInfo};
use crate::pipeline;
use prost::Message;
use std::io::{Read, Write};

const PROTOCOL: u32 = 1;

/// Holds the whole conversation. An end of the input between two messages is its ordinary end.
pub fn hold(input: &mut impl Read, output: &mut impl Write) -> Result<(), Failure> {
    let hello: Hello = receive(input)?.ok_or("the input ended before the handshake")?;
    if hello.core_protocol != PROTOCOL {
        let core = hello.core_protocol;
        return Err(format!("Protocol version mismatch: core={core}, plugin={PROTOCOL}").into());
    }
    send(output, &info())?;
    // Messages carry no tag: their place in the conversation says what they are.
    while receive::<PlanRequest>(input)?.is_some() {
        send(output, &PlanResult::default())?;
        let Some(request) = receive::<GenerateRequest>(input)? else {
            break;
        };
        send(output, &within_limit(pipeline::generate(&request)))?;
    }
    Ok(())
}

fn info() -> PluginInfo {
    PluginInfo {
        name: "provider/gitlab".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        protocol: PROTOCOL,
        capabilities: vec!["provider:gitlab".into()],
        conflicts_with: vec!["provider:*".into()],
        ..PluginInfo::default()
    }
}

/// A result that no frame holds becomes one that says so: the alternative is to die without a word.
fn within_limit(result: GenerateResult) -> GenerateResult {
    let size = result.encoded_len();
    if size <= LIMIT {
        return result;
    }
    let mut findings = Findings::default();
    findings.error(
        "REPLY_TOO_LARGE",
        format!("the pipeline and what there is to say of it take {size} bytes of {LIMIT}"),
        "Split the jobs over several pipeline files.",
    );
    findings.into_result(Vec::new())
}
