//! The application of one scenario: its steps, tools, hooks and listeners. docs/scenarios.md describes each action; those that
//! no scenario of this subset has are not implemented here.

const std = @import("std");
const c = @import("agent");

pub const Value = std.json.Value;

/// The error of a failed call ends the program: here every call has to succeed.
pub fn must(status: c.agent_status_t, failure: ?*c.agent_error_t) void {
    if (status < 0) std.debug.panic("{s}", .{c.agent_error_message(failure, null)});
}

/// A member of an object; null if the value is no object or has no such member.
pub fn member(value: Value, name: []const u8) ?Value {
    return if (value == .object) value.object.get(name) else null;
}

fn items(value: ?Value) []const Value {
    return if (value) |list| list.array.items else &.{};
}

/// Whether a value contains another: objects may have more members, other values are equal, and null matches everything.
pub fn contains(value: Value, wanted: Value) bool {
    switch (wanted) {
        .null => return true,
        .object => |object| {
            for (object.keys(), object.values()) |name, inner| {
                if (!contains(member(value, name) orelse return false, inner)) return false;
            }
            return value == .object;
        },
        .array => |list| {
            if (value != .array or value.array.items.len != list.items.len) return false;
            for (value.array.items, list.items) |a, b| if (!equal(a, b)) return false;
            return true;
        },
        .string => |text| return value == .string and std.mem.eql(u8, value.string, text),
        .bool => |flag| return value == .bool and value.bool == flag,
        else => return number(value) != null and number(value).? == number(wanted).?,
    }
}

pub fn equal(a: Value, b: Value) bool {
    return contains(a, b) and contains(b, a);
}

/// 1 and 1.0 are equal.
fn number(value: Value) ?f64 {
    return switch (value) {
        .integer => |n| @floatFromInt(n),
        .float => |n| n,
        else => null,
    };
}

/// Who acts, for actions that only some actors have.
const Actor = union(enum) {
    tool: ?*c.agent_tool_call_t,
    hook: ?*c.agent_hook_call_t,
    listener,
};

const End = union(enum) { answer: Value, failure: []const u8 };

/// A tool, a hook or a listener of the scenario.
const Role = struct {
    stage: *Stage,
    name: [:0]const u8 = "",
    behaviours: []const Value,
    is_recorded: bool = false,
    called: usize = 0,
    /// Of a listener: what an event must contain, and which of those.
    on: Value = .null,
    nth: ?i64 = null,

    /// The behaviour of the next call; the last one applies to all further calls.
    fn next(self: *Role) []const Value {
        self.stage.mutex.lockUncancelable(self.stage.io);
        defer self.stage.mutex.unlock(self.stage.io);
        self.called += 1;
        if (self.behaviours.len == 0) return &.{};
        return self.behaviours[@min(self.called, self.behaviours.len) - 1].array.items;
    }

    fn of(userdata: ?*anyopaque) *Role {
        return @ptrCast(@alignCast(userdata));
    }

    /// A call of a tool.
    fn execute(userdata: ?*anyopaque, call: ?*c.agent_tool_call_t) callconv(.c) void {
        defer c.agent_tool_call_free(call);
        const self = of(userdata);
        switch (self.stage.behave(self.next(), .null, .{ .tool = call })) {
            .answer => |value| {
                const text = self.stage.write(value);
                _ = c.agent_tool_call_respond_json(call, text.ptr, text.len, null);
            },
            .failure => |text| _ = c.agent_tool_call_fail(call, text.ptr, text.len, null),
        }
    }

    /// A call of a hook.
    fn answer(userdata: ?*anyopaque, call: ?*c.agent_hook_call_t) callconv(.c) void {
        defer c.agent_hook_call_free(call);
        const self = of(userdata);
        const input = self.stage.read(std.mem.span(c.agent_hook_call_input(call, null)));
        if (std.mem.eql(u8, self.name, "on_payload")) self.stage.add(&self.stage.requests, member(input, "payload").?);
        if (self.is_recorded) {
            var hook_call = self.stage.object(&.{ "hook", "input" }, &.{ .{ .string = self.name }, input });
            const copy = hook_call.object.getPtr("input").?;
            _ = copy.object.orderedRemove("payload");
            if (member(input, "outcome") != null) _ = copy.object.orderedRemove("messages");
            self.stage.add(&self.stage.hook_calls, hook_call);
        }
        const changes = std.mem.eql(u8, self.name, "transform_context") or std.mem.eql(u8, self.name, "convert_to_llm");
        const begin: Value = if (changes) member(input, "messages").? else .null;
        switch (self.stage.behave(self.next(), begin, .{ .hook = call })) {
            .answer => |value| {
                const text = self.stage.write(value);
                _ = c.agent_hook_call_respond_json(call, text.ptr, text.len, null);
            },
            .failure => |text| _ = c.agent_hook_call_fail(call, text.ptr, text.len, null),
        }
    }

    /// An event for a listener.
    fn hear(userdata: ?*anyopaque, event: ?*const c.agent_event_t) callconv(.c) void {
        const self = of(userdata);
        if (!contains(self.stage.read(std.mem.span(c.agent_event_json(event, null))), self.on)) return;
        const behaviour = self.next();
        if (self.nth) |nth| if (nth != self.called) return;
        _ = self.stage.behave(behaviour, .null, .listener);
    }
};

pub const Stage = struct {
    io: std.Io,
    arena: std.mem.Allocator,
    mutex: std.Io.Mutex = .init,
    agent: ?*c.agent_t = null,
    log: std.array_list.Managed(Value),
    requests: std.array_list.Managed(Value),
    hook_calls: std.array_list.Managed(Value),
    runs: std.array_list.Managed(Value),

    pub fn init(io: std.Io, arena: std.mem.Allocator) Stage {
        return .{
            .io = io,
            .arena = arena,
            .log = .init(arena),
            .requests = .init(arena),
            .hook_calls = .init(arena),
            .runs = .init(arena),
        };
    }

    // ---- JSON ----

    pub fn read(self: *Stage, text: []const u8) Value {
        return std.json.parseFromSliceLeaky(Value, self.arena, text, .{}) catch |err| std.debug.panic("{}: {s}", .{ err, text });
    }

    pub fn write(self: *Stage, value: Value) [:0]const u8 {
        const text = std.json.Stringify.valueAlloc(self.arena, value, .{}) catch @panic("out of memory");
        return self.arena.dupeSentinel(u8, text, 0) catch @panic("out of memory");
    }

    pub fn object(self: *Stage, names: []const []const u8, values: []const Value) Value {
        var map: std.json.ObjectMap = .empty;
        for (names, values) |name, value| {
            const own: Value = if (value == .object)
                .{ .object = value.object.clone(self.arena) catch @panic("out of memory") }
            else
                value;
            map.put(self.arena, name, own) catch @panic("out of memory");
        }
        return .{ .object = map };
    }

    fn add(self: *Stage, list: *std.array_list.Managed(Value), value: Value) void {
        self.mutex.lockUncancelable(self.io);
        defer self.mutex.unlock(self.io);
        list.append(value) catch @panic("out of memory");
    }

    // ---- setup ----

    fn role(self: *Stage, made: Role) *Role {
        const kept = self.arena.create(Role) catch @panic("out of memory");
        kept.* = made;
        return kept;
    }

    /// Creates the scenario's agent.
    pub fn set(self: *Stage, runtime: ?*c.agent_runtime_t, scenario: Value) void {
        var failure: ?*c.agent_error_t = null;
        var status: c.agent_status_t = undefined;
        const words: []const Value = &.{ .{ .string = "scripted" }, .{ .string = "story" }, member(scenario, "model").? };
        const model = self.write(self.object(&.{ "provider", "id", "script" }, words));
        status = c.agent_new(runtime, model, model.len, &self.agent, &failure);
        must(status, failure);
        for (items(member(scenario, "tools"))) |tool| self.addTool(tool);
        if (member(scenario, "options")) |options| {
            const text = self.write(options);
            status = c.agent_set_json(self.agent, text, text.len, &failure);
            must(status, failure);
        }
        for (hook_names, 1..) |name, kind| {
            const behaviours = if (member(scenario, "hooks")) |hooks| member(hooks, name) else null;
            // The requests are recorded in every scenario.
            if (behaviours == null and kind != c.AGENT_HOOK_ON_PAYLOAD) continue;
            const made = self.role(.{
                .stage = self,
                .name = name,
                .behaviours = items(behaviours),
                .is_recorded = behaviours != null,
            });
            status = c.agent_set_hook(self.agent, @intCast(kind), Role.answer, made, null, &failure);
            must(status, failure);
        }
        for (items(member(scenario, "listeners"))) |listener| {
            const nth = if (member(listener, "nth")) |nth| nth.integer else null;
            const behaviours = self.arena.dupe(Value, &.{member(listener, "do").?}) catch @panic("out of memory");
            const made = self.role(.{
                .stage = self,
                .behaviours = behaviours,
                .on = member(listener, "on") orelse .null,
                .nth = nth,
            });
            status = c.agent_subscribe(self.agent, Role.hear, made, null, null, &failure);
            must(status, failure);
        }
    }

    fn addTool(self: *Stage, tool: Value) void {
        var failure: ?*c.agent_error_t = null;
        var handle: ?*c.agent_tool_t = null;
        var fields = tool.object.clone(self.arena) catch @panic("out of memory");
        _ = fields.orderedRemove("calls");
        const text = self.write(.{ .object = fields });
        const made = self.role(.{ .stage = self, .behaviours = items(member(tool, "calls")) });
        var status = c.agent_tool_new(text, text.len, Role.execute, made, null, &handle, &failure);
        must(status, failure);
        defer c.agent_tool_free(handle);
        status = c.agent_add_tool(self.agent, handle, &failure);
        must(status, failure);
    }

    // ---- actions ----

    /// Executes actions sequentially. `value` is the answer if no action gives one.
    fn behave(self: *Stage, behaviour: []const Value, value: Value, actor: Actor) End {
        for (behaviour) |action| {
            const name = action.object.keys()[0];
            const given = action.object.values()[0];
            const known = std.meta.stringToEnum(enum { @"return", throw, sleep_ms, update, log }, name) orelse {
                const status = self.act(name, given);
                if (status < 0) self.say("{s}: {s}", .{ name, c.agent_status_name(status) });
                continue;
            };
            switch (known) {
                .@"return" => return .{ .answer = given },
                .throw => return .{ .failure = given.string },
                .log => self.say("{s}", .{given.string}),
                .sleep_ms => switch (actor) {
                    .tool => |call| _ = c.agent_tool_call_sleep(call, @intCast(given.integer), null),
                    .hook => |call| _ = c.agent_hook_call_sleep(call, @intCast(given.integer), null),
                    .listener => @panic("a listener cannot wait"),
                },
                .update => _ = c.agent_tool_call_update_json(actor.tool, self.write(given), c.AGENT_NTS, null),
            }
        }
        return .{ .answer = value };
    }

    /// Actions of every actor.
    pub fn act(self: *Stage, name: []const u8, given: Value) c.agent_status_t {
        const Action = enum {
            steer,
            follow_up,
            abort,
            clear_steering_queue,
            clear_follow_up_queue,
            clear_all_queues,
            reset,
            wait_for_idle,
            prompt,
            resume_,
        };
        const known = std.meta.stringToEnum(Action, if (std.mem.eql(u8, name, "resume")) "resume_" else name);
        return switch (known orelse std.debug.panic("this subset of the scenarios has no {s}", .{name})) {
            // Prompts of this subset are texts.
            .steer => c.agent_steer(self.agent, given.string.ptr, given.string.len, null),
            .follow_up => c.agent_follow_up(self.agent, given.string.ptr, given.string.len, null),
            .abort => c.agent_abort(self.agent, null),
            .clear_steering_queue => c.agent_clear_steering_queue(self.agent, null),
            .clear_follow_up_queue => c.agent_clear_follow_up_queue(self.agent, null),
            .clear_all_queues => c.agent_clear_all_queues(self.agent, null),
            .reset => c.agent_reset(self.agent, null),
            .wait_for_idle => c.agent_wait_for_idle(self.agent, -1, null),
            // In callbacks, where these are refused.
            .prompt => c.agent_prompt(self.agent, given.string.ptr, given.string.len, null, null),
            .resume_ => c.agent_resume(self.agent, null, null),
        };
    }

    fn say(self: *Stage, comptime format: []const u8, arguments: anytype) void {
        const line = std.fmt.allocPrint(self.arena, format, arguments) catch @panic("out of memory");
        self.add(&self.log, .{ .string = line });
    }
};

/// By number, from 1.
const hook_names = [_][:0]const u8{
    "transform_context", "convert_to_llm",      "get_api_key",            "before_tool_call",      "after_tool_call",
    "prepare_next_turn", "should_stop_after_turn", "get_steering_messages", "get_follow_up_messages", "on_payload",
    "on_response",       "on_error",            "before_run",             "after_run",
};
