import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { Redactor } from "../../../src/cli/support/redact.ts";
import { readArchive } from "../../support/archives.ts";
import { runBerth, runOrThrow, runJsonOrThrow, startServer } from "../../support/run-berth.ts";
import { makeCanary, findSecrets } from "../../support/canaries.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { modeOf, tempFolder } from "../../support/temp-folder.ts";

interface BundleOutput {
  readonly path: string;
  readonly entries: readonly { readonly name: string; readonly bytes: number }[];
}

const MAIN = join(import.meta.dir, "..", "..", "..", "src", "main.ts");

const NAMES = [
  "berth.json",
  "slots.json",
  "status.json",
  "settings.json",
  "doctor.json",
  "files.json",
  "audit.json",
];

const newSite = async (): Promise<string> => {
  const data = join(tempFolder(), "data");
  await makeLicensedSite(data, { product: "cad", licenseKey: "KEY-OF-THE-SITE", slots: 5 });
  return data;
};

/** Writes a bundle and reads it back. */
async function writeBundle(data: string, ...words: string[]): Promise<Map<string, string>> {
  const out = join(tempFolder(), "support.tar");
  await runOrThrow(["support-bundle", out, "--yes", "--data", data, ...words]);
  expect(modeOf(out)).toBe("600");
  return readArchive(out);
}

describe("berth support-bundle", () => {
  test("lists its files, is readable by its owner only, and never overwrites a file", async () => {
    const data = await newSite();
    const out = join(tempFolder(), "support.tar");
    const text = await runOrThrow(["support-bundle", out, "--yes", "--data", data]);
    const lines = text.split("\n");
    NAMES.forEach((name, index) => expect(lines[index]).toMatch(new RegExp(`^ {2}${name} +\\d+ `)));
    expect(text.trimEnd()).toContain(`${out} is written`);
    expect([modeOf(out), [...readArchive(out).keys()].slice(0, NAMES.length)]).toEqual([
      "600",
      NAMES,
    ]);
    const before = readFileSync(out);
    const again = await runBerth(["support-bundle", out, "--yes", "--data", data]);
    expect([again.code, again.stdout]).toEqual([1, ""]);
    expect(again.stderr).toContain(`${out} already exists`);
    expect(readFileSync(out).equals(before)).toBe(true);
    const withoutFile = await runBerth(["support-bundle", "--data", data]);
    expect(withoutFile.code).toBe(2);
    const unwritable = await runBerth([
      "support-bundle",
      join(out, "x.tar"),
      "--yes",
      "--data",
      data,
    ]);
    expect(unwritable.code).toBe(1);
    expect(unwritable.stderr).toContain("berth: hint: ");
  });

  test("prints the name and size of every file as JSON", async () => {
    const data = await newSite();
    const out = join(tempFolder(), "support.tar");
    const { path, entries } = await runJsonOrThrow<BundleOutput>([
      "support-bundle",
      out,
      "--yes",
      "--data",
      data,
    ]);
    expect(path).toBe(out);
    const sizes = entries.map(({ name, bytes }) => [name, bytes]);
    expect(sizes).toEqual(
      [...readArchive(out)].map(([name, text]) => [name, Buffer.byteLength(text)]),
    );
  });

  test("works for a damaged, a missing, an empty and an incomplete folder", async () => {
    const damaged = await newSite();
    writeFileSync(join(damaged, "state.json"), "{}");
    const inDamaged = await writeBundle(damaged);
    expect(inDamaged.get("doctor.json")).toContain('"error"');
    expect(inDamaged.get("status.json")).toContain("state.json");
    expect(inDamaged.get("files.json")).toContain("identity.jwk");
    const absent = join(tempFolder(), "data");
    const inAbsent = await writeBundle(absent);
    expect(inAbsent.get("doctor.json")).toContain("does not exist");
    expect([inAbsent.get("audit.json"), existsSync(absent)]).toEqual(["[]\n", false]);
    expect((await writeBundle(tempFolder())).get("doctor.json")).toContain('"error"');
    const incomplete = await newSite();
    rmSync(join(incomplete, "identity.jwk"));
    expect((await writeBundle(incomplete)).size).toBeGreaterThanOrEqual(NAMES.length);
  });
});

const setPassword = (data: string, file: string): Promise<number> =>
  Bun.spawn([process.execPath, MAIN, "admin", "password", "--data", data], {
    stdin: Bun.file(file),
    stdout: "ignore",
    stderr: "ignore",
  }).exited;

describe("privacy of a support bundle", () => {
  test("hides users, hosts, addresses, keys and passwords of a running and a stopped server", async () => {
    const data = await newSite();
    const secrets = ["user", "host", "info", "api", "shared", "password", "server", "identity"].map(
      makeCanary,
    );
    const [user, host, info, apiKey, sharedKey, password, name, identity] = secrets as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    const addresses = ["192.0.2.77", "2001:db8::77", "fe80::1:77"];
    const config = join(tempFolder(), "berth.toml");
    writeFileSync(
      config,
      `names = [${JSON.stringify(name)}]\nclient_networks = ["127.0.0.0/8", "192.0.2.77/32"]\n`,
    );
    writeFileSync(join(data, `notes of ${user.slice(12, 30)}`), "");
    const server = await startServer(["serve", "--data", data, "--config", config]);
    for (const [n, ip_local] of addresses.entries()) {
      const fields = { user: n === 0 ? user : `${user}${n}`, os_hostname: host, ip_local };
      const reply = await server.post("register", { ...fields, user_info: info });
      expect(reply.status).toBe(200);
    }
    const keys = join(tempFolder(), "keys");
    writeFileSync(keys, `apiKey=${apiKey}\nsharedKey=${sharedKey}\n`);
    await runOrThrow(["keys", "set", keys, "--data", data]);
    const token = (await runOrThrow(["admin", "token", "--name", "ops-token", "--data", data]))
      .trim()
      .split("\n")
      .at(-1);
    writeFileSync(keys, `${password}\n`);
    expect(await setPassword(data, keys)).toBe(0);
    const canaries = [...secrets, token ?? "no token"];
    const plainValues = [
      ...addresses,
      "KEY-OF-THE-SITE",
      hostname(),
      token ?? "",
      user.slice(12, 30),
    ];

    appendFileSync(config, `identity = ${JSON.stringify(identity)}\n`);
    const during = await writeBundle(data, "--config", config);
    expect((await server.stop()).code).toBe(0);
    const after = await writeBundle(data, "--config", config, "--identity", identity);
    for (const entries of [during, after]) {
      for (const [entry, text] of entries) {
        expect(findSecrets(entry, text, canaries)).toEqual([]);
        expect(plainValues.filter((word) => word.length > 3 && text.includes(word))).toEqual([]);
      }
      // The bundle stays useful: three users and one host can be told apart.
      const slots = JSON.parse(entries.get("slots.json") ?? "") as readonly {
        readonly user: string;
        readonly os_hostname: string;
      }[];
      expect(new Set(slots.map((slot) => slot.user)).size).toBe(3);
      expect(new Set(slots.map((slot) => slot.os_hostname)).size).toBe(1);
      expect(entries.get("files.json")).toContain('"file-1"');
    }
  });

  test("hides the names of groups of the sharing rules in its findings", async () => {
    const data = await newSite();
    const rules = join(tempFolder(), "rules.toml");
    const text = '[groups.project-apollo]\nusers = ["ada"]\nlogins = ["ada"]\n';
    writeFileSync(rules, `${text}[[rule]]\nproduct = "cad"\ndeny = ["project-apollo"]\n`);
    await runOrThrow(["rules", "apply", rules, "--data", data]);
    const server = await startServer(["serve", "--data", data]);
    const entries = await writeBundle(data);
    expect((await server.stop()).code).toBe(0);
    for (const [, entry] of entries) expect(entry).not.toContain("project-apollo");
    for (const name of ["status.json", "doctor.json"])
      expect(entries.get(name)).toContain("(group-1)");
  });

  test("hides the names of tokens and administrators and every path of the site", async () => {
    const uniqueName = (kind: string): string => `${kind}-${crypto.randomUUID().slice(0, 8)}`;
    const [customer, token, admin, user, settings, secret] = [
      uniqueName("customer"),
      uniqueName("tok"),
      uniqueName("boss"),
      uniqueName("clerk"),
      uniqueName("conf"),
      uniqueName("password"),
    ] as [string, string, string, string, string, string];
    const root = join(tempFolder(), customer);
    const data = join(root, "floating");
    mkdirSync(root);
    await makeLicensedSite(data, { product: "cad", slots: 5 });
    await runOrThrow(["tls", "init", "--data", data]);
    const config = join(tempFolder(), `${settings}.toml`);
    // A network this wide causes more findings in status and doctor.
    const certificate = join(data, "tls", "server.pem");
    const program = `on_event = ["${root}/notify", "${secret}"]\nevent_syslog = "${customer}:514"\n`;
    writeFileSync(
      config,
      `client_networks = ["0.0.0.0/0"]\ntls_cert = "${certificate}"\n${program}`,
    );
    const words = ["--config", config, "--listen-tls", "127.0.0.1:0"];
    const server = await startServer(["serve", "--data", data, ...words]);
    await runOrThrow(["admin", "token", "--name", token, "--days", "never", "--data", data]);
    const password = { stdin: "correct horse battery\n" };
    await runOrThrow(["admin", "password", "--name", admin, "--data", data], password);
    await runOrThrow(["admin", "user", "add", user, "--data", data], password);
    const status = await runOrThrow(["status", "--data", data]);
    expect(status.replaceAll(/\s+/g, " ")).toContain(`The token ${token} never expires`);

    const during = await writeBundle(data, ...words);
    expect((await server.stop()).code).toBe(0);
    const after = await writeBundle(data, ...words);
    const damaged = join(data, "state.json");
    writeFileSync(damaged, "{}");
    const broken = await writeBundle(data, ...words);
    for (const [when, entries] of Object.entries({ during, after, broken })) {
      for (const [entry, text] of entries) {
        const leaked = [customer, token, admin, user, settings, secret, root].filter((word) =>
          text.includes(word),
        );
        expect([when, entry, leaked]).toEqual([when, entry, []]);
      }
    }
    // The findings are still readable.
    expect(during.get("status.json")).toMatch(/The token name-\d+ never expires/);
    expect(during.get("doctor.json")).toMatch(/The token name-\d+ never expires/);
    expect(broken.get("doctor.json")).toMatch(/folder-1\/state\.json/);
  });

  test("hides the administrator's name in every line of a server's log", async () => {
    const data = await newSite();
    const words = ["serve", "--data", data, "--log", "requests"];
    const server = await startServer(words);
    const admin = `ops-${crypto.randomUUID()}`;
    const token = (await runOrThrow(["admin", "token", "--name", admin, "--data", data]))
      .trim()
      .split("\n")
      .at(-1);
    const path = `${server.url}/api/admin/v1/status`;
    expect((await fetch(path)).status).toBe(401);
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    expect((await fetch(path, bearer)).status).toBe(200);
    const { stderr } = await server.stop();
    expect(stderr).toContain(admin);
    const redacted = new Redactor().redactLog(stderr);
    expect(redacted).not.toContain(admin);
    expect(redacted).toContain('"actor":"name-');
    expect(redacted.split("\n").length).toBe(stderr.split("\n").length);
  });
});

describe("Redactor", () => {
  test("replaces equal values by the same pseudonym and others by another", () => {
    const redactor = new Redactor();
    const slots = [
      { user: "ada", os_hostname: "ws-17", ip_local: "10.1.2.3" },
      { user: "bob", os_hostname: "ws-17", ip_local: "10.1.2.4" },
    ];
    expect(redactor.redactValue(slots)).toEqual([
      { user: "user-1", os_hostname: "host-1", ip_local: "address-1" },
      { user: "user-2", os_hostname: "host-1", ip_local: "address-2" },
    ]);
    expect(redactor.redactText("ada at 10.1.2.3:443 asked bob (ws-17), adam did not")).toBe(
      "user-1 at address-1:443 asked user-2 (host-1), adam did not",
    );
    const line = '{"actor":"ada@10.1.2.3","peer":"10.1.2.4","status":200}';
    expect(redactor.redactLog(line)).toBe(
      '{"actor":"user-1@address-1","peer":"address-2","status":200}',
    );
  });

  test("replaces what the audit log says of a user who waits", () => {
    const entry = {
      user: "ada",
      detail: { place: 7, os_hostname: "ws-17", login: "ada.l", reserved_group: "sim" },
    };
    expect(new Redactor().redactValue(entry)).toEqual({
      user: "user-1",
      detail: { place: 7, os_hostname: "host-1", login: "name-1", reserved_group: "group-1" },
    });
  });

  test("leaves short names and Berth's own words in a text unchanged", () => {
    const redactor = new Redactor();
    const users = ["a", "is", "berth", "Service", "user-1"].map((user) => ({ user }));
    expect(redactor.redactValue(users)).toEqual(
      [1, 2, 3, 4, 5].map((n) => ({ user: `user-${n}` })),
    );
    const text = "a sync takes 3 ms; berth service install is a way";
    expect(redactor.redactText(text)).toBe(text);
    // A user whose name equals another user's pseudonym gets a pseudonym too.
    expect(redactor.redactText("user-1 asked")).toBe("user-5 asked");
  });

  test("redacts with 100,000 names about as fast as with ten", () => {
    const people = (count: number) =>
      Array.from({ length: count }, (_, n) => ({ user: `person-${n}`, at: "now" }));
    const [few, many] = [new Redactor(), new Redactor()];
    few.redactValue(people(10));
    many.redactValue(people(100_000));
    const log = people(2_000).map(({ user }) => `${user} asked for ${user}.`);
    expect(many.redactLog(log.join("\n"))).not.toContain("person");
    const fastest = (redactor: Redactor): number =>
      Math.min(
        ...Array.from({ length: 5 }, () => {
          const startedAt = performance.now();
          redactor.redactLog(log.join("\n"));
          return performance.now() - startedAt;
        }),
      );
    // One pass over the text for each name would take ten thousand times as long.
    expect(fastest(many) / fastest(few)).toBeLessThan(200);
  });

  test("replaces a long name inside other words too", () => {
    const redactor = new Redactor();
    redactor.pseudonymFor("user", "lovelace");
    expect(redactor.redactText("lovelace-pc.local, /home/lovelace2")).toBe(
      "user-1-pc.local, /home/user-12",
    );
  });

  test("replaces addresses in any sentence, but not loopback, times and versions", () => {
    const redactor = new Redactor();
    expect(redactor.redactText("from fe80::1:2: no; [2001:db8::1]:8080, ::ffff:10.0.0.1.")).toBe(
      "from address-1: no; [address-2]:8080, address-3.",
    );
    expect(redactor.redactText("mac aa:bb:cc:dd:ee:0f at 10.0.0.0/8")).toBe(
      "mac address-4 at address-5/8",
    );
    const unchanged =
      "127.0.0.1:8080, 0.0.0.0:80, ::1, [::]:80, 12:34:56, 1.4.4, 2026-01-01T10:00:00Z";
    expect(redactor.redactText(unchanged)).toBe(unchanged);
    expect(redactor.redactText("in use by process 7 (curl -H secret)")).toBe(
      "in use by process 7 (…)",
    );
  });
});
