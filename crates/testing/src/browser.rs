//! Headless Chromium, driven by its DevTools protocol over a pipe.
//!
//! With `--remote-debugging-pipe` Chromium reads commands from file descriptor 3 and writes to 4: JSON,
//! each message followed by a zero byte. A shell connects them to standard input and output.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

const SCRIPT: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// The machine may be busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// Chromium sometimes hangs as it starts.
const STARTS: usize = 3;

/// The program, if this machine has it.
pub fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|place| names.map(|name| place.join(name))).find(|program| program.is_file())
}

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    process: Child,
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// The page's session, once there is one.
    session: Option<String>,
    /// The session of the frame that was added last, if it runs apart from the page.
    frame: Option<String>,
    last_id: u64,
    /// What the page and its workers may request begins like one of these.
    allowed: Vec<String>,
    /// Messages of the console, and other requests.
    complaints: Vec<String>,
    place: PathBuf,
}

impl Browser {
    /// Starts `program` with a page, which may request nothing. `name` distinguishes the test's files.
    pub fn open(program: &Path, html: &str, name: &str) -> Self {
        let place = place(name);
        let file = place.join("page.html");
        std::fs::write(&file, html).expect("the page is written");
        let address = format!("file://{}", file.display());
        Self::start(program, &address, vec![address.clone()], place, &[])
    }

    /// Starts `program`, with more `arguments`, with the page of a server, which may request that server's files.
    pub fn visit(program: &Path, server: &str, name: &str, arguments: &[&str]) -> Self {
        let allowed = vec![format!("{server}/"), format!("blob:{server}/")];
        Self::start(program, &format!("{server}/"), allowed, place(name), arguments)
    }

    fn start(program: &Path, address: &str, allowed: Vec<String>, place: PathBuf, arguments: &[&str]) -> Self {
        let mut failure = String::new();
        for attempt in 1..=STARTS {
            let (process, commands, messages) = start(program, &place, attempt, arguments);
            let mut browser = Self {
                process,
                commands: Some(commands),
                messages,
                session: None,
                frame: None,
                last_id: 0,
                allowed: allowed.clone(),
                complaints: Vec::new(),
                place: place.clone(),
            };
            match browser.attach() {
                Ok(()) => {
                    browser.load(address);
                    return browser;
                }
                Err(error) => {
                    failure = error;
                    browser.session = None;
                }
            }
        }
        panic!("{} does not start: {failure}", program.display());
    }

    /// Opens a session with the browser's page.
    fn attach(&mut self) -> Result<(), String> {
        let targets = self.try_call("Target.getTargets", json!({}))?;
        let targets = targets["targetInfos"].as_array().expect("targets");
        let page = targets.iter().find(|target| target["type"] == "page");
        let id = &page.ok_or("there is no page")?["targetId"];
        let parameters = json!({ "targetId": id, "flatten": true });
        let attached = self.try_call("Target.attachToTarget", parameters)?;
        self.session = attached["sessionId"].as_str().map(str::to_string);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.try_call(&format!("{domain}.enable"), json!({}))?;
        }
        // Workers and frames that run apart from the page wait until they are watched, too.
        let parameters = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        self.try_call("Target.setAutoAttach", parameters)?;
        Ok(())
    }

    /// Watches a worker or a frame. Nobody waits for answers.
    fn watch_child(&mut self, attached: &Value) {
        let session = &attached["sessionId"];
        if attached["targetInfo"]["type"] == "iframe" {
            self.frame = session.as_str().map(str::to_string);
        }
        for method in ["Runtime.enable", "Log.enable", "Network.enable", "Runtime.runIfWaitingForDebugger"] {
            self.last_id += 1;
            let command = json!({ "id": self.last_id, "method": method, "params": {}, "sessionId": session });
            if let Some(commands) = &mut self.commands {
                // A child may be gone.
                write!(commands, "{command}\0").ok();
            }
        }
    }

    fn load(&mut self, address: &str) {
        self.prefer("light");
        self.call("Page.navigate", json!({ "url": address }));
        let end = Instant::now() + PATIENCE;
        while self.evaluate("document.readyState + (location.protocol !== 'about:')") != "completetrue" {
            assert!(Instant::now() < end, "the page did not load");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.settle();
    }

    /// The reader prefers `scheme`: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Sends a command and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.try_call(method, parameters);
        answer.unwrap_or_else(|error| panic!("{error}"))
    }

    fn try_call(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.try_call_in(self.session.clone(), method, parameters)
    }

    fn try_call_in(&mut self, session: Option<String>, method: &str, parameters: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        let mut command = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        let commands = self.commands.as_mut().expect("the browser is open");
        write!(commands, "{command}\0").map_err(|error| format!("{method}: {error}"))?;
        loop {
            let message = self.messages.recv_timeout(PATIENCE);
            let message = message.map_err(|error| format!("no answer to {method}: {error}"))?;
            self.watch(&message);
            if message["id"] == id {
                return match &message["error"] {
                    Value::Null => Ok(message["result"].clone()),
                    error => Err(format!("{method}: {error}")),
                };
            }
        }
    }

    /// Keeps what a page should not do.
    fn watch(&mut self, message: &Value) {
        let parameters = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Target.attachedToTarget") => {
                self.watch_child(parameters);
                false
            }
            Some("Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded") => true,
            Some("Network.requestWillBeSent") => {
                let address = parameters["request"]["url"].as_str().unwrap_or_default();
                !self.allowed.iter().any(|allowed| address.starts_with(allowed))
            }
            _ => false,
        };
        if complaint {
            self.complaints.push(parameters.to_string());
        }
    }

    /// The value of a JavaScript expression.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        self.evaluate_in(self.session.clone(), expression)
    }

    /// The value of a JavaScript expression in the frame that was added last.
    ///
    /// # Panics
    /// If there is no frame that runs apart from the page.
    pub fn evaluate_in_frame(&mut self, expression: &str) -> Value {
        let frame = self.frame.clone();
        self.evaluate_in(Some(frame.expect("a frame of its own")), expression)
    }

    fn evaluate_in(&mut self, session: Option<String>, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let result = self.try_call_in(session, "Runtime.evaluate", parameters);
        let result = result.unwrap_or_else(|error| panic!("{error}"));
        let exception = &result["exceptionDetails"];
        assert!(exception.is_null(), "{expression}: {exception}");
        result["result"]["value"].clone()
    }

    /// Waits until a JavaScript expression of the page is true, for a minute at most.
    ///
    /// # Panics
    /// If it does not become true.
    pub fn wait_until(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.evaluate(expression) != true {
            assert!(Instant::now() < end, "waited in vain for {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Chooses files in an input of the page, as a user does in the system's dialog.
    pub fn choose_files(&mut self, selector: &str, files: &[&Path]) {
        let document = self.call("DOM.getDocument", json!({}));
        let parameters = json!({ "nodeId": document["root"]["nodeId"], "selector": selector });
        let input = self.call("DOM.querySelector", parameters);
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        self.call("DOM.setFileInputFiles", json!({ "nodeId": input["nodeId"], "files": files }));
    }

    /// Gives the page the size of a window, in pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let parameters = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", parameters);
        self.settle();
    }

    /// Waits until the page has drawn what it was about to draw.
    pub fn settle(&mut self) {
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    }

    /// Scrolls to the first element of a selector; the middle of it.
    pub fn centre_of(&mut self, selector: &str) -> (f64, f64) {
        let place = self.evaluate(&format!(
            "(() => {{ const found = document.querySelector('{selector}'); \
             found.scrollIntoView({{ block: 'center' }}); const box = found.getBoundingClientRect(); \
             return [box.left + box.width / 2, box.top + box.height / 2]; }})()"
        ));
        self.settle();
        let number = |i: usize| place[i].as_f64().expect("a number");
        (number(0), number(1))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64), more: Value) {
        let mut parameters = json!({ "type": kind, "x": x, "y": y });
        if let (Value::Object(all), Value::Object(more)) = (&mut parameters, more) {
            all.extend(more);
        }
        self.call("Input.dispatchMouseEvent", parameters);
    }

    /// Moves the mouse.
    pub fn move_to(&mut self, x: f64, y: f64) {
        self.mouse("mouseMoved", (x, y), json!({}));
        self.settle();
    }

    /// Drags the mouse with its button pressed.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let pressed = json!({ "button": "left", "buttons": 1, "clickCount": 1 });
        self.mouse("mousePressed", from, pressed.clone());
        self.mouse("mouseMoved", to, pressed);
        self.mouse("mouseReleased", to, json!({ "button": "left", "clickCount": 1 }));
        self.settle();
    }

    /// Clicks.
    pub fn click(&mut self, x: f64, y: f64) {
        self.drag((x, y), (x, y));
    }

    /// Turns the wheel; a negative distance is away from the user.
    pub fn wheel(&mut self, x: f64, y: f64, distance: f64) {
        self.wheel_with(0, (x, y), distance);
    }

    /// Turns the wheel with keys held down: 2 is Control, 8 is Shift.
    pub fn wheel_with(&mut self, keys: u32, at: (f64, f64), distance: f64) {
        let turn = json!({ "deltaX": 0, "deltaY": distance, "modifiers": keys });
        self.mouse("mouseWheel", at, turn);
        self.settle();
    }

    /// Presses a key by its name or character.
    pub fn press(&mut self, key: &str) {
        let text = if key == "Enter" { "\r" } else { key };
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyDown", "key": key, "text": text }));
        self.call("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
        self.settle();
    }

    /// Fails if the console shows anything, or if the page requested anything.
    pub fn assert_quiet(&mut self) {
        self.settle();
        assert_eq!(self.complaints, Vec::<String>::new());
    }
}

/// A folder for the files of a test.
fn place(name: &str) -> PathBuf {
    let place = std::env::temp_dir().join(format!("recoup-page-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a directory for the test");
    place
}

/// Starts the browser: the process, where its commands go, and its messages.
fn start(program: &Path, place: &Path, attempt: usize, arguments: &[&str]) -> (Child, ChildStdin, Receiver<Value>) {
    let mut process = Command::new("sh")
        .args(["-c", SCRIPT])
        .arg(program)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .args(["--remote-debugging-pipe", "--window-size=1280,900"])
        .arg(format!("--user-data-dir={}", place.join(format!("user-{attempt}")).display()))
        .args(arguments)
        .arg("about:blank")
        .env("HOME", place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the browser starts");
    let commands = process.stdin.take().expect("a pipe");
    let output = process.stdout.take().expect("a pipe");
    let (sender, messages) = channel();
    std::thread::spawn(move || {
        for message in BufReader::new(output).split(0) {
            let message = message.ok().and_then(|text| serde_json::from_slice(&text).ok());
            if message.is_none_or(|message| sender.send(message).is_err()) {
                break;
            }
        }
    });
    (process, commands, messages)
}

impl Drop for Browser {
    /// Chromium exits when its pipe closes.
    fn drop(&mut self) {
        drop(self.commands.take());
        let end = Instant::now() + Duration::from_secs(10);
        while matches!(self.process.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.process.kill().ok();
        self.process.wait().ok();
        // A browser that did not start leaves the page for the next attempt.
        if self.session.is_some() {
            std::fs::remove_dir_all(&self.place).ok();
        }
    }
}
