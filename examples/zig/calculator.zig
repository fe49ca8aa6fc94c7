//! A conversation with a tool: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]
//!
//! A model is provider/id, or a JSON object. SECOND_MODEL takes over for the second prompt. --events prints each
//! event's JSON instead of the transcript.

const std = @import("std");
const c = @import("agent");

const description =
    \\{
    \\  "name": "calculator",
    \\  "description": "Perform basic arithmetic operations",
    \\  "parameters": {
    \\    "type": "object",
    \\    "properties": {
    \\      "operation": { "type": "string", "enum": ["add", "subtract", "multiply", "divide"] },
    \\      "a": { "type": "number" },
    \\      "b": { "type": "number" }
    \\    },
    \\    "required": ["operation", "a", "b"]
    \\  }
    \\}
;

const Operation = enum { add, subtract, multiply, divide };

/// The tool: arithmetic on two numbers.
fn compute(operation: []const u8, a: f64, b: f64) error{ UnknownOperation, DivisionByZero }!f64 {
    return switch (std.meta.stringToEnum(Operation, operation) orelse return error.UnknownOperation) {
        .add => a + b,
        .subtract => a - b,
        .multiply => a * b,
        .divide => if (b == 0) error.DivisionByZero else a / b,
    };
}

/// Called for each call of the tool, on its own thread. We own the call: respond and free it.
fn calculate(_: ?*anyopaque, call: ?*c.agent_tool_call_t) callconv(.c) void {
    defer c.agent_tool_call_free(call);
    // The arguments were validated against the schema, so they exist.
    var operation: [*c]const u8 = "";
    var a: f64 = 0;
    var b: f64 = 0;
    _ = c.agent_tool_call_get_string(call, "operation", c.AGENT_NTS, &operation, null, null);
    _ = c.agent_tool_call_get_number(call, "a", c.AGENT_NTS, &a, null);
    _ = c.agent_tool_call_get_number(call, "b", c.AGENT_NTS, &b, null);

    if (compute(std.mem.span(operation), a, b)) |result| {
        var answer: ?*c.agent_json_t = null;
        defer c.agent_json_free(answer);
        _ = c.agent_json_parse("{}", c.AGENT_NTS, &answer, null);
        if (c.agent_json_set_number(answer, "/result", c.AGENT_NTS, result, null) == c.AGENT_OK) {
            _ = c.agent_tool_call_respond_json(call, c.agent_json_text(answer, null), c.AGENT_NTS, null);
        } else { // JSON has no infinity
            _ = c.agent_tool_call_fail(call, "the result is too large", c.AGENT_NTS, null);
        }
    } else |err| {
        const why = switch (err) {
            error.UnknownOperation => "unknown operation",
            error.DivisionByZero => "division by zero",
        };
        _ = c.agent_tool_call_fail(call, why, c.AGENT_NTS, null);
    }
}

/// A conversation and its output.
const Conversation = struct {
    agent: ?*c.agent_t = null,
    out: *std.Io.Writer,
    as_events: bool,
    /// The error of a failed call.
    failure: ?*c.agent_error_t = null,

    fn check(self: *Conversation, status: c.agent_status_t) !c.agent_status_t {
        if (status >= 0) return status;
        printError(self.failure);
        return error.CallFailed;
    }

    /// Runs one prompt and prints its events.
    fn ask(self: *Conversation, prompt: []const u8) !void {
        var run: ?*c.agent_run_t = null;
        _ = try self.check(c.agent_prompt(self.agent, prompt.ptr, prompt.len, &run, &self.failure));
        defer c.agent_run_free(run);
        if (!self.as_events) try self.out.print("User: {s}\n", .{prompt});

        var event: ?*const c.agent_event_t = null;
        while (try self.check(c.agent_run_next(run, -1, &event, &self.failure)) == c.AGENT_OK) {
            if (self.as_events) {
                try self.out.print("{s}\n", .{c.agent_event_json(event, null)});
            } else {
                try self.show(event);
            }
            try self.out.flush();
        }
        if (c.agent_run_outcome(run) == c.AGENT_OUTCOME_ERROR) {
            printError(c.agent_run_error(run));
            return error.RunFailed;
        }
    }

    fn show(self: *Conversation, event: ?*const c.agent_event_t) !void {
        const text = c.agent_event_text(event, null);
        const tool = c.agent_event_tool_name(event, null);
        switch (c.agent_event_kind(event)) {
            c.AGENT_EVENT_TURN_START => try self.out.print("[turn {d}]\n", .{c.agent_event_turn(event)}),
            c.AGENT_EVENT_TEXT_DELTA => try self.out.print("{s}", .{text}),
            c.AGENT_EVENT_TEXT_END => try self.out.print("\n", .{}),
            c.AGENT_EVENT_TOOL_EXECUTION_START => {
                try self.out.print("[calling {s} {s}]\n", .{ tool, c.agent_event_arguments(event, null) });
            },
            c.AGENT_EVENT_TOOL_EXECUTION_END => try self.out.print("[{s} -> {s}]\n", .{ tool, text }),
            c.AGENT_EVENT_AGENT_END => {
                try self.out.print("[{s}]\n", .{c.agent_outcome_name(c.agent_event_outcome(event))});
            },
            else => {},
        }
    }

    fn showRoles(self: *Conversation) !void {
        var messages: ?*c.agent_messages_t = null;
        _ = try self.check(c.agent_messages(self.agent, &messages, &self.failure));
        defer c.agent_messages_free(messages);
        try self.out.print("Conversation:", .{});
        for (0..c.agent_messages_count(messages)) |i| {
            try self.out.print("{s} {s}", .{ if (i > 0) "," else "", c.agent_messages_role(messages, i, null) });
        }
        try self.out.print("\n", .{});
    }
};

fn printError(failure: ?*const c.agent_error_t) void {
    const kind = c.agent_status_name(c.agent_error_status(failure));
    std.debug.print("{s}: {s}\n", .{ kind, c.agent_error_message(failure, null) });
}

fn converse(talk: *Conversation, model: [:0]const u8, base_url: ?[:0]const u8, second_model: ?[:0]const u8) !void {
    var runtime: ?*c.agent_runtime_t = null;
    _ = try talk.check(c.agent_runtime_new(null, 0, &runtime, &talk.failure));
    defer c.agent_runtime_free(runtime);
    defer _ = c.agent_runtime_shutdown(runtime, 5000, null);

    _ = try talk.check(c.agent_new(runtime, model.ptr, model.len, &talk.agent, &talk.failure));
    defer c.agent_free(talk.agent);
    if (base_url) |url| {
        _ = try talk.check(c.agent_set_base_url(talk.agent, url.ptr, url.len, &talk.failure));
        _ = try talk.check(c.agent_set_json(talk.agent, "{\"temperature\": 0}", c.AGENT_NTS, &talk.failure));
    }
    var tool: ?*c.agent_tool_t = null;
    _ = try talk.check(c.agent_tool_new(description, description.len, calculate, null, null, &tool, &talk.failure));
    defer c.agent_tool_free(tool);
    _ = try talk.check(c.agent_add_tool(talk.agent, tool, &talk.failure));

    try talk.ask("What is 15 multiplied by 23?");
    if (second_model) |second| {
        _ = try talk.check(c.agent_set_model(talk.agent, second.ptr, second.len, &talk.failure));
    }
    try talk.ask("Now divide that by 5");
    if (!talk.as_events) try talk.showRoles();
}

pub fn main(init: std.process.Init) !u8 {
    var args = (try init.minimal.args.toSlice(init.arena.allocator()))[1..];
    const as_events = args.len > 0 and std.mem.eql(u8, args[0], "--events");
    if (as_events) args = args[1..];
    if (args.len == 0 or std.mem.startsWith(u8, args[0], "-")) {
        const help = args.len > 0 and std.mem.eql(u8, args[0], "--help");
        const out: std.Io.File = if (help) .stdout() else .stderr();
        try out.writeStreamingAll(init.io, "usage: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]\n");
        return if (help) 0 else 2;
    }

    var buffer: [4096]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &buffer);
    var talk: Conversation = .{ .out = &stdout.interface, .as_events = as_events };
    defer c.agent_error_free(talk.failure);
    const base_url = if (args.len > 1) args[1] else null;
    converse(&talk, args[0], base_url, if (args.len > 2) args[2] else null) catch |err| switch (err) {
        error.CallFailed, error.RunFailed => return 1, // it was printed
        error.WriteFailed => return err,
    };
    try stdout.interface.flush();
    return 0;
}
