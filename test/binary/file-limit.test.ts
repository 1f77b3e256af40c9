import { expect, onTestFinished, test } from "bun:test";
import { readdirSync } from "node:fs";
import { buildBinary, startBinary, startProgram } from "../support/binary.ts";
import { PATIENCE } from "../support/patience.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

const LISTEN = ["--listen", "127.0.0.1:0"];

/** In blocks of 512 bytes, or of 1024 where the shell counts so. */
const LIMITED = ["/bin/sh", "-c", 'ulimit -f 1000 && exec "$@"', "sh"];

/** More than files may hold in either count. */
const USERS = 300;

test("a server whose files may not grow any more goes on in new ones, and says what is wrong", async () => {
  const folder = tempFolder();
  await makeLicensedSite(folder, { product: "cad", slots: USERS });
  const words = [buildBinary(), "serve", "--data", folder, ...LISTEN];
  const server = await startProgram([...LIMITED, ...words]);
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
      const said = (await response.json()) as { code: string; message: string };
      expect(said).toMatchObject({
        code: "storage_full",
        message: expect.stringContaining("ulimit"),
      });
      refused += 1;
      // Where it could not go on, it would be refused for ever.
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
