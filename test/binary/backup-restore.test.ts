import { describe, expect, onTestFinished, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildBinary, runBinary, startBinary, type ServerProcess } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { contentsOf, modeOf, tempFolder } from "../support/temp-folder.ts";

const HASH = /^[0-9a-f]{64}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const REPLACED_FOLDER = /^replaced-\d{8}T\d{6}Z-[0-9a-f]{8}$/;

function runBerth(...words: string[]) {
  const child = Bun.spawnSync([buildBinary(), ...words], { cwd: "/", env: {} });
  return { code: child.exitCode, out: child.stdout.toString(), err: child.stderr.toString() };
}

function runJsonOrThrow(...words: string[]): Record<string, unknown> {
  const { code, out, err } = runBerth(...words, "--json");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return JSON.parse(out) as Record<string, unknown>;
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

/** A server at work on which ada was registered before a backup, and bob and cem after it. */
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

/** What every answer as JSON tells of what was walked. */
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
  test("copies the folder of a running server and tells what is in the copy", async () => {
    const [folder, out] = [join(tempFolder(), "data"), tempFolder()];
    await makeLicensedSite(folder, { product: "cad" });
    const server = await serve(folder);
    await register(server, "ada");
    const path = join(out, "site.berth");
    const made = runJsonOrThrow("backup", path, "--data", folder);
    const bytes = readFileSync(path).length;
    expect(made).toEqual({ ...FACTS, ...BACKUP_FACTS, path, bytes, checkpoint_generations: [] });
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

  test("says to a person where it is, what was checked and what to do with it", async () => {
    const folder = join(tempFolder(), "data");
    await makeLicensedSite(folder, { product: "cad" });
    const path = join(tempFolder(), "site.berth");
    const { code, out, err } = runBerth("backup", path, "--data", folder);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(new RegExp(`^checked +${path}\ncreated +\\S+Z by berth `));
    expect(out).toEndWith(
      `\n\n${path} is written and checked. It contains the appliance's key: keep it safe.\n`,
    );
  });

  test("never takes the place of a file, nor half of one", async () => {
    const folder = join(tempFolder(), "data");
    await makeLicensedSite(folder, { product: "cad" });
    const path = join(tempFolder(), "site.berth");
    writeFileSync(path, "an older one");
    const refused = runBerth("backup", path, "--data", folder);
    expect(refused).toEqual({
      code: 1,
      out: "",
      err: `berth: error: ${path} already exists\nberth: hint: choose a new file name; backups are not overwritten\n`,
    });
    expect(readFileSync(path, "utf8")).toBe("an older one");
  });

  test("by several processes to one file at once leaves one whole backup", async () => {
    const folder = join(tempFolder(), "data");
    const file = join(tempFolder(), "site.berth");
    await makeLicensedSite(folder, { product: "cad", slots: 5 });
    const all = await Promise.all(
      Array.from({ length: 6 }, () => runBinary(["backup", file, "--data", folder])),
    );
    // One that begins after another has finished is refused, as every later one is.
    const failures = all.filter(({ code, stderr }) => code !== 0 && !/already exists/.test(stderr));
    expect(failures).toEqual([]);
    expect(all.some(({ code }) => code === 0)).toBe(true);
    expect(readdirSync(dirname(file))).toEqual(["site.berth"]);
    expect(runBerth("verify", file).code).toBe(0);
  });
});

describe("berth restore", () => {
  test("is refused while a server works there, and that server is named", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    const { code, out, err } = runBerth("restore", file, "--data", folder, "--accept-loss");
    expect([code, out]).toEqual([1, ""]);
    const [said, hint] = err.split("\n");
    expect(said).toStartWith(`berth: error: ${folder} is in use by process ${server.pid} (`);
    expect(hint).toBe("berth: hint: stop that process, or specify another folder with --data DIR");
    expect(await listUsers(server)).toEqual(["ada", "bob", "cem"]);
  });

  test("is refused when changes would be lost, in these words, and changes nothing", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    await server.stop();
    const before = contentsOf(folder);
    const { code, out, err } = runBerth("restore", file, "--data", folder);
    expect({ code, out, err }).toEqual({
      code: 1,
      out: "",
      err:
        `berth: error: ${file} is older than ${folder}: 2 changes since then would be lost (from line 6 on)\n` +
        `berth: hint: berth restore --accept-loss restores anyway and keeps the current contents of ${folder}\n`,
    });
    expect(contentsOf(folder)).toEqual({ ...before, lock: expect.anything() });
  });

  test("--accept-loss goes on, says what is lost, and keeps what it replaces", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    await server.stop();
    const before = contentsOf(folder);
    const { code, out, err } = runBerth("restore", file, "--data", folder, "--accept-loss");
    expect([code, err]).toEqual([0, "berth: warning: 2 changes lost\n"]);
    const kept = readdirSync(folder).filter((name) => REPLACED_FOLDER.test(name));
    expect(kept).toHaveLength(1);
    const replaced = join(folder, kept[0] ?? "");
    expect(out).toContain(
      `\n\nThe backup is restored in ${folder}.\n` +
        "The restore is recorded in the audit log, and the next license request reports it to the vendor.\n" +
        `The previous contents are in ${replaced}.\n`,
    );
    for (const [name, held] of Object.entries(contentsOf(replaced)))
      expect(held).toBe(before[name] ?? "");
    for (const name of ["state.json", "identity.jwk", "history"]) {
      expect(existsSync(join(replaced, name))).toBe(true);
    }
    const again = await serve(folder);
    expect(await listUsers(again)).toEqual(["ada"]);
    expect(await again.stop()).toBe(0);
    expect(runJsonOrThrow("verify", "--data", folder)).toMatchObject({ seq: 6, audit_seq: 6 });
    const record = readdirSync(join(folder, "history")).map((name) =>
      readFileSync(join(folder, "history", name), "utf8"),
    );
    expect(record.join("")).toContain('{"type":"Restored"');
  });

  test("as JSON it tells the lineage, what was lost and where the rest is", async () => {
    const { folder, file, server } = await makeBackedUpSite();
    await server.stop();
    const words = ["restore", file, "--data", folder, "--accept-loss", "--json"];
    const { code, out, err } = runBerth(...words);
    expect([code, err]).toEqual([0, ""]);
    const { replaced_folder: replaced, ...reply } = JSON.parse(out) as {
      readonly replaced_folder: string;
    };
    expect(reply).toEqual({
      ...FACTS,
      ...BACKUP_FACTS,
      path: folder,
      checkpoint_generations: [],
      lineage: expect.stringMatching(/^[0-9a-f]{32}$/),
      lost_changes: 2,
    });
    expect(dirname(replaced)).toBe(folder);
    expect(basename(replaced)).toMatch(REPLACED_FOLDER);
  });

  test("into a folder that is not there yet nothing is lost, and nothing is kept", async () => {
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
  const flip = (path: string, place: number): void => {
    const bytes = readFileSync(path);
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };

  test("walks a folder, stopped or served, and says so to a person", async () => {
    const { folder, server } = await makeBackedUpSite();
    const words = ["verify", "--data", folder];
    expect(runBerth(...words)).toMatchObject({ code: 0, err: "" });
    await server.stop();
    const before = contentsOf(folder);
    const { code, out, err } = runBerth(...words);
    expect([code, err]).toEqual([0, ""]);
    expect(out.replaceAll(/ {2,}/g, "  ").split("\n")).toEqual([
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
    "a flipped byte in %s is exit code 78, with the file's name",
    async (name) => {
      const { folder, server } = await makeBackedUpSite();
      await server.stop();
      const [file] = name === "history" ? readdirSync(join(folder, name)) : [""];
      const path = join(folder, name, file ?? "");
      flip(path, 400);
      const before = contentsOf(folder);
      const { code, out, err } = runBerth("verify", "--data", folder, "--json");
      expect(code).toBe(78);
      const { message, hint } = JSON.parse(out) as { message: string; hint: string };
      expect(message).toStartWith(`${path} `);
      expect(err).toBe(`berth: error: ${message}\nberth: hint: ${hint}\n`);
      expect(hint).not.toBe("");
      expect(contentsOf(folder)).toEqual(before);
    },
  );

  test("a flipped byte in a backup is exit code 1, and such a file is not restored", async () => {
    const { file } = await makeBackedUpSite();
    const folder = join(tempFolder(), "new");
    flip(file, 1_500);
    for (const words of [
      ["verify", file],
      ["restore", file, "--data", folder],
    ]) {
      const { code, out, err } = runBerth(...words);
      expect([code, out]).toEqual([1, ""]);
      expect(err).toStartWith(`berth: error: ${file} is damaged`);
      expect(err).toEndWith("\nberth: hint: use another backup file\n");
    }
    expect(existsSync(folder)).toBe(false);
  });
});
