// Answers that take longer than a connection may be silent.
import { expect, onTestFinished, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { err, ok } from "../../src/domain/result.ts";
import type { RunningServer } from "../../src/http/running-server.ts";
import { createHandler, IDLE_SECONDS, listenOnSocket } from "../../src/http/server.ts";
import { openAppliance } from "../support/appliance.ts";
import { makeMaintenance } from "../support/maintenance.ts";
import { tempFolder } from "../support/temp-folder.ts";

const VERIFY = "/api/admin/v1/verify";

const damaged = { intact: false, finding: "something", remedy: "" } as const;

const slowly =
  (ms: number) =>
  (folder: string): RunningServer => ({
    ...makeMaintenance(folder),
    async verify() {
      await Bun.sleep(ms);
      return ok(damaged);
    },
    doctor: async () => err({ code: "request_cancelled" }),
  });

test("SECURITY.md tells after how many seconds a half-sent body is cut off", () => {
  const text = readFileSync(join(import.meta.dir, "..", "..", "SECURITY.md"), "utf8");
  expect(text).toContain(`${IDLE_SECONDS} s for bodies`);
});

test("on the socket an answer may take its time", async () => {
  const site = await openAppliance({ maintenance: slowly(14_000) });
  const path = join(tempFolder(), "berth.sock");
  const socket = listenOnSocket(site.services, path, "default");
  onTestFinished(() => socket.stop());
  const response = await fetch(`http://berth${VERIFY}`, { unix: path });
  expect(await response.json()).toEqual(damaged);
});

test("on the network only while such an answer is waited for", async () => {
  const site = await openAppliance({ maintenance: slowly(1) });
  const near = () => true;
  const { handler } = createHandler(
    site.services,
    {
      isClient: near,
      isAdmin: near,
      clientAuth: "open",
      adminOpen: false,
      allowPlain: false,
      serverNames: [],
      logMode: "default",
    },
    false,
  );
  const idle: number[] = [];
  const listener = {
    requestIP: () => ({ address: "127.0.0.1", family: "IPv4" as const, port: 1 }),
    timeout: (_request: Request, seconds: number) => void idle.push(seconds),
  };
  const ask = async (path: string): Promise<number> => {
    const url = `http://127.0.0.1${path}`;
    const request = new Request(url, { headers: { host: "127.0.0.1" } });
    return (await handler(request, listener)).status;
  };
  expect(await ask("/api/admin/v1/status")).toBe(200);
  expect(idle).toEqual([]);
  expect(await ask(VERIFY)).toBe(200);
  expect(idle).toEqual([0, 60]);
  // However it ends.
  expect(await ask("/api/admin/v1/doctor")).toBe(408);
  expect(idle).toEqual([0, 60, 0, 60]);
});
