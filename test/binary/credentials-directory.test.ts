import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The API key in a cloud request; null if no cloud request could be made. */
function readCloudApiKey(folder: string, env: Record<string, string>): unknown {
  const args = ["license", "request", "--license-key", "K", "--json", "--data", folder];
  const { stdout } = Bun.spawnSync([buildBinary(), ...args], { cwd: "/", env });
  const { cloud_payload } = JSON.parse(stdout.toString()) as { cloud_payload: string | null };
  if (cloud_payload === null) return null;
  const payload = JSON.parse(Buffer.from(cloud_payload, "base64").toString()) as object;
  return (payload as { readonly api_key: string }).api_key;
}

test("cloud keys in CREDENTIALS_DIRECTORY take precedence over those of berth keys set", () => {
  const root = tempFolder();
  const [folder, credentials] = [join(root, "data"), join(root, "credentials")];
  mkdirSync(folder, { mode: 0o700 });
  mkdirSync(credentials);
  const createSite = ["admin", "token", "--data", folder];
  expect(Bun.spawnSync([buildBinary(), ...createSite], { cwd: "/", env: {} }).exitCode).toBe(0);
  expect(readCloudApiKey(folder, {})).toBeNull();

  writeFileSync(join(credentials, "berth-api-key"), "systemd-api-key\n");
  writeFileSync(join(credentials, "berth-shared-key"), "systemd-shared-key\n");
  const env = { CREDENTIALS_DIRECTORY: credentials };
  expect(readCloudApiKey(folder, env)).toBe("systemd-api-key");
  expect(readCloudApiKey(folder, {})).toBeNull();

  Bun.spawnSync([buildBinary(), "keys", "set", "--data", folder], {
    cwd: "/",
    env: {},
    stdin: Buffer.from("apiKey=set-api-key\nsharedKey=set-shared-key\n"),
  });
  expect(readCloudApiKey(folder, {})).toBe("set-api-key");
  expect(readCloudApiKey(folder, env)).toBe("systemd-api-key");
});
