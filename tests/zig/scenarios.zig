//! Plays a representative subset of the scenarios from Zig: scenarios FOLDER. The C runner plays all of them.

const std = @import("std");
const c = @import("agent");
const stage_ = @import("stage.zig");
const Stage = stage_.Stage;
const Value = stage_.Value;
const member = stage_.member;
const must = stage_.must;

const scenarios = [_][]const u8{
    "plain_prompt",
    "thinking_then_text",
    "blocks_interleave",
    "one_tool",
    "no_tools_at_all",
    "an_unknown_tool",
    "parallel_tools_finish_in_reverse",
    "sequential_execution",
    "one_sequential_tool_in_a_batch",
    "a_tool_throws",
    "a_tool_answers_anything",
    "a_full_result",
    "a_tool_tells_how_far_it_is",
    "a_tool_has_its_own_limit",
    "arguments_that_are_not_json",
    "arguments_are_coerced",
    "schema_violations_name_their_places",
    "a_blocked_call",
    "a_replaced_argument",
    "after_tool_call_overrides",
    "hooks_may_take_their_time",
    "transform_context_throws",
    "get_api_key_is_asked_for_each_call",
    "a_hook_s_follow_up",
    "should_stop_after_turn_stops",
    "prepare_next_turn_changes_the_rest_of_the_run",
    "steering_before_the_first_call",
    "steering_skips_the_rest_sequential",
    "steering_after_the_batch_sequential",
    "steering_while_the_model_streams",
    "steering_from_everywhere",
    "follow_ups_one_at_a_time",
    "follow_ups_all_at_once",
    "what_was_not_shown_stays_queued",
    "clearing_queues",
    "resume_on_nothing",
    "resume_after_a_failure",
    "resume_on_a_tool_result",
    "max_turns_with_work_left",
    "all_tools_ask_for_the_end",
    "abort_before_the_first_byte",
    "abort_in_text",
    "abort_in_a_tool",
    "abort_in_a_retry_pause",
    "abort_twice",
    "retry_then_success",
    "the_retries_are_used_up",
    "an_error_in_the_stream",
    "a_listener_prompts",
    "reset_forgets_everything",
};

pub fn main(init: std.process.Init) !u8 {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    if (args.len != 2) {
        std.debug.print("usage: scenarios FOLDER\n", .{});
        return 2;
    }
    var buffer: [4096]u8 = undefined;
    var stdout: std.Io.File.Writer = .initStreaming(.stdout(), init.io, &buffer);
    const out = &stdout.interface;
    const folder = try std.Io.Dir.cwd().openDir(init.io, args[1], .{});

    var failed: usize = 0;
    for (scenarios) |name| {
        var arena: std.heap.ArenaAllocator = .init(std.heap.c_allocator);
        defer arena.deinit();
        if (try tell(init.io, arena.allocator(), folder, name)) |why| {
            failed += 1;
            try out.print("  FAILED {s}\n    {s}\n", .{ name, why });
        } else {
            try out.print("  ok     {s}\n", .{name});
        }
        try out.flush();
    }
    try out.print("{d} passed, {d} failed, 0 skipped\n", .{ scenarios.len - failed, failed });
    try out.flush();
    return if (failed > 0) 1 else 0;
}

/// Plays a scenario; returns the first difference from the expected result.
fn tell(io: std.Io, arena: std.mem.Allocator, folder: std.Io.Dir, name: []const u8) !?[]const u8 {
    var stage: Stage = .init(io, arena);
    const scenario = stage.read(try readFile(io, arena, folder, name, "scenario.json"));
    const expected = stage.read(try readFile(io, arena, folder, name, "expected.json"));

    var runtime: ?*c.agent_runtime_t = null;
    var failure: ?*c.agent_error_t = null;
    const status = c.agent_runtime_new(null, 0, &runtime, &failure);
    must(status, failure);
    defer c.agent_runtime_free(runtime);
    // Before the arena is freed: tools and hooks that were given up may still use it.
    defer _ = c.agent_runtime_shutdown(runtime, 10_000, null);

    stage.set(runtime, scenario);
    defer c.agent_free(stage.agent);
    var steps: std.array_list.Managed(Value) = .init(arena);
    for (member(scenario, "steps").?.array.items) |step| {
        try steps.append(try take(&stage, step.object.keys()[0], step.object.values()[0]));
    }
    const happened = stage.object(
        &.{ "steps", "runs", "requests", "hooks", "log", "state" },
        &.{
            .{ .array = steps }, .{ .array = stage.runs }, .{ .array = stage.requests },
            .{ .array = stage.hook_calls }, .{ .array = stage.log }, state(&stage),
        },
    );
    return difference(arena, "", happened, expected);
}

fn readFile(io: std.Io, arena: std.mem.Allocator, folder: std.Io.Dir, scenario: []const u8, name: []const u8) ![]const u8 {
    const path = try std.fmt.allocPrint(arena, "{s}/{s}", .{ scenario, name });
    return folder.readFileAlloc(io, path, arena, .unlimited);
}

/// Executes a step; returns its record.
fn take(stage: *Stage, name: []const u8, given: Value) !Value {
    var run: ?*c.agent_run_t = null;
    defer c.agent_run_free(run);
    const Step = enum { prompt, resume_, has_queued_messages, state, other };
    const known = std.meta.stringToEnum(Step, if (std.mem.eql(u8, name, "resume")) "resume_" else name) orelse .other;
    const status = switch (known) {
        .prompt => c.agent_prompt(stage.agent, given.string.ptr, given.string.len, &run, null),
        .resume_ => c.agent_resume(stage.agent, &run, null),
        .has_queued_messages => return stage.object(&.{name}, &.{.{ .bool = c.agent_has_queued_messages(stage.agent) }}),
        .state => return stage.object(&.{name}, &.{state(stage)}),
        .other => stage.act(name, given),
    };
    if (status < 0) return stage.object(&.{"error"}, &.{.{ .string = std.mem.span(c.agent_status_name(status)) }});
    if (run == null) return stage.object(&.{name}, &.{.{ .string = "ok" }});
    try finish(stage, run);
    const outcome = std.mem.span(c.agent_outcome_name(c.agent_run_outcome(run)));
    return stage.object(&.{"outcome"}, &.{.{ .string = outcome }});
}

/// Reads a run to its end and records its events.
fn finish(stage: *Stage, run: ?*c.agent_run_t) !void {
    var failure: ?*c.agent_error_t = null;
    var lines: std.array_list.Managed(u8) = .init(stage.arena);
    var events: std.array_list.Managed(Value) = .init(stage.arena);
    var event: ?*const c.agent_event_t = null;
    var status: c.agent_status_t = undefined;
    while (true) {
        status = c.agent_run_next(run, -1, &event, &failure);
        if (status != c.AGENT_OK) break;
        const text = std.mem.span(c.agent_event_json(event, null));
        try lines.appendSlice(text);
        var value = stage.read(text);
        value.object.getPtr("run_id").?.* = .{ .string = "run" };
        try events.append(value);
    }
    must(status, failure);
    status = c.agent_check_events(lines.items.ptr, lines.items.len, &failure);
    must(status, failure);
    var result = stage.read(std.mem.span(c.agent_run_json(run, null)));
    _ = result.object.orderedRemove("messages");
    try stage.runs.append(stage.object(&.{ "events", "result" }, &.{ .{ .array = events }, result }));
}

fn state(stage: *Stage) Value {
    var text: ?*c.agent_text_t = null;
    var failure: ?*c.agent_error_t = null;
    const status = c.agent_state_json(stage.agent, &text, &failure);
    must(status, failure);
    defer c.agent_text_free(text);
    return stage.read(std.mem.span(c.agent_text_data(text, null)));
}

fn difference(arena: std.mem.Allocator, path: []const u8, got: Value, expected: Value) error{OutOfMemory}!?[]const u8 {
    if (stage_.equal(got, expected)) return null;
    if (got == .object and expected == .object) {
        for (expected.object.keys(), expected.object.values()) |name, value| {
            const below = try std.fmt.allocPrint(arena, "{s}/{s}", .{ path, name });
            if (try difference(arena, below, member(got, name) orelse .null, value)) |found| return found;
        }
    }
    if (got == .array and expected == .array and got.array.items.len == expected.array.items.len) {
        for (got.array.items, expected.array.items, 0..) |a, b, i| {
            const below = try std.fmt.allocPrint(arena, "{s}/{d}", .{ path, i });
            if (try difference(arena, below, a, b)) |found| return found;
        }
    }
    const texts = .{ path, std.json.fmt(got, .{}), std.json.fmt(expected, .{}) };
    return try std.fmt.allocPrint(arena, "{s}: got {f}, expected {f}", texts);
}
