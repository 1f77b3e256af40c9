import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** What a request for the cloud says of its sender; null: none could be made. */
function readCloudApiKey(folder: string, env: Record<string, string>): unknown {
  const words = ["license", "request", "--license-key", "K", "--json", "--data", folder];
  const { stdout } = Bun.spawnSync([buildBinary(), ...words], { cwd: "/", env });
  const { cloud_payload } = JSON.parse(stdout.toString()) as { cloud_payload: string | null };
  if (cloud_payload === null) return null;
  const payload = JSON.parse(Buffer.from(cloud_payload, "base64").toString()) as object;
  return (payload as { readonly api_key: string }).api_key;
}

test("cloud credentials that the service manager hands over are used, before those set", () => {
  const root = tempFolder();
  const [folder, handed] = [join(root, "data"), join(root, "credentials")];
  mkdirSync(folder, { mode: 0o700 });
  mkdirSync(handed);
  const begun = ["admin", "token", "--data", folder];
  expect(Bun.spawnSync([buildBinary(), ...begun], { cwd: "/", env: {} }).exitCode).toBe(0);
  expect(readCloudApiKey(folder, {})).toBeNull();

  writeFileSync(join(handed, "berth-api-key"), "handed-api-key\n");
  writeFileSync(join(handed, "berth-shared-key"), "handed-shared-key\n");
  const env = { CREDENTIALS_DIRECTORY: handed };
  expect(readCloudApiKey(folder, env)).toBe("handed-api-key");
  expect(readCloudApiKey(folder, {})).toBeNull();

  Bun.spawnSync([buildBinary(), "keys", "set", "--data", folder], {
    cwd: "/",
    env: {},
    stdin: Buffer.from("apiKey=set-api-key\nsharedKey=set-shared-key\n"),
  });
  expect(readCloudApiKey(folder, {})).toBe("set-api-key");
  expect(readCloudApiKey(folder, env)).toBe("handed-api-key");
});
