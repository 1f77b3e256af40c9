import { expect, test } from "bun:test";
import { runTool } from "../../src/platform/systemd.ts";

test("gives what a tool said, and whether all was well", () => {
  expect(runTool(["echo", "so", "it", "is"])).toEqual({ ok: true, text: "so it is" });
  expect(runTool(["false"])).toEqual({ ok: false, text: "" });
});

test("says so where there is no such tool", () => {
  expect(runTool(["no-such-tool"])).toEqual({ ok: false, text: "there is no no-such-tool here" });
});

test("ends what takes too long", () => {
  const began = performance.now();
  expect(runTool(["sleep", "30"], 500)).toEqual({
    ok: false,
    text: "sleep did not answer within 0.5 s",
  });
  expect(performance.now() - began).toBeLessThan(20_000);
});
