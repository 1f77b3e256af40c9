import { expect, test } from "bun:test";
import { runTool } from "../../src/platform/system/systemd.ts";

test("runTool returns the output of a tool and whether it succeeded", () => {
  expect(runTool(["echo", "one", "two"])).toEqual({ ok: true, output: "one two" });
  expect(runTool(["false"])).toEqual({ ok: false, output: "" });
});

test("runTool reports a tool that is not installed", () => {
  expect(runTool(["no-such-tool"])).toEqual({ ok: false, output: "no-such-tool is not installed" });
});

test("runTool ends a tool at its timeout", () => {
  expect(runTool(["sleep", "3600"], 500)).toEqual({
    ok: false,
    output: "sleep did not answer within 0.5 s",
  });
});
