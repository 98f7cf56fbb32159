//! The proxy, and servers behind it.

use super::bed::{Bed, HOST, Process, Result, last_line};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The ports of servers on the loopback address of the proxy's host.
pub const NGINX: u16 = 8000;
pub const NGINX_TLS: u16 = 8443;
pub const SERVE: u16 = 8080;
pub const SSH: u16 = 2222;

/// A listening address of the proxy.
pub struct Front<'a> {
    pub port: u16,
    pub upstream: u16,
    pub profiles: &'a [&'a str],
}

/// Starts the proxy. Its access log is the file `access.jsonl` of the bed.
pub fn proxy(bed: &Bed, program: &Path, fronts: &[Front], options: &[&str]) -> Result<Process> {
    let table = |front: &Front| {
        let names: Vec<_> = front.profiles.iter().map(|name| format!("'{name}'")).collect();
        format!(
            "[[proxy]]\nlisten = '{HOST}:{}'\nupstream = '127.0.0.1:{}'\nprofiles = [{}]\n",
            front.port,
            front.upstream,
            names.join(", ")
        )
    };
    fs::write(bed.path("proxy.toml"), fronts.iter().map(table).collect::<String>())?;
    let mut command = Command::new(program);
    command.arg("proxy").arg("--config").arg(bed.path("proxy.toml"));
    command.arg("--log").arg(bed.path("access.jsonl")).args(options);
    let mut proxy = bed.start("proxy", &command)?;
    // It says what it proxies once it does.
    proxy.wait_until(|proxy| Ok(proxy.messages()?.matches(" to 127.0.0.1:").count() >= fronts.len()))?;
    Ok(proxy)
}

/// Starts nginx at [`NGINX`] of all addresses, and with TLS and HTTP/2 at [`NGINX_TLS`], for the files of this folder.
pub fn nginx(bed: &Bed, root: &Path) -> Result<Process> {
    let (folder, root) = (bed.folder.path().display(), root.display());
    let request = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN={HOST} -keyout {folder}/key -out {folder}/certificate"
    );
    let made = Command::new("openssl").args(request.split(' ')).output();
    let tls = match made.is_ok_and(|made| made.status.success()) {
        true => format!(
            "server {{ listen {NGINX_TLS} ssl http2; ssl_certificate {folder}/certificate; ssl_certificate_key {folder}/key; root {root}; }}"
        ),
        false => String::new(),
    };
    let text = format!(
        "daemon off; master_process off; user root; pid {folder}/pid; error_log {folder}/errors;
        events {{ worker_connections 4096; }}
        http {{
            access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; types {{ text/html html; }}
            client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
            uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
            server {{ listen {NGINX}; root {root}; }}
            {tls}
        }}"
    );
    fs::write(bed.path("nginx.conf"), text)?;
    let mut command = Command::new("nginx");
    command.args(["-c", &format!("{folder}/nginx.conf"), "-e", &format!("{folder}/errors")]);
    let mut nginx = bed.start("nginx", &command)?;
    bed.wait_for_port(&mut nginx, NGINX)?;
    Ok(nginx)
}

/// Starts `recoup serve` at [`SERVE`]; it takes uploads.
pub fn serve(bed: &Bed, program: &Path, root: &Path) -> Result<Process> {
    let mut command = Command::new(program);
    command.arg("serve").arg("--root").arg(root).args(["--uploads", "--listen", &format!("127.0.0.1:{SERVE}")]);
    let mut serve = bed.start("serve", &command)?;
    bed.wait_for_port(&mut serve, SERVE)?;
    Ok(serve)
}

/// Starts sshd at [`SSH`]. The files `key` and `known` of the folder `ssh` are for its clients.
pub fn sshd(bed: &Bed) -> Result<Process> {
    let folder = bed.path("ssh");
    fs::create_dir(&folder)?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
    for name in ["host", "key"] {
        let mut command = Command::new("ssh-keygen");
        let made = command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name)).output()?;
        if !made.status.success() {
            return Err(format!("ssh-keygen: {}", last_line(&made.stderr)).into());
        }
    }
    // The folder to which sshd confines itself; its package makes it when it starts the service.
    fs::create_dir_all("/run/sshd")?;
    let name = folder.display();
    let text = format!(
        "Port {SSH}\nListenAddress 127.0.0.1\nHostKey {name}/host\nPidFile {name}/pid\nAuthorizedKeysFile {name}/key.pub\n\
        StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxStartups 100\n"
    );
    fs::write(folder.join("config"), text)?;
    let mut command = Command::new("/usr/sbin/sshd");
    command.args(["-D", "-e", "-f"]).arg(folder.join("config"));
    let mut sshd = bed.start("sshd", &command)?;
    bed.wait_for_port(&mut sshd, SSH)?;
    Ok(sshd)
}

/// The command of ssh for clients of [`sshd`].
pub fn ssh_command(bed: &Bed) -> String {
    let folder = bed.path("ssh");
    let name = folder.display();
    format!(
        "ssh -q -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile={name}/known -o IdentitiesOnly=yes -i {name}/key"
    )
}
