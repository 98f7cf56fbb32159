//! The built page, served by nginx with the configuration that `packaging/web` has.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// nginx, with the page.
pub struct Site {
    nginx: Child,
    /// The address of the server, without a slash at its end.
    pub address: String,
    _folder: TempDir,
}

impl Site {
    /// Serves the page at a free port of this machine.
    ///
    /// # Errors
    /// What is missing for it.
    pub fn start() -> Result<Self, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (page, rules) = (here.join("dist"), here.join("../packaging/web/nginx.conf"));
        if !page.join("index.html").exists() {
            return Err("the page is not built: run web/build".into());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| error.to_string())?;
        let temporary =
            ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|of| format!("{of}_temp_path {of};\n"));
        let configuration = format!(
            "daemon off;\nmaster_process off;\nerror_log stderr;\npid nginx.pid;\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}\
             server {{\nlisten {address};\nroot {page};\ninclude {rules};\n}}\n}}\n",
            temporary = temporary.concat(),
            page = page.display(),
            rules = rules.display(),
        );
        std::fs::write(folder.path().join("nginx.conf"), configuration).map_err(|error| error.to_string())?;
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(folder.path()).args(["-c", "nginx.conf", "-e", "stderr"]).stdin(Stdio::null());
        let nginx = nginx.spawn().map_err(|error| format!("nginx: {error}"))?;
        let site = Self { nginx, address: format!("http://{address}"), _folder: folder };
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "nginx does not listen at {address}");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(site)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.nginx.kill().ok();
        self.nginx.wait().ok();
    }
}
