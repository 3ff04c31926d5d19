mod json;

use json::{quote, Value};
use std::io::{self, BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const MAX_LINE: usize = 1_048_576;
const PROTOCOL: &str = "rterm.plugin.v1";
const READ_WAIT: Duration = Duration::from_millis(250); // half of what a host gives us to exit

struct ToolError {
    code: &'static str,
    message: &'static str,
}

/// What a tool answers, already as JSON text.
type Output = Result<String, ToolError>;

fn invalid_input<T>(message: &'static str) -> Result<T, ToolError> {
    let code = "invalid_input";
    Err(ToolError { code, message })
}

fn greet(input: &Value) -> Output {
    match input.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => {
            Ok(format!("{{\"text\":{}}}", quote(&format!("Hello {name}"))))
        }
        _ => invalid_input("name must be a non-empty string"),
    }
}

fn add(input: &Value) -> Output {
    let numbers = match input.get("numbers") {
        Some(Value::Array(numbers)) => numbers,
        _ => return invalid_input("numbers must be a list"),
    };
    let mut sum = 0.0_f64;
    for item in numbers {
        let number = match item {
            Value::Number(number) => number,
            _ => return invalid_input("numbers must hold numbers only"),
        };
        sum += number;
    }
    // Infinity has no spelling in JSON.
    if !sum.is_finite() {
        return invalid_input("the sum is beyond the range of a double");
    }
    // {} spells 6 without a fraction but 1e300 with all its zeros; {:?} as 1e300
    // but 6 as 6.0.
    if sum.fract() == 0.0 && sum.abs() < 1e15 {
        Ok(format!("{{\"sum\":{sum}}}"))
    } else {
        Ok(format!("{{\"sum\":{sum:?}}}"))
    }
}

fn call(tool: &str, input: &Value) -> Output {
    match tool {
        "greet" => greet(input),
        "add" => add(input),
        _ => Err(ToolError {
            code: "unknown_tool",
            message: "the tools are greet and add",
        }),
    }
}

fn response(id: &str, output: &Output) -> String {
    let id = quote(id);
    let rest = match output {
        Ok(output) => format!("\"status\":\"ok\",\"output\":{output}"),
        Err(error) => format!(
            "\"status\":\"error\",\"error\":{{\"code\":{},\"message\":{}}}",
            quote(error.code),
            quote(error.message)
        ),
    };
    format!("{{\"type\":\"response\",\"request_id\":{id},{rest}}}")
}

type Failure = Box<dyn std::error::Error>;

/// None where the input ends between two lines.
fn read_message(input: &mut impl BufRead, kind: &str) -> Result<Option<Value>, Failure> {
    let mut line = Vec::new();
    let limit = MAX_LINE as u64 + 1;
    input.take(limit).read_until(b'\n', &mut line)?;
    match line.last() {
        None => return Ok(None),
        Some(b'\n') => (),
        Some(_) if line.len() > MAX_LINE => return Err("a line is too long".into()),
        Some(_) => return Err("the input ended inside a line".into()),
    }
    let message = json::parse(std::str::from_utf8(&line)?)?;
    match message.get("type").and_then(Value::as_str) {
        Some(found) if found == kind => Ok(Some(message)),
        _ => Err(format!("expected a JSON object of type {kind}").into()),
    }
}

fn send(out: &mut impl Write, mut line: String) -> Result<(), Failure> {
    if line.len() > MAX_LINE {
        return Err("the request_id leaves no room for a response".into());
    }
    line.push('\n');
    out.write_all(line.as_bytes())?;
    Ok(out.flush()?)
}

fn serve(input: &mut impl BufRead, out: &mut impl Write) -> Result<(), Failure> {
    let hello = match read_message(input, "handshake")? {
        Some(hello) => hello,
        None => return Ok(()),
    };
    if hello.get("protocol_version").and_then(Value::as_str) != Some(PROTOCOL) {
        return Err(format!("the host does not speak {PROTOCOL}").into());
    }
    let manifest = format!(
        "{{\"plugin_id\":\"greeter-rust\",\"plugin_version\":\"1.0.0\",\
         \"protocol_version\":\"{PROTOCOL}\",\"exposed_tools\":[\"greet\",\"add\"]}}"
    );
    let hello = format!("{{\"type\":\"handshake\",\"manifest\":{manifest}}}");
    send(out, hello)?;

    let request = match read_message(input, "request")? {
        Some(request) => request,
        None => return Ok(()),
    };
    let text = |key| request.get(key).and_then(Value::as_str);
    let (id, tool) = match (text("request_id"), text("tool_name")) {
        (Some(id), Some(tool)) => (id, tool),
        _ => return Err("request_id and tool_name must be strings".into()),
    };
    let output = call(tool, request.get("input").unwrap_or(&Value::Null));
    let mut line = response(id, &output);
    if line.len() > MAX_LINE {
        let code = "output_too_large";
        let message = "the response is longer than a line may be";
        line = response(id, &Err(ToolError { code, message }));
    }
    send(out, line)
}

/// A host closes our input once it has read the answer. Some stop reading as soon as we are gone,
/// and would lose an answer that is still in the pipe.
fn wait_until_read() {
    let (closed, input) = mpsc::channel();
    thread::spawn(move || {
        let _ = io::stdin().read(&mut [0]);
        let _ = closed.send(());
    });
    let _ = input.recv_timeout(READ_WAIT);
}

fn main() -> ExitCode {
    let outcome = serve(&mut io::stdin().lock(), &mut io::stdout().lock());
    match outcome {
        Ok(()) => {
            wait_until_read();
            ExitCode::SUCCESS
        }
        Err(why) => {
            // Not eprintln!, which panics if nobody reads stderr.
            let _ = writeln!(io::stderr(), "greeter-rust: {why}");
            ExitCode::FAILURE
        }
    }
}
