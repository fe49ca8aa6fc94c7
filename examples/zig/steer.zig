//! Steers a run while its tools are running. steer [MODEL [BASE_URL]]

const std = @import("std");
const c = @import("agent");

const description =
    \\{ "name": "weather", "description": "The weather in a city.", "execution_mode": "sequential",
    \\  "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } }
;

/// A slow tool. An abort would end its sleep.
fn weather(_: ?*anyopaque, call: ?*c.agent_tool_call_t) callconv(.c) void {
    defer c.agent_tool_call_free(call);
    if (c.agent_tool_call_sleep(call, 1000, null) == c.AGENT_OK) {
        _ = c.agent_tool_call_respond(call, "rain, 7 degrees", c.AGENT_NTS, null);
    }
}

/// The listener's state.
const Listener = struct {
    agent: ?*c.agent_t = null,
    steered: bool = false,

    /// Called with each event, on a thread of the library. The user steers when the first tool starts.
    fn listen(userdata: ?*anyopaque, event: ?*const c.agent_event_t) callconv(.c) void {
        const self: *Listener = @ptrCast(@alignCast(userdata));
        if (c.agent_event_kind(event) != c.AGENT_EVENT_TOOL_EXECUTION_START or self.steered) return;
        self.steered = true;
        _ = c.agent_steer(self.agent, "Never mind the others.", c.AGENT_NTS, null);
    }
};

pub fn main(init: std.process.Init) !u8 {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    const model = if (args.len > 1) args[1] else "anthropic/claude-sonnet-4-5";
    var failure: ?*c.agent_error_t = null;
    defer c.agent_error_free(failure);

    ask(init.io, model, if (args.len > 2) args[2] else null, &failure) catch |err| {
        switch (err) {
            error.CallFailed => std.debug.print("{s}\n", .{c.agent_error_message(failure, null)}),
            error.RunFailed => {}, // it was printed
            else => return err,
        }
        return 1;
    };
    return 0;
}

fn ask(io: std.Io, model: [:0]const u8, base_url: ?[:0]const u8, failure: *?*c.agent_error_t) !void {
    var buffer: [256]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), io, &buffer);
    const out = &stdout.interface;

    var runtime: ?*c.agent_runtime_t = null;
    try check(c.agent_runtime_new(null, 0, &runtime, failure));
    defer c.agent_runtime_free(runtime);

    var listener: Listener = .{};
    try check(c.agent_new(runtime, model, model.len, &listener.agent, failure));
    defer c.agent_free(listener.agent);
    defer _ = c.agent_runtime_shutdown(runtime, 5000, null); // no listener is called after this, so the agent may be freed
    if (base_url) |url| try check(c.agent_set_base_url(listener.agent, url, url.len, failure));

    var tool: ?*c.agent_tool_t = null;
    try check(c.agent_tool_new(description, description.len, weather, null, null, &tool, failure));
    defer c.agent_tool_free(tool);
    try check(c.agent_add_tool(listener.agent, tool, failure));
    try check(c.agent_subscribe(listener.agent, Listener.listen, &listener, null, null, failure));

    var run: ?*c.agent_run_t = null;
    try check(c.agent_prompt(listener.agent, "Rain in Oslo, Bergen, Tromso?", c.AGENT_NTS, &run, failure));
    defer c.agent_run_free(run);

    var event: ?*const c.agent_event_t = null;
    while (true) {
        const status = c.agent_run_next(run, -1, &event, failure);
        if (status == c.AGENT_DONE) break;
        try check(status);
        try show(out, event);
        try out.flush();
    }
    if (c.agent_run_outcome(run) == c.AGENT_OUTCOME_ERROR) {
        std.debug.print("{s}\n", .{c.agent_error_message(c.agent_run_error(run), null)});
        return error.RunFailed;
    }
    try out.print("\n[{s}]\n", .{c.agent_outcome_name(c.agent_run_outcome(run))});
    try out.flush();
}

fn show(out: *std.Io.Writer, event: ?*const c.agent_event_t) !void {
    const text = c.agent_event_text(event, null);
    switch (c.agent_event_kind(event)) {
        c.AGENT_EVENT_MESSAGE_START => {
            const role = std.mem.span(c.agent_event_role(event, null));
            if (std.mem.eql(u8, role, "user")) try out.print("User: {s}\n", .{text});
        },
        c.AGENT_EVENT_TEXT_DELTA => try out.print("{s}", .{text}),
        // Also of skipped calls.
        c.AGENT_EVENT_TOOL_EXECUTION_END => try out.print("[{s} -> {s}]\n", .{ c.agent_event_tool_name(event, null), text }),
        else => {},
    }
}

/// The error of a failed call is in the agent_error_t that was passed.
fn check(status: c.agent_status_t) !void {
    if (status < 0) return error.CallFailed;
}
