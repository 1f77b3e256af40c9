import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildBinary, runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { contentsOf, modeOf, tempFolder } from "../support/temp-folder.ts";

const HASH = /^[0-9a-f]{64}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const REPLACED_FOLDER = /^replaced-\d{8}T\d{6}Z-[0-9a-f]{8}$/;

function runBerth(...args: string[]) {
  const child = Bun.spawnSync([buildBinary(), ...args], { cwd: "/", env: {} });
  return {
    code: child.exitCode,
    stdout: child.stdout.toString(),
    stderr: child.stderr.toString(),
  };
}

function runJsonOrThrow(...args: string[]): Record<string, unknown> {
  const { code, stdout, stderr } = runBerth(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function serve(folder: string): Promise<ServerProcess> {
  const server = await startBinary("serve", "--data", folder, "--listen", "127.0.0.1:0");
  onTestFinished(() => server.kill());
  return server;
}

async function register(server: ServerProcess, user: string): Promise<void> {
  const response = await fetch(`${server.url}/api/v4/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user }),
  });
  expect(response.status).toBe(200);
}

async function listUsers(server: ServerProcess): Promise<string[]> {
  const response = await fetch(`${server.url}/api/admin/v1/registrations`);
  return ((await response.json()) as { user: string }[]).map(({ user }) => user);
}

interface BackedUpSite {
  readonly folder: string;
  readonly file: string;
  readonly server: ServerProcess;
}

/** A running server: ada was registered before the backup, bob and cem after it. */
async function makeBackedUpSite(): Promise<BackedUpSite> {
  const [folder, file] = [join(tempFolder(), "data"), join(tempFolder(), "site.berth")];
  await makeLicensedSite(folder, { product: "cad", slots: 5 });
  const server = await serve(folder);
  await register(server, "ada");
  expect(runBerth("backup", file, "--data", folder).code).toBe(0);
  await register(server, "bob");
  await register(server, "cem");
  return { folder, file, server };
}

/** The facts about the checked files that every JSON output has. */
const FACTS = {
  ok: true,
  kind: "site",
  appliance: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{16}$/),
  licenses: 1,
  registrations: 1,
  seq: 5,
  checkpoint_seq: 4,
  journal_segments: 1,
  audit_seq: 5,
  audit_sum: expect.stringMatching(HASH),
  audit_from: 1,
  audit_to: 4,
  audit_lines: 4,
  audit_files: 1,
  audit_unfinished_bytes: 0,
  audit_gaps: [],
  checkpoint_generations: [0],
  torn_bytes: 0,
  torn_files: [],
};
const BACKUP_FACTS = { created_at: expect.stringMatching(TIME), created_by: expect.any(String) };

describe("berth backup", () => {
  test("copies the folder of a running server and reports the contents of the copy", async () => {
    const [folder, out] = [join(tempFolder(), "data"), tempFolder()];
    await makeLicensedSite(folder, { product: "cad" });
    const server = await serve(folder);
    await register(server, "ada");
    const path = join(out, "site.berth");
    const created = runJsonOrThrow("backup", path, "--data", folder);
    const bytes = readFileSync(path).length;
    expect(created).toEqual({ ...FACTS, ...BACKUP_FACTS, path, bytes, checkpoint_generations: [] });
    expect(modeOf(path)).toBe("600");
    expect(readdirSync(out)).toEqual(["site.berth"]);
    expect(await listUsers(server)).toEqual(["ada"]);
    expect(runJsonOrThrow("verify", path)).toEqual({
      ...FACTS,
      ...BACKUP_FACTS,
      path,
      checkpoint_generations: [],
    });
    expect(runJsonOrThrow("verify", "--data", folder)).toEqual({ ...FACTS, path: folder });
  });

  test("prints the path of the backup, what was checked, and that it must be kept safe", async () => {
    const folder = join(tempFolder(), "data");
    await makeLicensedSite(folder, { product: "cad" });
    const path = join(tempFolder(), "site.berth");
    const { code, stdout, stderr } = runBerth("backup", path, "--data", folder);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^checked +${path}\ncreated +\\S+Z by berth `));
    expect(stdout).toEndWith(
      `\n\n${path} is written and checked. It contains the appliance's key: keep it safe.\n`,
    );
  });

  test("refuses to overwrite an existing file", async () => {
    const folder = join(tempFolder(), "data");
    await makeLicensedSite(folder, { product: "cad" });
    const path = join(tempFolder(), "site.berth");
    writeFileSync(path, "an older backup");
    const refused = runBerth("backup", path, "--data", folder);
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: `berth: error: ${path} already exists\nberth: hint: choose a new file name; backups are not overwritten\n`,
    });
    expect(readFileSync(path, "utf8")).toBe("an older backup");
  });

  test("leaves one complete backup when six processes write to the same file at once", async () => {
    const folder = join(tempFolder(), "data");
    const file = join(tempFolder(), "site.berth");
    await makeLicensedSite(folder, { product: "cad", slots: 5 });
    const all = await Promise.all(
      Array.from({ length: 6 }, () => runBinary(["backup", file, "--data", folder])),
    );
    // A process that starts after another has finished is refused, because the file exists by then.
    const failures = all.filter(({ code, stderr }) => code !== 0 && !/already exists/.test(stderr));
    expect(failures).toEqual([]);
    expect(all.some(({ code }) => code === 0)).toBe(true);
    expect(readdirSync(dirname(file))).toEqual(["site.berth"]);
    expect(runBerth("verify", file).code).toBe(0);
  });
});

describe("berth restore", () => {
  test("is refused while a server uses the folder, and names that server's process", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    const { code, stdout, stderr } = runBerth("restore", file, "--data", folder, "--accept-loss");
    expect([code, stdout]).toEqual([1, ""]);
    const [error, hint] = stderr.split("\n");
    expect(error).toStartWith(`berth: error: ${folder} is in use by process ${server.pid} (`);
    expect(hint).toBe("berth: hint: stop that process, or specify another folder with --data DIR");
    expect(await listUsers(server)).toEqual(["ada", "bob", "cem"]);
  });

  test("is refused with the number of changes that would be lost, and changes nothing", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    await server.stop();
    const before = contentsOf(folder);
    const { code, stdout, stderr } = runBerth("restore", file, "--data", folder);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `berth: error: ${file} is older than ${folder}: 2 changes since then would be lost (from line 6 on)\n` +
        `berth: hint: berth restore --accept-loss restores anyway and keeps the current contents of ${folder}\n`,
    });
    expect(contentsOf(folder)).toEqual({ ...before, lock: expect.anything() });
  });

  test("with --accept-loss restores, reports the lost changes and keeps the replaced files", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    await server.stop();
    const before = contentsOf(folder);
    const { code, stdout, stderr } = runBerth("restore", file, "--data", folder, "--accept-loss");
    expect([code, stderr]).toEqual([0, "berth: warning: 2 changes lost\n"]);
    const replacedFolders = readdirSync(folder).filter((name) => REPLACED_FOLDER.test(name));
    expect(replacedFolders).toHaveLength(1);
    const replaced = join(folder, replacedFolders[0] ?? "");
    expect(stdout).toContain(
      `\n\nThe backup is restored in ${folder}.\n` +
        "The restore is recorded in the audit log, and the next license request reports it to the vendor.\n" +
        `The previous contents are in ${replaced}.\n`,
    );
    for (const [name, content] of Object.entries(contentsOf(replaced)))
      expect(content).toBe(before[name] ?? "");
    for (const name of ["state.json", "identity.jwk", "history"]) {
      expect(existsSync(join(replaced, name))).toBe(true);
    }
    const again = await serve(folder);
    expect(await listUsers(again)).toEqual(["ada"]);
    expect(await again.stop()).toBe(0);
    expect(runJsonOrThrow("verify", "--data", folder)).toMatchObject({ seq: 6, audit_seq: 6 });
    const auditFiles = readdirSync(join(folder, "history")).map((name) =>
      readFileSync(join(folder, "history", name), "utf8"),
    );
    expect(auditFiles.join("")).toContain('{"type":"Restored"');
  });

  test("with --json reports the lineage, the lost changes and the folder of the replaced files", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    await server.stop();
    const args = ["restore", file, "--data", folder, "--accept-loss", "--json"];
    const { code, stdout, stderr } = runBerth(...args);
    expect([code, stderr]).toEqual([0, ""]);
    const { replaced_folder: replaced, ...reply } = JSON.parse(stdout) as {
      readonly replaced_folder: string;
    };
    expect(reply).toEqual({
      ...FACTS,
      ...BACKUP_FACTS,
      path: folder,
      checkpoint_generations: [],
      lineage: expect.stringMatching(/^[0-9a-f]{32}$/),
      lost_changes: 2,
      licenses_for_other_hosts: [],
    });
    expect(dirname(replaced)).toBe(folder);
    expect(basename(replaced)).toMatch(REPLACED_FOLDER);
  });

  test("into a new folder loses no changes and keeps no replaced files", async () => {
    const { file, server } = await makeBackedUpSite();
    await server.stop();
    const folder = join(tempFolder(), "new");
    const restored = runJsonOrThrow("restore", file, "--data", folder);
    expect(restored).toMatchObject({
      path: folder,
      replaced_folder: null,
      lost_changes: 0,
      registrations: 1,
    });
    expect(modeOf(folder)).toBe("700");
    expect(await listUsers(await serve(folder))).toEqual(["ada"]);
  });
});

describe("berth verify", () => {
  const flipBitAt = (path: string, offset: number): void => {
    const bytes = readFileSync(path);
    bytes[offset] = (bytes[offset] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };

  test("checks a served or stopped folder, prints the result and changes nothing", async () => {
    const { folder, server } = await makeBackedUpSite();
    const args = ["verify", "--data", folder];
    expect(runBerth(...args)).toMatchObject({ code: 0, stderr: "" });
    await server.stop();
    const before = contentsOf(folder);
    const { code, stdout, stderr } = runBerth(...args);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.replaceAll(/ {2,}/g, "  ").split("\n")).toEqual([
      `checked  ${folder}`,
      expect.stringMatching(/^appliance {2}\S{16} \(site\); its key matches$/),
      expect.stringMatching(
        /^state {2}checksum matches; 1 license, 3 registrations; up to line 7$/,
      ),
      "journal  no lines since that state",
      "audit log  lines 1 to 7 in 1 file, chained",
      expect.stringMatching(/^chain ends {2}line 7 of the audit log, [0-9a-f]{64}$/),
      "older state  state-4.json and the journal lead to this state",
      "",
    ]);
    expect(contentsOf(folder)).toEqual(before);
  });

  test.each(["state.json", "state-4.json", "journal-5.jsonl", "history"])(
    "exits with 78 and names the file after a bit was flipped in %s",
    async (name) => {
      const { folder, server } = await makeBackedUpSite();
      await server.stop();
      const [file] = name === "history" ? readdirSync(join(folder, name)) : [""];
      const path = join(folder, name, file ?? "");
      flipBitAt(path, 400);
      const before = contentsOf(folder);
      const { code, stdout, stderr } = runBerth("verify", "--data", folder, "--json");
      expect(code).toBe(78);
      const { message, hint } = JSON.parse(stdout) as { message: string; hint: string };
      expect(message).toStartWith(`${path} `);
      expect(stderr).toBe(`berth: error: ${message}\nberth: hint: ${hint}\n`);
      expect(hint).not.toBe("");
      expect(contentsOf(folder)).toEqual(before);
    },
  );

  test("exits with 1 after a bit was flipped in a backup, and berth restore refuses that backup", async () => {
    const { file } = await makeBackedUpSite();
    const folder = join(tempFolder(), "new");
    flipBitAt(file, 1_500);
    for (const args of [
      ["verify", file],
      ["restore", file, "--data", folder],
    ]) {
      const { code, stdout, stderr } = runBerth(...args);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toStartWith(`berth: error: ${file} is damaged`);
      expect(stderr).toEndWith("\nberth: hint: use another backup file\n");
    }
    expect(existsSync(folder)).toBe(false);
  });
});
