//! The conversation: a handshake, then rounds of plan and generate until the host closes its end.

use crate::findings::Findings;
use crate::frames::{Failure, LIMIT, decode, receive, send};
use crate::messages::{
    CigenSchema, GenerateRequest, GenerateResult, Hello, PlanRequest, PlanResult, PluginInfo,
};
use crate::pipeline;
use prost::Message;
use std::io::{Read, Write};

const PROTOCOL: u32 = 1;

/// Holds the whole conversation. An end of the input between two messages is its ordinary end.
pub fn hold(input: &mut impl Read, output: &mut impl Write) -> Result<(), Failure> {
    let greeting = receive(input)?.ok_or("the input ended before the handshake")?;
    let hello: Hello = decode(&greeting)?;
    if hello.core_protocol != PROTOCOL {
        let core = hello.core_protocol;
        return Err(format!("Protocol version mismatch: core={core}, plugin={PROTOCOL}").into());
    }
    send(output, &info())?;
    // Messages carry no tag. Their shape says what they are, or else their place: plan and generate come in turns.
    let mut due = Phase::Plan;
    while let Some(body) = receive(input)? {
        match told_by_shape(&body).unwrap_or(due) {
            Phase::Plan => {
                decode::<PlanRequest>(&body)?;
                send(output, &PlanResult::default())?;
                due = Phase::Generate;
            }
            Phase::Generate => {
                send(output, &within_limit(pipeline::generate(&decode(&body)?)))?;
                due = Phase::Plan;
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Phase {
    Plan,
    Generate,
}

/// The schema is field 3 of the one request and field 4 of the other. Some hosts send no plan at all.
fn told_by_shape(body: &[u8]) -> Option<Phase> {
    let has_content = |schema: Option<CigenSchema>| {
        schema.is_some_and(|it| !it.jobs.is_empty() || !it.raw_config_yaml.is_empty())
    };
    if GenerateRequest::decode(body).is_ok_and(|it| has_content(it.schema)) {
        return Some(Phase::Generate);
    }
    let is_plan = PlanRequest::decode(body).is_ok_and(|it| has_content(it.schema));
    is_plan.then_some(Phase::Plan)
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
