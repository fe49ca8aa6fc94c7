//! A program with a tool. weather [MODEL [BASE_URL]]

const std = @import("std");
const c = @import("agent");

const description =
    \\{ "name": "weather", "description": "The weather in a city.",
    \\  "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } }
;

/// Called on its own thread. It may respond now, or later from any thread.
fn weather(_: ?*anyopaque, call: ?*c.agent_tool_call_t) callconv(.c) void {
    defer c.agent_tool_call_free(call);
    var city: [*c]const u8 = "";
    var length: usize = 0;
    var answer: ?*c.agent_json_t = null;
    defer c.agent_json_free(answer);

    // The arguments were validated, so that the city exists; the setter escapes quotes and the like.
    _ = c.agent_tool_call_get_string(call, "city", c.AGENT_NTS, &city, &length, null);
    _ = c.agent_json_parse("{ \"city\": null, \"sky\": \"rain\", \"celsius\": 7 }", c.AGENT_NTS, &answer, null);
    _ = c.agent_json_set_string(answer, "/city", c.AGENT_NTS, city, length, null);
    _ = c.agent_tool_call_respond_json(call, c.agent_json_text(answer, null), c.AGENT_NTS, null);
}

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
    defer _ = c.agent_runtime_shutdown(runtime, 5000, null);

    var agent: ?*c.agent_t = null;
    try check(c.agent_new(runtime, model, model.len, &agent, failure));
    defer c.agent_free(agent);
    if (base_url) |url| try check(c.agent_set_base_url(agent, url, url.len, failure));
    try check(c.agent_set_system_prompt(agent, "Be brief.", c.AGENT_NTS, failure));

    var tool: ?*c.agent_tool_t = null;
    try check(c.agent_tool_new(description, description.len, weather, null, null, &tool, failure));
    defer c.agent_tool_free(tool);
    try check(c.agent_add_tool(agent, tool, failure));

    var run: ?*c.agent_run_t = null;
    try check(c.agent_prompt(agent, "Rain in Oslo?", c.AGENT_NTS, &run, failure));
    defer c.agent_run_free(run);

    var event: ?*const c.agent_event_t = null;
    while (true) {
        const status = c.agent_run_next(run, -1, &event, failure);
        if (status == c.AGENT_DONE) break;
        try check(status);
        switch (c.agent_event_kind(event)) {
            c.AGENT_EVENT_TEXT_DELTA => try out.writeAll(std.mem.span(c.agent_event_text(event, null))),
            c.AGENT_EVENT_TOOL_EXECUTION_START => try out.print("[{s}]\n", .{c.agent_event_tool_name(event, null)}),
            else => {},
        }
        try out.flush();
    }
    if (c.agent_run_error(run)) |err| {
        std.debug.print("{s}\n", .{c.agent_error_message(err, null)});
        return error.RunFailed;
    }
    try out.print("\n{d} tokens\n", .{c.agent_run_usage(run, c.AGENT_USAGE_TOTAL)});
    try out.flush();
}

/// The error of a failed call is in the agent_error_t that was passed.
fn check(status: c.agent_status_t) !void {
    if (status < 0) return error.CallFailed;
}
