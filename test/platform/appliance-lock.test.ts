import { afterEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  findLockHolder,
  lockName,
  acquireApplianceLock,
  type LockRequest,
} from "../../src/platform/appliance-lock.ts";
import { AS_NOBODY, canRunAsNobody, copyForEveryUser } from "../support/other-user.ts";

const request = (folder: string, secret: Uint8Array = randomBytes(32)): LockRequest => ({
  secret,
  folder,
  environment: {},
});

const releases: (() => void)[] = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

async function take(asked: LockRequest): Promise<string> {
  const taken = await acquireApplianceLock(asked);
  if (taken.result === "taken") releases.push(taken.release);
  return taken.result;
}

/** A process that has the name and answers nobody; null: it did not start. */
async function startSquatter(name: string, runtime: readonly string[]) {
  const code = `Bun.listen({ unix: ${JSON.stringify(name)}, socket: { data() {} } }); console.log("ok")`;
  const child = Bun.spawn([...runtime, "-e", code], {
    stdout: "pipe",
    stderr: "ignore",
    cwd: "/",
  });
  releases.push(() => child.kill("SIGKILL"));
  for await (const _ of child.stdout) return child;
  return null;
}

describe.skipIf(process.platform !== "linux")("the lock of an appliance", () => {
  test("is held once, and says by which process and for which folder", async () => {
    const asked = request("/srv/one");
    expect(await take(asked)).toBe("taken");
    expect(await acquireApplianceLock({ ...asked, folder: "/srv/two" })).toEqual({
      result: "held",
      holder: { pid: process.pid, folder: "/srv/one" },
    });
    expect(await findLockHolder(asked)).toEqual({ pid: process.pid, folder: "/srv/one" });
  });

  test("is free again once it is released", async () => {
    const asked = request("/srv/one");
    const taken = await acquireApplianceLock(asked);
    if (taken.result === "taken") taken.release();
    expect(await findLockHolder(asked)).toBeNull();
    expect(await take(asked)).toBe("taken");
  });

  test("is another one for another appliance and for another machine of the tests", async () => {
    const secret = randomBytes(32);
    expect(await take(request("/srv/one", secret))).toBe("taken");
    expect(await take(request("/srv/one"))).toBe("taken");
    const elsewhere = { ...request("/srv/one", secret), environment: { BERTH_TEST_MACHINE: "b" } };
    expect(await take(elsewhere)).toBe("taken");
  });

  test("counts as held by a process of the same user that does not answer", async () => {
    const asked = request("/srv/one");
    const child = await startSquatter(lockName(asked), [process.execPath]);
    expect(await acquireApplianceLock(asked)).toEqual({
      result: "held",
      holder: { pid: child?.pid ?? 0, folder: null },
    });
  });

  test.skipIf(!canRunAsNobody)(
    "does not count as held by a process of another user that proves nothing",
    async () => {
      const asked = request("/srv/one");
      const child = await startSquatter(lockName(asked), [process.execPath]);
      // As another user sees it, who cannot look into that process.
      // The sources may lie in a folder that is private to the user of the tests.
      const { outputs } = await Bun.build({
        entrypoints: [Bun.resolveSync("../../src/platform/appliance-lock.ts", import.meta.dir)],
        target: "bun",
      });
      const script = `${await outputs[0]?.text()}
        const secret = Buffer.from(${JSON.stringify(Buffer.from(asked.secret).toString("hex"))}, "hex");
        const taken = await takeApplianceLock({ secret, folder: "/srv/two", environment: {} });
        console.log(taken.result);
        process.exit(0);`;
      const runtime = [...AS_NOBODY, copyForEveryUser(process.execPath)];
      const dropped = Bun.spawn([...runtime, "-e", script], {
        stdout: "pipe",
        cwd: "/",
      });
      expect(await dropped.stdout.text()).toBe("unavailable\n");
      expect(child?.exitCode).toBeNull();
    },
  );

  test.skipIf(!canRunAsNobody)(
    "does not count as held for root by a process of another user that proves nothing",
    async () => {
      const asked = request("/srv/one");
      const runtime = [...AS_NOBODY, copyForEveryUser(process.execPath)];
      expect(await startSquatter(lockName(asked), runtime)).not.toBeNull();
      expect(await acquireApplianceLock(asked)).toMatchObject({ result: "unavailable" });
      expect(await findLockHolder(asked)).toBeNull();
    },
  );
});
