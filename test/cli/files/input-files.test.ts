import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  DOCUMENT_KINDS,
  type DocumentKind,
} from "../../../src/license/documents/document-kinds.ts";
import { buildBinary } from "../../support/binary.ts";
import { runBerth, runOrThrow } from "../../support/run-berth.ts";
import { AS_NOBODY, canRunAsNobody, isRoot } from "../../support/other-user.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";

const VECTORS = join(import.meta.dir, "..", "..", "vectors", "documents");

const root = mkdtempSync(join(tmpdir(), "berth-input-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const inRoot = (name: string): string => join(root, name);
const data = ["--data", inRoot("site")];
const desk = ["--dir", inRoot("desk")];
const backup = inRoot("site.berth");

beforeAll(async () => {
  await makeLicensedSite(inRoot("site"), { product: "cad" });
  await runOrThrow([
    "vendor",
    "init",
    "--name",
    "Acme",
    ...desk,
    "--product",
    "cad",
    "--no-passphrase",
  ]);
  await runOrThrow(["backup", backup, ...data]);
  writeFileSync(inRoot("empty.jwt"), "");
  writeFileSync(inRoot("blank.jwt"), " \n\n");
  writeFileSync(inRoot("letter.jwt"), "Dear customer,\nplease find your license attached.\n");
  writeFileSync(inRoot("picture.jwt"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff, 0xfe]));
  mkdirSync(inRoot("folder.jwt"));
  for (const kind of DOCUMENT_KINDS)
    copyFileSync(join(VECTORS, `good-${kind}.jwt`), inRoot(`${kind}.jwt`));
});

const CONFIRM_FLAGS = ["--license-key", "K", "--activation-code", "C"];

/** Every command that reads a signed document, by the kind it takes. */
const COMMANDS: readonly [string, DocumentKind, (file: string) => string[]][] = [
  ["license add", "license", (file) => ["license", "add", file, ...data]],
  ["trust add", "trust", (file) => ["trust", "add", file, ...data, "--yes"]],
  ["clock repair", "time", (file) => ["clock", "repair", file, ...data]],
  [
    "airgap add",
    "policy",
    (file) => ["airgap", "add", "--policy", file, "--license-key", "K", "--code", "C", ...data],
  ],
  ["vendor issue", "request", (file) => ["vendor", "issue", ...desk, "--request", file]],
  ["usage acknowledge", "ack", (file) => ["usage", "acknowledge", file, ...data]],
  ["vendor receive", "receipt", (file) => ["vendor", "receive", file, ...desk]],
  ["vendor accept", "trust", (file) => ["vendor", "accept", file, ...desk]],
  [
    "vendor key certify",
    "key-request",
    (file) => ["vendor", "key", "certify", file, "--root", `${inRoot("desk")}-root`, "--yes"],
  ],
  [
    "vendor confirm",
    "policy",
    (file) => ["vendor", "confirm", ...desk, "--policy", file, ...CONFIRM_FLAGS],
  ],
];

const NAMES: Readonly<Record<DocumentKind, string>> = {
  trust: "a trust document",
  request: "a license request",
  license: "a license",
  policy: "a policy",
  lease: "a lease",
  receipt: "a receipt",
  time: "a time document",
  usage: "a usage statement",
  ack: "an acknowledgement",
  key: "the certificate of an issuing key",
  "key-request": "a request for the certificate of a key",
};

const NEXT_STEPS: Readonly<Record<DocumentKind, string>> = {
  trust: "add it with berth trust add",
  request: "send it to the vendor, who answers it with berth vendor issue",
  license: "install it with berth license add",
  policy: "install it with berth airgap add",
  lease: "it is for the application that requested it",
  receipt: "send it to the vendor, who records it with berth vendor receive",
  time: "use it with berth clock repair",
  usage: "send it to the vendor, who records it with berth vendor receive",
  ack: "use it with berth usage acknowledge",
  key: "the vendor accepts it with berth vendor accept",
  "key-request": "the vendor certifies it with berth vendor key certify",
};

/** Runs a command that must fail with exit code 1 and an empty stdout; returns its stderr. */
async function runRefused(words: string[], stdin?: string): Promise<string> {
  const { code, stdout, stderr } = await runBerth(words, { ...(stdin !== undefined && { stdin }) });
  expect([code, stdout]).toEqual([1, ""]);
  return stderr;
}

const errorOf = (stderr: string): string => /^berth: error: (.*)$/m.exec(stderr)?.[1] ?? stderr;

/** Kinds that a command takes besides its own. */
const ALSO_TAKEN: Readonly<Record<string, DocumentKind>> = {
  "vendor receive": "usage",
  "vendor accept": "key",
};

describe.each(COMMANDS)("berth %s", (command, kind, words) => {
  const alsoTaken = ALSO_TAKEN[command];
  const expected = [kind, alsoTaken].flatMap((name) => (name ? [NAMES[name]] : [])).join(" or ");
  const error = async (file: string) => errorOf(await runRefused(words(inRoot(file))));

  test("says that an empty file is empty", async () => {
    expect(await error("empty.jwt")).toBe(`${inRoot("empty.jwt")} is empty`);
    expect(await error("blank.jwt")).toBe(`${inRoot("blank.jwt")} is empty`);
  });

  test("says that a large file is too large", async () => {
    const message = errorOf(await runRefused(words(buildBinary())));
    expect(message).toBe(`${buildBinary()} is too large to be ${expected}`);
  });

  test("says that a missing file does not exist", async () => {
    expect(await error("nofile.jwt")).toBe(`${inRoot("nofile.jwt")} does not exist`);
    expect(await error("letter.jwt/in")).toBe(`${inRoot("letter.jwt/in")} does not exist`);
  });

  test("says that a folder is a folder", async () => {
    expect(await error("folder.jwt")).toBe(`${inRoot("folder.jwt")} is a folder`);
  });

  test("refuses a file of other text or of binary data", async () => {
    expect(await error("letter.jwt")).toBe(`${inRoot("letter.jwt")} is not ${expected}`);
    expect(await error("picture.jwt")).toBe(
      `${inRoot("picture.jwt")} is not ${expected}: it contains binary data`,
    );
  });

  test("names berth restore for a backup", async () => {
    const stderr = await runRefused(words(backup));
    expect(errorOf(stderr)).toBe(`${backup} is not ${expected}: it is an archive`);
    expect(stderr).toContain("berth: hint: restore a backup with berth restore\n");
  });

  test.each(DOCUMENT_KINDS.filter((other) => other !== kind && other !== alsoTaken))(
    "names the kind and the right command for a document of kind %s",
    async (other) => {
      const file = inRoot(`${other}.jwt`);
      const message = errorOf(await runRefused(words(file)));
      expect(message).toStartWith(`${file} is ${NAMES[other]}`);
      expect(message).toContain(`: ${NEXT_STEPS[other]}`);
    },
  );
});

describe.each([
  ["restore", ["restore"]],
  ["verify", ["verify"]],
  ["move in", ["move", "in"]],
  ["audit verify", ["audit", "verify"]],
  ["pair join", ["pair", "join"]],
])("berth %s", (_name, words) => {
  test("refuses a pipe, which it would have to read twice, without waiting for a writer", async () => {
    const pipe = inRoot(`${words.join("-")}.pipe`);
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    // A process of its own: a wait at the pipe would stop this one.
    const child = Bun.spawn([buildBinary(), ...words, pipe], { stderr: "pipe", env: {} });
    const stderr = child.stderr.text();
    // A writer ends the wait, if there is one.
    const writer = Bun.spawn(["sh", "-c", 'exec 3>"$1"', "sh", pipe]);
    const code = await child.exited;
    writer.kill();
    expect([code, errorOf(await stderr)]).toEqual([1, `${pipe} is not a regular file`]);
  });
});

test("berth license add names standard input when it is empty", async () => {
  const stderr = await runRefused(["license", "add", "-", ...data], "");
  expect(errorOf(stderr)).toBe("standard input is empty");
});

test("berth license add refuses a file of the wrong kind before it opens the data folder", async () => {
  const nowhere = ["--data", inRoot("nowhere")];
  const stderr = await runRefused(["license", "add", inRoot("trust.jwt"), ...nowhere]);
  expect(errorOf(stderr)).toBe(
    `${inRoot("trust.jwt")} is a trust document: add it with berth trust add`,
  );
});

test("berth vendor inspect distinguishes an empty file, a folder, a missing file and text", async () => {
  const error = async (name: string) =>
    errorOf(await runRefused(["vendor", "inspect", inRoot(name), ...desk]));
  expect(await error("empty.jwt")).toEndWith("empty.jwt is empty");
  expect(await error("folder.jwt")).toEndWith("folder.jwt is a folder");
  expect(await error("nofile.jwt")).toEndWith("nofile.jwt does not exist");
  expect(await error("letter.jwt")).toEndWith("letter.jwt is not a Berth document");
});

/** Every command that reads a backup. */
const BACKUP_COMMANDS: readonly [string, (file: string) => string[]][] = [
  ["restore", (file) => ["restore", file, "--data", inRoot("other")]],
  ["verify", (file) => ["verify", file]],
  ["move in", (file) => ["move", "in", file, "--data", inRoot("other")]],
];

describe.each(BACKUP_COMMANDS)("berth %s", (name, words) => {
  const error = async (file: string) => errorOf(await runRefused(words(inRoot(file))));

  test("distinguishes an empty file, a missing file and one that is no backup", async () => {
    expect(await error("empty.jwt")).toBe(`${inRoot("empty.jwt")} is empty`);
    expect(await error("nofile.jwt")).toBe(`${inRoot("nofile.jwt")} does not exist`);
    for (const file of ["letter.jwt", "picture.jwt"]) {
      expect(await error(file)).toBe(`${inRoot(file)} is not a Berth backup`);
    }
    // `verify` takes a folder as a data folder.
    if (name !== "verify")
      expect(await error("folder.jwt")).toBe(`${inRoot("folder.jwt")} is a folder`);
  });

  test.each([...DOCUMENT_KINDS])(
    "names the right command for a document of kind %s",
    async (kind) => {
      const file = inRoot(`${kind}.jwt`);
      const stderr = await runRefused(words(file));
      expect(errorOf(stderr)).toBe(`${file} is not a Berth backup`);
      expect(stderr).toContain(`berth: hint: it is ${NAMES[kind]}`);
      expect(stderr).toContain(`: ${NEXT_STEPS[kind]}`);
    },
  );

  test("says at which byte a backup is damaged", async () => {
    const bytes = readFileSync(backup);
    // This byte is in the size of the archive's first file.
    bytes[130] = 0x39;
    writeFileSync(inRoot("damaged.berth"), bytes);
    expect(await error("damaged.berth")).toContain("is damaged at byte 0");
  });
});

describe.skipIf(process.platform === "win32" || (isRoot && !canRunAsNobody))(
  "a file that this user may not read",
  () => {
    test.each([...COMMANDS.map(([name, , words]) => [name, words] as const), ...BACKUP_COMMANDS])(
      "is reported by berth %s as permission denied, with a hint about sudo",
      (_name, words) => {
        const path = inRoot("secret.jwt");
        rmSync(path, { force: true });
        writeFileSync(path, readFileSync(inRoot("license.jwt")));
        chmodSync(path, 0);
        chmodSync(root, 0o755);
        const binary = inRoot("berth");
        copyFileSync(buildBinary(), binary);
        chmodSync(binary, 0o755);
        const runAs = isRoot ? AS_NOBODY : [];
        const child = Bun.spawnSync([...runAs, binary, ...words(path)], {
          cwd: "/",
          stdin: "ignore",
        });
        const stderr = child.stderr.toString();
        expect([child.exitCode, errorOf(stderr)]).toEqual([1, `permission denied: ${path}`]);
        expect(stderr).toMatch(/^berth: hint: .*sudo/m);
      },
    );
  },
);
