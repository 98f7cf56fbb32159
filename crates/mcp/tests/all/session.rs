//! A client and its server, which is a child process.

use recoup_testing::Folder;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProgressNotificationParam, Tool};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};

/// A capture of a lossy web workload, taken at the server: 60 connections.
pub const DEMO: &[u8] = include_bytes!("../../../captures/src/capture/demo.pcap.zst");

/// A folder with the capture `demo.pcap.zst`.
pub fn folder() -> Folder {
    let folder = Folder::new(env!("CARGO_BIN_EXE_recoup-mcp"));
    folder.write("demo.pcap.zst", DEMO);
    folder
}

/// A client that remembers the progress it was told of.
#[derive(Clone, Default)]
pub struct Client {
    pub progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
}

impl ClientHandler for Client {
    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().expect("no panic").push(progress);
    }
}

/// A session with a server.
pub struct Session {
    pub runtime: Runtime,
    pub running: RunningService<RoleClient, Client>,
}

impl Session {
    /// Starts a server of a folder's captures.
    pub fn start(folder: &Folder, args: &[&str]) -> Self {
        Self::start_in(folder, args, &[])
    }

    /// As [`start`](Self::start), with variables of the environment.
    pub fn start_in(folder: &Folder, args: &[&str], variables: &[(&str, &Path)]) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_recoup-mcp"));
        command.arg("--root").arg(folder.dir()).args(args).envs(variables.iter().copied());
        let running = runtime.block_on(async {
            let child = TokioChildProcess::new(command).expect("the program starts");
            Client::default().serve(child).await.expect("a session")
        });
        Self { runtime, running }
    }

    pub fn tools(&self) -> Vec<Tool> {
        self.runtime.block_on(self.running.list_all_tools()).expect("tools")
    }

    /// Calls a tool.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        self.runtime.block_on(self.running.call_tool(params(tool, arguments)))
    }

    /// The text and the document of an answer.
    pub fn answer(&self, tool: &str, arguments: Value) -> (String, Value) {
        let result = self.call(tool, arguments).expect("an answer");
        assert_eq!(result.is_error, Some(false), "{tool}: {}", text(&result));
        (text(&result), result.structured_content.unwrap_or_default())
    }

    /// The line of an error.
    pub fn error(&self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments).expect("an answer");
        assert_eq!(result.is_error, Some(true), "{tool}: {}", text(&result));
        assert!(result.structured_content.is_none());
        let line = text(&result);
        assert_eq!(line.lines().count(), 1, "{line}");
        line
    }
}

pub fn params(tool: &str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

/// The text of an answer.
pub fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().expect("a text").text.clone()
}
