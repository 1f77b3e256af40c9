import { expect, onTestFinished, test } from "bun:test";
import { readdirSync } from "node:fs";
import { buildBinary, startBinary, startProgram } from "../support/binary.ts";
import { PATIENCE } from "../support/patience.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];

/** The limit is in blocks of 512 bytes, or of 1024 in some shells. */
const LIMITED = ["/bin/sh", "-c", 'ulimit -f 1000 && exec "$@"', "sh"];

/** Their registrations need more than the limit with either block size. */
const USERS = 300;

test("a server at its file size limit continues in new journal files and reports the limit", async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: USERS });
  const command = [buildBinary(), "serve", "--data", folder, ...LISTEN];
  const server = await startProgram([...LIMITED, ...command]);
  onTestFinished(() => server.kill());
  let refused = 0;
  const deadline = performance.now() + PATIENCE;
  for (let user = 0; user < USERS; user += 1) {
    for (;;) {
      const response = await fetch(`${server.url}/api/v4/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ user: `user-${user}`, user_info: "x".repeat(4_000) }),
      });
      if (response.status === 200) break;
      const refusal = (await response.json()) as { code: string; message: string };
      expect(refusal).toMatchObject({
        code: "storage_full",
        message: expect.stringContaining("ulimit"),
      });
      refused += 1;
      // A server that cannot continue would refuse forever.
      expect(performance.now()).toBeLessThan(deadline);
      await Bun.sleep(20);
    }
  }
  expect(refused).toBeGreaterThan(0);
  const health = (await (await fetch(`${server.url}/api/v4/health`)).json()) as object;
  expect(health).toMatchObject({ status: "degraded" });
  expect(JSON.stringify(health)).toContain("file_size_limit");
  expect(readdirSync(folder).filter((name) => name.startsWith("journal-")).length).toBeGreaterThan(
    1,
  );
  await server.kill();

  const again = await startBinary("serve", "--data", folder, ...LISTEN);
  onTestFinished(() => again.kill());
  const slots = await fetch(`${again.url}/api/admin/v1/registrations`);
  expect((await slots.json()) as object[]).toHaveLength(USERS);
  expect(await again.stop()).toBe(0);
});
