import { expect, test } from "bun:test";
import { runTool } from "../../src/platform/systemd.ts";

test("gives what a tool said, and whether all was well", () => {
  expect(runTool(["echo", "so", "it", "is"])).toEqual({ ok: true, output: "so it is" });
  expect(runTool(["false"])).toEqual({ ok: false, output: "" });
});

test("says so where there is no such tool", () => {
  expect(runTool(["no-such-tool"])).toEqual({ ok: false, output: "no-such-tool is not installed" });
});

test("ends what takes too long", () => {
  expect(runTool(["sleep", "3600"], 500)).toEqual({
    ok: false,
    output: "sleep did not answer within 0.5 s",
  });
});
