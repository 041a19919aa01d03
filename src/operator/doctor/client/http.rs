//! Just enough HTTP for one client on loopback: read a request, write a JSON answer or a stream
//! of events. Knows nothing of what is asked; reads no more than a conversation can hold.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// Longest body that is read.
const LIMIT: usize = 64 * 1024 * 1024;

/// A request as it came in.
#[derive(Debug)]
pub(super) struct Request {
    /// What is asked for.
    pub(super) path: String,
    /// What was sent with it.
    pub(super) body: Vec<u8>,
}

/// Reads the next request of a connection; none when the client has hung up.
pub(super) fn next(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split_whitespace().nth(1).unwrap_or("/").to_owned();
    let mut length = 0;
    let mut chunked = false;
    loop {
        let mut header = String::new();
        if from.read_line(&mut header)? == 0 {
            return Ok(None);
        }
        let header = header.trim_end();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.to_ascii_lowercase().contains("chunked");
        }
    }
    let body = if chunked { chunks(from)? } else { exactly(from, length)? };
    Ok(Some(Request { path, body }))
}

fn exactly(from: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    if length > LIMIT {
        return Err(io::Error::other("a body of that length is not read"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(body)
}

fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or("0");
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        body.append(&mut exactly(from, size)?);
        if body.len() > LIMIT {
            return Err(io::Error::other("a body of that length is not read"));
        }
        from.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// Answers with JSON and keeps the connection.
pub(super) fn answer(to: &mut impl Write, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let length = body.len();
    write!(
        to,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    to.flush()
}

/// Answers with a stream of events and ends the connection.
pub(super) fn stream(to: &mut impl Write, events: &[Value]) -> io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    for event in events {
        let kind = event["type"].as_str().unwrap_or("ping");
        write!(to, "event: {kind}\ndata: {event}\n\n")?;
    }
    to.flush()
}
