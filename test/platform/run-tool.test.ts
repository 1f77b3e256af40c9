import { expect, test } from "bun:test";
import { runTool } from "../../src/platform/systemd.ts";

test("gives what a tool said, and whether all was well", () => {
  expect(runTool(["echo", "so", "it", "is"])).toEqual({ ok: true, text: "so it is" });
  expect(runTool(["false"])).toEqual({ ok: false, text: "" });
});

test("says so where there is no such tool", () => {
  expect(runTool(["no-such-tool"])).toEqual({ ok: false, text: "no-such-tool is not installed" });
});

test("ends what takes too long", () => {
  expect(runTool(["sleep", "3600"], 500)).toEqual({
    ok: false,
    text: "sleep did not answer within 0.5 s",
  });
});
