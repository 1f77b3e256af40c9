// Measures reads of a long audit log with the compiled binary: pages, a filter and the export.
//
//   bun test/bench/audit-log.ts [LINES]
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AuditPageReply } from "../../src/http/routes/audit/audit-log.ts";
import { Identity } from "../../src/operations/appliance/identity.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { readMachineComponents } from "../../src/platform/system/machine.ts";
import { buildBinary, startBinary } from "../support/binary.ts";
import { writeLongAuditLog } from "../support/long-audit-log.ts";

const ROUNDS = 25;
const lines = Number(process.argv[2] ?? 1_000_000);

buildBinary();
const folder = mkdtempSync(join(tmpdir(), "berth-bench-"));
try {
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  const identity = new Identity(realDisk, data, readMachineComponents());
  await writeLongAuditLog(data, lines, 0, await identity.create());
  const server = await startBinary("serve", "--data", data, "--listen", "127.0.0.1:0");
  try {
    await measure(`${server.url}/api/admin/v1/audit`);
  } finally {
    await server.stop();
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(url: string): Promise<void> {
  await report("newest page of 100", () => readPage(`${url}?limit=100`));
  await report("page of 100 in the middle", () =>
    readPage(`${url}?limit=100&before=${Math.floor(lines / 2)}`),
  );
  await report("one step of a filter that matches nothing", () => readPage(`${url}?user=nobody`));
  const start = performance.now();
  let steps = 0;
  for (let next: string | null = ""; next !== null; steps += 1) {
    ({ next } = await readPage(`${url}?user=nobody&before=${next}`));
  }
  printLine(
    `whole log with a filter that matches nothing: ${secondsSince(start)} s, ${steps} steps`,
  );
  const exportStart = performance.now();
  const { size } = await (await fetch(`${url}/export`)).blob();
  printLine(`export of ${(size / 2 ** 20).toFixed(0)} MiB: ${secondsSince(exportStart)} s`);
}

async function readPage(url: string): Promise<AuditPageReply> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  return (await response.json()) as AuditPageReply;
}

async function report(description: string, act: () => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await act();
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const percentile = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1);
  printLine(
    `${description}: median ${percentile(0.5)} ms, worst ${percentile(1)} ms ` +
      `(${ROUNDS} rounds, ${lines} lines)`,
  );
}

function secondsSince(start: number): string {
  return ((performance.now() - start) / 1_000).toFixed(1);
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
