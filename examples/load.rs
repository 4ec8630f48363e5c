//! Load on `toolroute serve`, open loop: requests leave when the clock says so, whether or not earlier
//! ones are answered, and a latency counts from the moment at which the request was due. So a server
//! that falls behind is seen to fall behind.
//!
//! `cargo run --release --example load -- 127.0.0.1:8765 RATE SECONDS [CONNECTIONS]`; each prompt is
//! another. `scripts/load.sh` starts the server too.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Instant, sleep_until};

const VERBS: [&str; 12] = [
    "find",
    "send",
    "delete",
    "compare",
    "translate",
    "deploy",
    "summarise",
    "list",
    "convert",
    "schedule",
    "plot",
    "book",
];
const THINGS: [&str; 16] = [
    "the quarterly report",
    "an email to Dana",
    "flights to Lisbon",
    "the failing build",
    "open issues",
    "a meeting with the team",
    "the weather in Paris",
    "photos of the trip",
    "the customer's invoice",
    "logs of the last hour",
    "a table of sales",
    "unread messages",
    "the database backup",
    "a picture of a cat",
    "stock prices",
    "the release notes",
];
const PLACES: [&str; 10] = [
    "by tonight",
    "for project",
    "in folder",
    "since ticket",
    "for client",
    "at office",
    "on server",
    "from version",
    "for order",
    "in room",
];

fn prompt(number: u64) -> String {
    let pick = |words: &[&'static str], by: u64| words[(number / by) as usize % words.len()];
    let (verb, thing, place) = (pick(&VERBS, 1), pick(&THINGS, 12), pick(&PLACES, 7));
    format!("{verb} {thing} {place} {number}")
}

fn request(host: &str, number: u64) -> Vec<u8> {
    let body = format!("{{\"prompt\":\"{}\",\"explain\":false}}", prompt(number));
    let head = format!(
        "POST /v1/select HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// One connection that is used again and again.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 << 10) })
    }

    /// Sends a request and reads its answer to the end; the status.
    async fn ask(&mut self, request: &[u8]) -> std::io::Result<u16> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if let Some((status, length)) = whole(&self.buffer)
                && self.buffer.len() >= length
            {
                return Ok(status);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Status and length of an answer, once its headers are there.
fn whole(buffer: &[u8]) -> Option<(u16, usize)> {
    let end = buffer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&buffer[..end]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("content-length: ")?.trim().parse::<usize>().ok()
    })?;
    Some((status, end + 4 + length))
}

type Answered = (u16, Duration);

async fn load(address: Arc<str>, rate: f64, seconds: f64, most: usize) -> Vec<Answered> {
    let (done, mut answers) = mpsc::unbounded_channel();
    let idle: Arc<Mutex<Vec<Connection>>> = Arc::default();
    let places = Arc::new(tokio::sync::Semaphore::new(most));
    let start = Instant::now() + Duration::from_millis(100);
    let count = (rate * seconds) as u64;
    for number in 0..count {
        let due = start + Duration::from_secs_f64(number as f64 / rate);
        sleep_until(due).await;
        let (address, idle, done, places) =
            (Arc::clone(&address), Arc::clone(&idle), done.clone(), Arc::clone(&places));
        tokio::spawn(async move {
            let _place = places.acquire_owned().await;
            let known = idle.lock().await.pop();
            let connection = match known {
                Some(connection) => Ok(connection),
                None => Connection::open(&address).await,
            };
            let status = match connection {
                Ok(mut connection) => match connection.ask(&request(&address, number)).await {
                    Ok(status) => {
                        idle.lock().await.push(connection);
                        status
                    }
                    Err(_) => 0,
                },
                Err(_) => 0,
            };
            done.send((status, due.elapsed())).ok();
        });
    }
    drop(done);
    let mut all = Vec::with_capacity(count as usize);
    while let Some(answer) = answers.recv().await {
        all.push(answer);
    }
    all
}

fn show(rate: f64, answers: Vec<Answered>) {
    let mut by_status: BTreeMap<u16, Vec<Duration>> = BTreeMap::new();
    for (status, took) in answers {
        by_status.entry(status).or_default().push(took);
    }
    println!("offered {rate} requests/s; status 0 is a broken connection");
    for (status, mut times) in by_status {
        times.sort();
        let at = |share: f64| {
            let place = ((times.len() as f64 * share) as usize).min(times.len() - 1);
            times[place].as_secs_f64() * 1e3
        };
        println!(
            "status {status}: {} answers, p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms, max {:.2} ms",
            times.len(),
            at(0.5),
            at(0.95),
            at(0.99),
            at(0.999),
            at(1.0)
        );
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, rate, seconds, rest @ ..] = args.as_slice() else {
        return Err("expected ADDRESS RATE SECONDS [CONNECTIONS]".into());
    };
    let (rate, seconds) = (rate.parse()?, seconds.parse()?);
    let most = rest.first().map_or(Ok(512), |most| most.parse())?;
    show(rate, load(address.as_str().into(), rate, seconds, most).await);
    Ok(())
}
