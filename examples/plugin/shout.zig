//! A plugin in Zig: a tool that writes a text in capitals. build.sh builds it.

const std = @import("std");
const c = @import("agent_plugin");

const description =
    \\{ "name": "shout", "description": "Writes a text in capitals.",
    \\  "parameters": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] } }
;

/// What the loader looks for first: the ABI, and how many functions of the table are needed.
export const agent_plugin_info: c.agent_plugin_info_t = .{
    .abi_version = c.AGENT_ABI_VERSION,
    .host_size = @sizeOf(c.agent_plugin_host_t),
};

var host: *const c.agent_plugin_host_t = undefined;

/// Called on its own thread. It may respond now, or later from any thread.
fn shout(_: ?*anyopaque, call: ?*c.agent_tool_call_t) callconv(.c) void {
    defer host.tool_call_free.?(call);
    var text: [*c]const u8 = "";
    var length: usize = 0;

    // The arguments were validated, so that the text exists.
    _ = host.tool_call_get_string.?(call, "text", c.AGENT_NTS, &text, &length, null);
    const loud = std.heap.c_allocator.alloc(u8, length) catch {
        _ = host.tool_call_fail.?(call, "out of memory", c.AGENT_NTS, null);
        return;
    };
    defer std.heap.c_allocator.free(loud);
    for (loud, text[0..length]) |*letter, given| letter.* = std.ascii.toUpper(given);
    _ = host.tool_call_respond.?(call, loud.ptr, length, null);
}

export fn agent_plugin_register(
    table: *const c.agent_plugin_host_t,
    agent: ?*c.agent_t,
    failure: [*c]?*c.agent_error_t,
) c.agent_status_t {
    host = table;
    var tool: ?*c.agent_tool_t = null;
    defer host.tool_free.?(tool);
    const made = host.tool_new.?(description, description.len, shout, null, null, &tool, failure);
    return if (made < 0) made else host.add_tool.?(agent, tool, failure);
}
