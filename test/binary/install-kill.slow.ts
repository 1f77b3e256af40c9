import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { startBinary, type ServerProcess } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { BERTH_COMMANDS } from "../support/prepared-renewal.ts";
import { chooseSize } from "../support/suite-harness.ts";

/** Each of the 12 delays once. */
const KILLS = chooseSize(12, 25);

interface LicenseReply {
  readonly id: number;
  readonly floating_users: number;
}

const LISTEN = ["--listen", "127.0.0.1:0"];

const upload = (server: ServerProcess, license: string): Promise<Response> =>
  fetch(`${server.url}/api/v4/license/upload`, {
    method: "POST",
    headers: { "content-type": "text/plain" },
    body: license,
  });

const listLicenses = async (server: ServerProcess): Promise<LicenseReply[]> =>
  (await (await fetch(`${server.url}/api/admin/v1/licenses`)).json()) as LicenseReply[];

test(`a server killed during a license upload has the old license or the new one (${KILLS} kills)`, async () => {
  const root = tempFolder();
  const prepared = await BERTH_COMMANDS.preparedRenewal(root);
  const seenSlots = new Set<number>();
  for (let round = 0; round < KILLS; round += 1) {
    const folder = join(root, `round-${round}`);
    cpSync(prepared.site, folder, { recursive: true });
    const first = await startBinary("serve", "--data", folder, ...LISTEN);
    const uploaded = upload(first, prepared.renewal).then(
      ({ status }) => status,
      () => null,
    );
    await Bun.sleep((round * 7) % 12);
    await first.kill();
    const status = await uploaded;

    const second = await startBinary("serve", "--data", folder, ...LISTEN);
    const [license, ...others] = await listLicenses(second);
    expect(others).toEqual([]);
    const slots = license?.floating_users ?? 0;
    expect([prepared.oldSlots, prepared.newSlots]).toContain(slots);
    if (status === 200) expect(slots).toBe(prepared.newSlots);
    seenSlots.add(slots);
    // The request is used up only by the new license: the same file is accepted again, and is
    // installed now if it was not before.
    expect((await upload(second, prepared.renewal)).status).toBe(200);
    const [after] = await listLicenses(second);
    expect(after?.floating_users).toBe(prepared.newSlots);
    await second.stop();
  }
  expect(seenSlots.size).toBeGreaterThan(0);
});
