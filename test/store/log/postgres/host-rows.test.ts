import { expect, test } from "bun:test";
import { reportHost } from "../../../../src/store/log/postgres/host-rows.ts";
import type { LogConnection } from "../../../../src/store/log/postgres/log-connection.ts";

const REPORT = {
  host: "alpha",
  hardwareId: "hardware of alpha",
  url: null,
  version: "1.0.0",
  head: { seq: 7, sum: "sum" },
  covered: 7,
};

test("a report of a host has its clock of when it is sent, and not of before connecting", async () => {
  let sent: readonly unknown[] = [];
  let waitedMs = 0;
  const runStatement: LogConnection["runStatement"] = async (_statement, parameters) => {
    const before = performance.now();
    await Bun.sleep(20);
    waitedMs = performance.now() - before;
    sent = typeof parameters === "function" ? parameters() : (parameters ?? []);
    return [];
  };
  await reportHost({ runStatement }, { ...REPORT, systemTime: 1_000_000 });
  expect(Number(sent.at(-1))).toBeGreaterThanOrEqual(Math.floor(1_000_000 + waitedMs));
});
