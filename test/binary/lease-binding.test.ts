import { describe, expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import { runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** A site with one slot that can be borrowed for 30 days, without an early return. */
async function makeOneSlotSite(): Promise<string> {
  const folder = join(tempFolder(), "data");
  await makeLicensedSite(folder, {
    product: "cad",
    slots: 1,
    borrowHours: 720,
    earlyReturn: false,
  });
  return folder;
}

async function serve(folder: string): Promise<ServerProcess> {
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0");
  onTestFinished(() => server.kill());
  return server;
}

interface BorrowReply {
  readonly status: number;
  readonly code?: string;
  readonly lease?: string;
}

async function borrow({ url }: ServerProcess, laptop: number): Promise<BorrowReply> {
  const response = await fetch(`${url}/api/v4/borrow`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-nonce": `digest-of-laptop-000${laptop}` },
    body: JSON.stringify({ user: "ada", os_hostname: `laptop-${laptop}` }),
  });
  return { ...((await response.json()) as object), status: response.status };
}

/** Expects that the first laptop has the slot, and that another laptop is refused. */
async function expectLeased(server: ServerProcess): Promise<void> {
  expect(await borrow(server, 1)).toMatchObject({ status: 200, lease: expect.any(String) });
  expect(await borrow(server, 2)).toMatchObject({ status: 400, code: "leased_elsewhere" });
}

test("five laptops that borrow as the same user get one lease", async () => {
  const server = await serve(await makeOneSlotSite());
  const replies: BorrowReply[] = [];
  for (const laptop of [1, 2, 3, 4, 5]) replies.push(await borrow(server, laptop));
  expect(replies.map(({ status }) => status)).toEqual([200, 400, 400, 400, 400]);
  expect(replies.filter(({ lease }) => lease !== undefined)).toHaveLength(1);
  await server.stop();
});

describe("the laptop with the lease", () => {
  test("keeps it after the server is killed and after it is stopped", async () => {
    const folder = await makeOneSlotSite();
    const first = await serve(folder);
    expect(await borrow(first, 1)).toMatchObject({ status: 200 });
    await first.kill();
    const second = await serve(folder);
    await expectLeased(second);
    expect(await second.stop()).toBe(0);
    const third = await serve(folder);
    await expectLeased(third);
    await third.stop();
  });

  test("keeps it when a backup of the running server is restored elsewhere", async () => {
    const folder = await makeOneSlotSite();
    const first = await serve(folder);
    expect(await borrow(first, 1)).toMatchObject({ status: 200 });
    const file = join(tempFolder(), "site.berth");
    expect((await runBinary(["backup", file, "--data", folder])).code).toBe(0);
    await first.stop();
    const restored = join(tempFolder(), "data");
    expect((await runBinary(["restore", file, "--data", restored])).code).toBe(0);
    const second = await serve(restored);
    await expectLeased(second);
    await second.stop();
  });
});
