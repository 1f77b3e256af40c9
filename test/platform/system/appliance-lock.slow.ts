import { afterEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import {
  findLockHolder,
  lockName,
  acquireApplianceLock,
  type LockRequest,
} from "../../../src/platform/system/appliance-lock.ts";
import { AS_NOBODY, canRunAsNobody, copyForEveryUser } from "../../support/other-user.ts";

const makeRequest = (folder: string, secret: Uint8Array = randomBytes(32)): LockRequest => ({
  secret,
  folder,
  environment: {},
});

const releases: (() => void)[] = [];
afterEach(() => {
  for (const release of releases.splice(0)) release();
});

async function acquire(lockRequest: LockRequest): Promise<string> {
  const lock = await acquireApplianceLock(lockRequest);
  if (lock.result === "taken") releases.push(lock.release);
  return lock.result;
}

/** Starts a process that holds the lock's name and never answers; null: it did not start. */
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

describe.skipIf(process.platform !== "linux")("the appliance lock", () => {
  test("can be acquired once, and reports the holder's process and folder", async () => {
    const lockRequest = makeRequest("/srv/one");
    expect(await acquire(lockRequest)).toBe("taken");
    expect(await acquireApplianceLock({ ...lockRequest, folder: "/srv/two" })).toEqual({
      result: "held",
      holder: { pid: process.pid, folder: "/srv/one" },
    });
    expect(await findLockHolder(lockRequest)).toEqual({ pid: process.pid, folder: "/srv/one" });
  });

  test("can be acquired again after it was released", async () => {
    const lockRequest = makeRequest("/srv/one");
    const lock = await acquireApplianceLock(lockRequest);
    if (lock.result === "taken") lock.release();
    expect(await findLockHolder(lockRequest)).toBeNull();
    expect(await acquire(lockRequest)).toBe("taken");
  });

  test("is separate for another appliance", async () => {
    expect(await acquire(makeRequest("/srv/one"))).toBe("taken");
    expect(await acquire(makeRequest("/srv/one"))).toBe("taken");
  });

  test("is held if a process of the same user has its name and does not answer", async () => {
    const lockRequest = makeRequest("/srv/one");
    const child = await startSquatter(lockName(lockRequest), [process.execPath]);
    expect(await acquireApplianceLock(lockRequest)).toEqual({
      result: "held",
      holder: { pid: child?.pid ?? 0, folder: null },
    });
  });

  test.skipIf(!canRunAsNobody)(
    "is unavailable, not held, if an unprivileged caller finds an unproven holder of another user",
    async () => {
      const lockRequest = makeRequest("/srv/one");
      const child = await startSquatter(lockName(lockRequest), [process.execPath]);
      // Runs as another user, who cannot inspect that process. It runs a bundle, because the
      // sources may be in a folder that only the user of the tests can read.
      const { outputs } = await Bun.build({
        entrypoints: [
          Bun.resolveSync("../../../src/platform/system/appliance-lock.ts", import.meta.dir),
        ],
        target: "bun",
      });
      const script = `${await outputs[0]?.text()}
        const secret = Buffer.from(${JSON.stringify(Buffer.from(lockRequest.secret).toString("hex"))}, "hex");
        const lock = await acquireApplianceLock({ secret, folder: "/srv/two", environment: {} });
        console.log(lock.result);
        process.exit(0);`;
      const runtime = [...AS_NOBODY, copyForEveryUser(process.execPath)];
      const unprivileged = Bun.spawn([...runtime, "-e", script], {
        stdout: "pipe",
        cwd: "/",
      });
      expect(await unprivileged.stdout.text()).toBe("unavailable\n");
      expect(child?.exitCode).toBeNull();
    },
  );

  test.skipIf(!canRunAsNobody)(
    "is unavailable, not held, if root finds an unproven holder of another user",
    async () => {
      const lockRequest = makeRequest("/srv/one");
      const runtime = [...AS_NOBODY, copyForEveryUser(process.execPath)];
      expect(await startSquatter(lockName(lockRequest), runtime)).not.toBeNull();
      expect(await acquireApplianceLock(lockRequest)).toMatchObject({ result: "unavailable" });
      expect(await findLockHolder(lockRequest)).toBeNull();
    },
  );
});
