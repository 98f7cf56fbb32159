//! The server: which tools it has, and how it runs a call.
//!
//! A call runs on a thread of its own, one at a time, so that memory is that of one analysis. At its deadline, or if the client cancels
//! it, the client has its answer at once, and the thread ends soon: the next call waits for it.

use crate::answer::{Answer, error};
use crate::root::Root;
use crate::tools::{self, Call, Definition, retransmissions::Kept};
use crate::watch::{Report, Watch};
use recoup_captures::capture::Progress;
use recoup_support::suggest::did_you_mean;
use recoup_units::visible;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::sleep_until;

const INSTRUCTIONS: &str = "Recoup explains why TCP connections in packet captures (pcap, pcapng) are slow. Begin with explain_capture \
    (list_captures finds files). Then explain_connection for a connection it names, what_would_help for remedies, \
    list_retransmissions for evidence, draw_connection for a picture. The tools only read.";

/// Bounds of a call.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest time.
    pub time: Duration,
    /// The most bytes of text and document.
    pub bytes: usize,
}

/// The server.
pub struct Server {
    shared: Arc<Shared>,
    limits: Limits,
    /// One call at a time.
    turn: Arc<Semaphore>,
}

/// What calls have in common.
struct Shared {
    root: Root,
    tools: Vec<Definition>,
    kept: Kept,
}

impl Server {
    /// A server of the captures below a folder.
    pub fn new(root: Root, limits: Limits) -> Self {
        let shared = Shared { root, tools: tools::all(), kept: Kept::default() };
        Self { shared: Arc::new(shared), limits, turn: Arc::new(Semaphore::new(1)) }
    }

    /// Runs a call.
    ///
    /// # Errors
    /// In one line: what the tool finds wrong, or that it took too long.
    async fn call(
        &self,
        tool: usize,
        given: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, String> {
        let deadline = Instant::now() + self.limits.time;
        let turn = tokio::select! {
            turn = Arc::clone(&self.turn).acquire_owned() => turn.map_err(|e| e.to_string())?,
            () = sleep_until(deadline.into()) => return Err(self.too_late("an earlier call was still at work")),
            () = context.ct.cancelled() => return Err(CANCELLED.into()),
        };
        let token = context.meta.get_progress_token();
        let (send_report, mut reports) = mpsc::unbounded_channel::<Report>();
        let watch = Arc::new(Watch::new(deadline, token.is_some().then_some(send_report)));
        let (send, mut answer) = oneshot::channel();
        let (shared, watching) = (Arc::clone(&self.shared), Arc::clone(&watch));
        let work = move || {
            let call = Call { root: &shared.root, watch: &watching, kept: &shared.kept };
            // Nobody waits for it if it was cut.
            _ = send.send(shared.tools[tool].answer(given, &call));
            drop(turn);
        };
        thread::Builder::new().name("tool".into()).spawn(work).map_err(|e| format!("cannot start a thread: {e}"))?;
        loop {
            tokio::select! {
                answer = &mut answer => {
                    // What was found until the deadline is not the whole answer.
                    return match watch.is_stopped() {
                        true => Err(self.too_late(HOW_TO_GO_ON)),
                        false => answer.unwrap_or_else(|_| Err("the tool failed: a defect of Recoup".into())),
                    };
                }
                Some(report) = reports.recv() => {
                    if let Some(token) = &token {
                        let progress = ProgressNotificationParam::new(token.clone(), report.seconds);
                        // A client that takes no notification takes no answer: the transport says so.
                        _ = context.peer.notify_progress(progress.with_message(report.message)).await;
                    }
                }
                () = sleep_until(deadline.into()) => {
                    watch.stop();
                    return Err(self.too_late(HOW_TO_GO_ON));
                }
                () = context.ct.cancelled() => {
                    watch.stop();
                    return Err(CANCELLED.into());
                }
            }
        }
    }

    fn too_late(&self, why: &str) -> String {
        format!("cut after {:?}, the bound of --timeout: {why}", self.limits.time)
    }
}

const CANCELLED: &str = "cancelled";

const HOW_TO_GO_ON: &str =
    "choose less of the capture with filter, from and to, or have the user start the server with a longer --timeout";

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("recoup", env!("CARGO_PKG_VERSION")).with_title("Recoup");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.shared.tools.iter().map(|definition| definition.tool.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let names = self.shared.tools.iter().map(|definition| &*definition.tool.name);
        let Some(number) = names.clone().position(|name| name == request.name) else {
            let near = did_you_mean(&request.name, names.clone());
            let known: Vec<&str> = names.collect();
            let line = format!("no tool `{}`: expected {}{near}", visible(&request.name), known.join(", "));
            return Err(ErrorData::invalid_params(line, None));
        };
        let answer = self.call(number, request.arguments.unwrap_or_default(), &context).await;
        let result: Result<CallToolResult, String> = answer.and_then(|answer| answer.into_result(self.limits.bytes));
        let result = result.unwrap_or_else(|line| error(&format!("{}: {line}", request.name)));
        Ok(CallToolResponse::from(result))
    }
}
