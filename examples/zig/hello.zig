//! The smallest program: one prompt, its answer streamed. hello [MODEL [BASE_URL]]

const std = @import("std");
const c = @import("agent");

pub fn main(init: std.process.Init) !u8 {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    const model = if (args.len > 1) args[1] else "anthropic/claude-sonnet-4-5";
    const base_url = if (args.len > 2) args[2].ptr else null; // null: the provider's address
    var failure: ?*c.agent_error_t = null;
    defer c.agent_error_free(failure);

    hello(init.io, model, base_url, &failure) catch |err| {
        switch (err) {
            error.CallFailed => std.debug.print("{s}\n", .{c.agent_error_message(failure, null)}),
            error.RunFailed => {}, // it was printed
            else => return err,
        }
        return 1;
    };
    return 0;
}

fn hello(io: std.Io, model: [:0]const u8, base_url: ?[*:0]const u8, failure: *?*c.agent_error_t) !void {
    var buffer: [256]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), io, &buffer);
    const out = &stdout.interface;

    var runtime: ?*c.agent_runtime_t = null;
    _ = try check(c.agent_runtime_new(null, 0, &runtime, failure));
    defer c.agent_runtime_free(runtime);
    defer _ = c.agent_runtime_shutdown(runtime, 5000, null);

    var agent: ?*c.agent_t = null;
    _ = try check(c.agent_new(runtime, model, model.len, &agent, failure));
    defer c.agent_free(agent);
    _ = try check(c.agent_set_base_url(agent, base_url, c.AGENT_NTS, failure));

    var run: ?*c.agent_run_t = null;
    _ = try check(c.agent_prompt(agent, "Say hello.", c.AGENT_NTS, &run, failure));
    defer c.agent_run_free(run);

    var event: ?*const c.agent_event_t = null;
    while (try check(c.agent_run_next(run, -1, &event, failure)) == c.AGENT_OK) {
        if (c.agent_event_kind(event) == c.AGENT_EVENT_TEXT_DELTA) {
            try out.writeAll(std.mem.span(c.agent_event_text(event, null)));
            try out.flush();
        }
    }
    try out.writeAll("\n");
    try out.flush();
    if (c.agent_run_error(run)) |err| {
        std.debug.print("{s}\n", .{c.agent_error_message(err, null)});
        return error.RunFailed;
    }
}

/// A failed call as a Zig error; the agent_error_t has the details.
fn check(status: c.agent_status_t) !c.agent_status_t {
    return if (status < 0) error.CallFailed else status;
}
