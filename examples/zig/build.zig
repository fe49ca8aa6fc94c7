//! Builds the examples against an installed libagent: zig build -Dagent=PREFIX

const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const prefix = b.option([]const u8, "agent", "Where libagent is installed (/usr/local)") orelse "/usr/local";

    // The header as a Zig module that links the library.
    const header = b.addTranslateC(.{
        .root_source_file = .{ .cwd_relative = b.pathJoin(&.{ prefix, "include", "agent.h" }) },
        .target = target,
        .optimize = optimize,
    });
    const agent = header.createModule();
    const lib: std.Build.LazyPath = .{ .cwd_relative = b.pathJoin(&.{ prefix, "lib" }) };
    agent.addLibraryPath(lib);
    agent.addRPath(lib);
    agent.linkSystemLibrary("agent", .{ .use_pkg_config = .no });

    for ([_][]const u8{ "hello", "weather", "calculator", "steer" }) |name| {
        b.installArtifact(b.addExecutable(.{
            .name = name,
            .root_module = b.createModule(.{
                .root_source_file = b.path(b.fmt("{s}.zig", .{name})),
                .target = target,
                .optimize = optimize,
                .imports = &.{.{ .name = "agent", .module = agent }},
            }),
        }));
    }
}
