import { describe, expect, test } from "bun:test";
import { toMaintenanceFault } from "../../../src/cli/maintenance/maintenance-fault.ts";
import { parseJsonRefusal } from "../../../src/cli/frame/json-refusal.ts";

describe("parseJsonRefusal", () => {
  test.each([
    { code: "ENOSPC", message: "the disk is full", hint: "free disk space" },
    { code: "failed", message: "it failed", hint: null },
  ])("reads a refusal: %p", (refusal) => {
    expect(parseJsonRefusal(`${JSON.stringify(refusal)}\n`)).toEqual(refusal);
  });

  test.each([
    ["nothing", ""],
    ["a text", "berth: error: it failed"],
    ["a result", '{"ok":true,"path":"/srv/berth"}'],
    ["an incomplete refusal", '{"code":"failed","message":"it fai'],
    ["a refusal without a hint", '{"code":"failed","message":"it failed"}'],
    ["null", "null"],
  ])("returns null for %s", (_what, stdout) => {
    expect(parseJsonRefusal(stdout)).toBeNull();
  });
});

describe("toMaintenanceFault", () => {
  const refusal = (code: string, hint: string | null = null) => ({
    exitCode: 1,
    refusal: { code, message: "it failed", hint },
  });

  test.each(["ENOSPC", "EDQUOT", "EFBIG"])("finds a full disk by the code %s", (code) => {
    expect(toMaintenanceFault(refusal(code))).toEqual({ code: "storage_full" });
  });

  test("keeps the message, the code of the kernel and the hint of other refusals", () => {
    const fault = toMaintenanceFault(refusal("EACCES", "use sudo"));
    expect(fault).toEqual({
      code: "maintenance_failed",
      reason: "it failed (EACCES); use sudo",
    });
    expect(toMaintenanceFault(refusal("backup_refused"))).toMatchObject({ reason: "it failed" });
  });

  test("throws if the command reported a bug", () => {
    expect(() => toMaintenanceFault(refusal("internal_error", "report it"))).toThrow("it failed");
  });

  test("names the exit code of a command that could not say why it failed", () => {
    const reason = "the command exited with code 137";
    expect(toMaintenanceFault({ exitCode: 137, refusal: null })).toMatchObject({ reason });
  });
});
