// Replies that take longer than the idle timeout of a connection.
import { expect, onTestFinished, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { err, ok } from "../../src/domain/result.ts";
import type { RunningServer } from "../../src/http/running-server.ts";
import { createHandler, IDLE_SECONDS, listenOnSocket } from "../../src/http/server.ts";
import { openAppliance, OPEN_POLICY } from "../support/appliance.ts";
import { makeMaintenance } from "../support/maintenance.ts";
import { tempFolder } from "../support/temp-folder.ts";

const VERIFY = "/api/admin/v1/verify";

const damaged = { intact: false, finding: "something", remedy: "" } as const;

const slowMaintenance =
  (ms: number) =>
  (...site: Parameters<typeof makeMaintenance>): RunningServer => ({
    ...makeMaintenance(...site),
    async verify() {
      await Bun.sleep(ms);
      return ok(damaged);
    },
    doctor: async () => err({ code: "request_cancelled" }),
  });

test("SECURITY.md states after how many seconds a half-sent body is cut off", () => {
  const text = readFileSync(join(import.meta.dir, "..", "..", "SECURITY.md"), "utf8");
  expect(text).toContain(`${IDLE_SECONDS} s for bodies`);
});

test("a reply on the local socket may take longer than the idle timeout", async () => {
  const site = await openAppliance({ maintenance: slowMaintenance(14_000) });
  const path = join(tempFolder(), "berth.sock");
  const socket = listenOnSocket(site.services, path, "default");
  onTestFinished(() => socket.stop());
  const response = await fetch(`http://berth${VERIFY}`, { unix: path });
  expect(await response.json()).toEqual(damaged);
});

test("a network connection loses its idle timeout only while a maintenance reply is pending", async () => {
  const site = await openAppliance({ maintenance: slowMaintenance(1) });
  const { handler } = createHandler(site.services, OPEN_POLICY, false);
  const timeouts: number[] = [];
  const listener = {
    requestIP: () => ({ address: "127.0.0.1", family: "IPv4" as const, port: 1 }),
    timeout: (_request: Request, seconds: number) => void timeouts.push(seconds),
  };
  const getStatus = async (path: string): Promise<number> => {
    const url = `http://127.0.0.1${path}`;
    const request = new Request(url, { headers: { host: "127.0.0.1" } });
    return (await handler(request, listener)).status;
  };
  expect(await getStatus("/api/admin/v1/status")).toBe(200);
  expect(timeouts).toEqual([]);
  expect(await getStatus(VERIFY)).toBe(200);
  expect(timeouts).toEqual([0, 60]);
  // The timeout is set again when the request fails too.
  expect(await getStatus("/api/admin/v1/doctor")).toBe(408);
  expect(timeouts).toEqual([0, 60, 0, 60]);
});
