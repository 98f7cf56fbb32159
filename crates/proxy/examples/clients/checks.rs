//! Real clients through the proxy: whether everything arrives that they transfer.

use super::bed::{Bed, HOST, PathSettings, Result, is_there, last_line};
use super::page::{self, OBJECTS, bytes};
use super::programs::{Front, NGINX, NGINX_TLS, SERVE, SSH, nginx, proxy, serve, ssh_command, sshd};
use recoup_path::LossSpec;
use recoup_support::quantity::parse_duration;
use recoup_testing::browser::{Browser, chromium};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Losses in each direction, as in `recoup emulate --drop`
    #[arg(long, default_value = "bernoulli:3%")]
    pub loss: LossSpec,
    /// Round-trip time
    #[arg(long, default_value = "40ms", value_parser = parse_duration)]
    pub rtt: Duration,
    /// Loss recovery of the proxy
    #[arg(long, default_value = "linux-6")]
    pub profile: String,
    /// Bytes of a large file
    #[arg(long, default_value_t = 3_000_000)]
    pub bytes: usize,
    /// Only these clients
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// The path's seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// A client that has transferred everything.
struct Done {
    /// What was compared.
    compared: String,
    bytes: usize,
}

type Check = fn(&World) -> Result<Done>;

/// What is checked: the client, its program, and what it transfers.
const CHECKS: [(&str, &str, &str, Check); 12] = [
    ("curl", "curl", "download, HTTP/1.1", curl_download),
    ("curl", "curl", "upload by PUT", curl_upload),
    ("curl", "curl", "a file in three ranges", curl_ranges),
    ("curl", "curl", "TLS, HTTP/2: 44 objects at once", curl_http2),
    ("wrk", "wrk", "20 connections for 3 s", wrk),
    ("ab", "ab", "200 requests over 10 connections", ab),
    ("chromium", "chromium", "a page of 44 objects", browse),
    ("ssh", "ssh", "a file from the server", ssh_download),
    ("ssh", "ssh", "a file to the server", ssh_upload),
    ("ssh", "ssh", "500 lines there and back", ssh_lines),
    ("rsync", "rsync", "a folder from the server", rsync_download),
    ("rsync", "rsync", "a folder to the server", rsync_upload),
];

/// The ports of the proxy.
const HTTP: u16 = 80;
const HTTP_NGINX: u16 = 81;
const HTTPS: u16 = 443;
const SHELL: u16 = 22;

/// How long a client may take, in seconds.
const LONGEST: u32 = 120;

/// The hosts and their files.
struct World {
    bed: Bed,
    large: Vec<u8>,
}

pub fn run(args: &Args, program: &Path) -> Result<bool> {
    println!("| client | transfer | bytes | time (s) | result |\n| --- | --- | --- | --- | --- |");
    let mut is_right = true;
    check(args, program, &mut |line, is_ok| {
        println!("{line}");
        is_right &= is_ok;
    })?;
    Ok(is_right)
}

/// Runs the clients, and reports a line for each, and whether nothing is wrong.
pub fn check(args: &Args, program: &Path, report: &mut dyn FnMut(String, bool)) -> Result<()> {
    let bed = Bed::new(Some(PathSettings { rtt: args.rtt, loss: Some(args.loss), seed: args.seed }), None)?;
    let root = bed.path("files");
    fs::create_dir(&root)?;
    page::write(&root)?;
    let large = bytes(1000, args.bytes);
    fs::write(root.join("large"), &large)?;
    fs::write(root.join("index.html"), document())?;
    let _serve = serve(&bed, program, &root)?;
    let nginx = is_there("nginx").then(|| nginx(&bed, &root)).transpose()?;
    let sshd = is_there("ssh").then(|| sshd(&bed)).transpose();
    let sshd = sshd.unwrap_or_else(|why| {
        report(format!("left out ssh and rsync: {why}"), true);
        None
    });
    let profiles = [args.profile.as_str()];
    let front = |(port, upstream)| Front { port, upstream, profiles: &profiles };
    let fronts = [(HTTP, SERVE), (HTTP_NGINX, NGINX), (HTTPS, NGINX_TLS), (SHELL, SSH)].map(front);
    let mut proxy = proxy(&bed, program, &fronts, &[])?;
    let world = World { bed, large };
    for (client, needed, transfer, check) in CHECKS {
        if !(args.only.is_empty() || args.only.iter().any(|only| only == client)) {
            continue;
        }
        let lacks = match client {
            "ssh" | "rsync" if sshd.is_none() => Some("sshd"),
            _ if transfer.starts_with("TLS") && !(nginx.is_some() && is_there("openssl")) => Some("nginx or openssl"),
            "wrk" | "ab" if nginx.is_none() => Some("nginx"),
            _ if !is_there(needed) => Some(needed),
            _ => None,
        };
        if let Some(lacks) = lacks {
            report(format!("left out {client}, {transfer}: no {lacks}"), true);
            continue;
        }
        let begun = Instant::now();
        let done = check(&world);
        let time = begun.elapsed().as_secs_f64();
        match done {
            Ok(done) => {
                report(format!("| {client} | {transfer} | {} | {time:.1} | {} |", done.bytes, done.compared), true);
            }
            Err(why) => report(format!("| {client} | {transfer} | | {time:.1} | **{why}** |"), false),
        }
    }
    let status = proxy.stop()?;
    let messages = proxy.messages()?;
    let complaints: Vec<_> =
        messages.lines().filter(|line| line.contains("warning") || line.contains("error")).collect();
    if !status.success() || !complaints.is_empty() {
        report(format!("the proxy: {status}: {}", complaints.join("; ")), false);
    }
    Ok(())
}

/// The page for browsers. It fetches all others, and computes their SHA-256.
fn document() -> String {
    format!(
        "<!doctype html><title>page</title><script>
        async function fetched(number) {{
            const bytes = await (await fetch('/' + number)).arrayBuffer();
            const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
            return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
        }}
        var page = Promise.all([...Array({}).keys()].map((number) => fetched(number + 1)));
        </script>",
        OBJECTS - 1
    )
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl World {
    fn address(port: u16, file: &str) -> String {
        format!("http://{HOST}:{port}/{file}")
    }

    fn file(&self, name: &str) -> String {
        self.bed.path(name).display().to_string()
    }

    /// Compares with the large file.
    fn compare(&self, found: &[u8]) -> Result<Done> {
        match hash(found) == hash(&self.large) {
            true => Ok(Done { compared: "SHA-256 equal".into(), bytes: found.len() }),
            false => Err(format!("SHA-256 differs; {} of {} bytes", found.len(), self.large.len()).into()),
        }
    }

    /// Compares the objects of the page in a folder.
    fn compare_folder(&self, folder: &Path) -> Result<Done> {
        let mut total = 0;
        for number in 0..OBJECTS {
            let found = fs::read(folder.join(number.to_string())).map_err(|why| format!("object {number}: {why}"))?;
            if hash(&found) != hash(&bytes(number as u64, page::length(number))) {
                return Err(format!("object {number}: SHA-256 differs").into());
            }
            total += found.len();
        }
        Ok(Done { compared: format!("{OBJECTS} SHA-256 equal"), bytes: total })
    }

    fn curl(&self, arguments: &[&str]) -> Result<String> {
        let all = [&["--silent", "--show-error", "--fail", "--noproxy", "*"], arguments].concat();
        Ok(String::from_utf8_lossy(&self.bed.client(LONGEST, "curl", &all)?.stdout).into_owned())
    }

    /// Runs a command at the server.
    fn ssh(&self, command: &str, input: Option<&Path>) -> Result<Vec<u8>> {
        let shell = format!("{} root@{HOST} '{command}'", ssh_command(&self.bed));
        let input = input.map(File::open).transpose()?;
        let output = self.bed.client_with(LONGEST, "sh", &["-c", &shell], |command| {
            if let Some(input) = input {
                command.stdin(input);
            }
            Ok(())
        })?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(format!("ssh: {}: {}", output.status, last_line(&output.stderr)).into()),
        }
    }

    fn rsync(&self, from: &str, to: &str) -> Result<()> {
        let shell = ssh_command(&self.bed);
        let arguments = ["-a", "--exclude=large", "--exclude=uploaded", "-e", &shell, from, to];
        self.bed.client(LONGEST, "rsync", &arguments).map(drop)
    }
}

fn curl_download(world: &World) -> Result<Done> {
    let file = world.file("downloaded");
    world.curl(&["--http1.1", "--output", &file, &World::address(HTTP, "large")])?;
    world.compare(&fs::read(file)?)
}

fn curl_upload(world: &World) -> Result<Done> {
    let from = world.file("files/large");
    world.curl(&["--upload-file", &from, &World::address(HTTP, "uploaded")])?;
    world.compare(&fs::read(world.bed.path("files/uploaded"))?)
}

fn curl_ranges(world: &World) -> Result<Done> {
    let third = world.large.len() / 3;
    let ranges = [format!("0-{}", third - 1), format!("{third}-{}", 2 * third - 1), format!("{}-", 2 * third)];
    let mut whole = Vec::new();
    for range in ranges {
        let file = world.file("range");
        let address = World::address(HTTP, "large");
        let options = ["--range", &range, "--output", &file, "--write-out", "%{http_code}", &address];
        let status = world.curl(&options)?;
        if status != "206" {
            return Err(format!("range {range}: status {status}").into());
        }
        whole.extend(fs::read(file)?);
    }
    world.compare(&whole)
}

fn curl_http2(world: &World) -> Result<Done> {
    fs::create_dir(world.bed.path("http2"))?;
    let output = world.file("http2/#1");
    let address = format!("https://{HOST}:{HTTPS}/[0-{}]", OBJECTS - 1);
    let options = ["--http2", "--insecure", "--no-progress-meter", "--parallel", "--write-out", "%{http_version}\\n"];
    let versions = world.curl(&[&options[..], &["--output", &output, &address]].concat())?;
    if versions.lines().any(|version| version != "2") {
        return Err("expected HTTP/2".into());
    }
    world.compare_folder(&world.bed.path("http2"))
}

/// Compares each response with the object.
const SCRIPT: &str = "
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init() right, wrong = 0, 0; expected = io.open('files/3', 'rb'):read('*a') end
function response(status, headers, body)
    if status == 200 and body == expected then right = right + 1 else wrong = wrong + 1 end
end
function done(summary)
    local right, wrong = 0, 0
    for _, thread in ipairs(threads) do right = right + thread:get('right'); wrong = wrong + thread:get('wrong') end
    local errors = summary.errors
    io.write('result ', right, ' ', wrong + errors.connect + errors.read + errors.write + errors.status, '\\n')
end
";

fn wrk(world: &World) -> Result<Done> {
    fs::write(world.bed.path("wrk.lua"), SCRIPT)?;
    let address = World::address(HTTP_NGINX, "3");
    let output =
        world.bed.client(LONGEST, "wrk", &["-t1", "-c20", "-d3s", "--timeout", "20s", "-s", "wrk.lua", &address])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let counts = text.lines().find_map(|line| line.strip_prefix("result ")).ok_or("wrk: no result")?;
    let counts: Vec<usize> = counts.split(' ').filter_map(|count| count.parse().ok()).collect();
    match counts[..] {
        [right, 0] if right > 0 => {
            Ok(Done { compared: format!("{right} responses equal"), bytes: right * page::length(3) })
        }
        _ => Err(format!("equal and other responses: {counts:?}").into()),
    }
}

fn ab(world: &World) -> Result<Done> {
    let options = ["-q", "-k", "-n", "200", "-c", "10", "-s", "60"];
    let output = world.bed.client(LONGEST, "ab", &[&options[..], &[&World::address(HTTP_NGINX, "3")]].concat())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok())
    };
    let found = (field("Complete requests:"), field("Failed requests:"), field("HTML transferred:"));
    let expected = 200 * page::length(3);
    match found {
        (Some(200), Some(0), Some(bytes)) if bytes == expected => {
            Ok(Done { compared: "200 lengths equal".into(), bytes })
        }
        _ => Err(format!("complete, failed, bytes: {found:?}").into()),
    }
}

fn browse(world: &World) -> Result<Done> {
    let program = chromium().ok_or("no chromium")?;
    let server = format!("http://{HOST}:{HTTP_NGINX}");
    // Pages without TLS may not compute hashes otherwise.
    let secure = format!("--unsafely-treat-insecure-origin-as-secure={server}");
    let visit = move || {
        let mut browser = Browser::visit(&program, &server, "proxy", &[&secure]);
        browser.evaluate("page.then((hashes) => hashes.join(' '))")
    };
    let found = world.bed.at_clients(visit)?;
    let expected: Vec<_> = (1..OBJECTS).map(|number| hash(&bytes(number as u64, page::length(number)))).collect();
    let total = (1..OBJECTS).map(page::length).sum::<usize>() + document().len();
    match found.as_str() == Some(&expected.join(" ")) {
        true => Ok(Done { compared: format!("{} SHA-256 equal", expected.len()), bytes: total }),
        false => Err(format!("SHA-256 differ: {found}").into()),
    }
}

fn ssh_download(world: &World) -> Result<Done> {
    world.compare(&world.ssh(&format!("cat {}", world.file("files/large")), None)?)
}

fn ssh_upload(world: &World) -> Result<Done> {
    let file = world.bed.path("files/large");
    world.ssh(&format!("cat > {}", world.file("over-ssh")), Some(&file))?;
    world.compare(&fs::read(world.bed.path("over-ssh"))?)
}

fn ssh_lines(world: &World) -> Result<Done> {
    let lines: String = (0..500).map(|line| format!("{line} {line:x}\n")).collect();
    fs::write(world.bed.path("lines"), &lines)?;
    let found = world.ssh("cat", Some(&world.bed.path("lines")))?;
    match hash(&found) == hash(lines.as_bytes()) {
        true => Ok(Done { compared: "SHA-256 equal".into(), bytes: 2 * found.len() }),
        false => Err("SHA-256 differs".into()),
    }
}

fn rsync_download(world: &World) -> Result<Done> {
    world.rsync(&format!("root@{HOST}:{}/", world.file("files")), &world.file("copied"))?;
    world.compare_folder(&world.bed.path("copied"))
}

fn rsync_upload(world: &World) -> Result<Done> {
    world.rsync(&format!("{}/", world.file("files")), &format!("root@{HOST}:{}", world.file("returned")))?;
    world.compare_folder(&world.bed.path("returned"))
}
