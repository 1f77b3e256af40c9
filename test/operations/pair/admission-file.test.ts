// The file that carries the key of an appliance to a second host, in the hands of an attacker.
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CompactEncrypt } from "jose";
import {
  encryptContent,
  encryptPart,
  generateExchangeKey,
} from "../../../src/license/pair-admission.ts";
import {
  extractAdmission,
  PART_BYTES,
  writeAdmission,
} from "../../../src/operations/pair/admission-file.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { changeJweHeader } from "../../support/jwe-header.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const SECRET = "the key of the appliance";
const FACTS = { host: "beta", version: "0.2.0", made_at: 1, appliance: "A" };
const RECIPIENT = await generateExchangeKey();

/** In four parts: the second file is empty, and the third has a short last part. */
const FILES = [
  { name: "access.json", content: Buffer.from(SECRET) },
  { name: "settings.json", content: Buffer.alloc(0) },
  { name: "site.berth", content: Buffer.alloc(2 * PART_BYTES + 1_000, SECRET) },
];

async function write(kid = RECIPIENT.x): Promise<Buffer> {
  const path = join(tempFolder(), "admission");
  const output = realDisk.open(path, "new");
  try {
    await writeAdmission(
      output,
      { ...FACTS, kid },
      FILES.map(({ name, content }) => ({ name, size: content.length, parts: [content] })),
    );
  } finally {
    output.close();
  }
  return readFileSync(path);
}

async function read(bytes: Uint8Array, key = RECIPIENT): Promise<Map<string, Buffer>> {
  const path = join(tempFolder(), "admission");
  writeFileSync(path, bytes);
  const files = new Map<string, Buffer>();
  await extractAdmission(realDisk, path, key, (name) => {
    files.set(name, Buffer.alloc(0));
    return (part) => void files.set(name, Buffer.concat([files.get(name) ?? part, part]));
  });
  return files;
}

const expectRefused = async (bytes: Uint8Array, key = RECIPIENT): Promise<void> =>
  expect(await read(bytes, key).catch(String)).toContain("damaged or incomplete");

/** The first line, and the parts of the files. */
function split(bytes: Buffer): { header: string; parts: string[] } {
  const [header = "", ...parts] = bytes.toString().split("\n").slice(0, -1);
  return { header, parts };
}

const joinLines = (lines: readonly string[]): Buffer =>
  Buffer.from(lines.map((line) => `${line}\n`).join(""));

describe("an admission file", () => {
  test("has its files in parts that only the recipient can read", async () => {
    const bytes = await write();
    expect(split(bytes).parts).toHaveLength(4);
    expect(bytes.includes(SECRET)).toBe(false);
    expect(bytes.includes(Buffer.from(SECRET).toString("base64url"))).toBe(false);
    const files = await read(bytes);
    for (const { name, content } of FILES) expect(files.get(name)?.equals(content)).toBe(true);
    await expectRefused(bytes, await generateExchangeKey());
  });

  test("has another key each time, also for the same recipient", async () => {
    const [first, second] = [split(await write()), split(await write())];
    await expectRefused(joinLines([first.header, ...second.parts]));
  });

  test.each<[string, (parts: readonly string[]) => readonly (string | undefined)[]]>([
    ["without its last part", (parts) => parts.slice(0, -1)],
    ["without its last two parts", (parts) => parts.slice(0, -2)],
    ["without its first part", (parts) => parts.slice(1)],
    ["without a part in the middle", ([one, two, , four]) => [one, two, four]],
    ["with two parts exchanged", ([one, two, three, four]) => [one, three, two, four]],
    ["with a part twice", ([one, two, three, four]) => [one, two, two, three, four]],
    ["with its last part twice", (parts) => [...parts, parts.at(-1)]],
    ["with a part in place of another", ([one, two, , four]) => [one, two, two, four]],
    ["with more after its end", (parts) => [...parts, "more"]],
    ["with no part", () => []],
  ])("is refused %s", async (_name, change) => {
    const { header, parts } = split(await write());
    await expectRefused(joinLines([header, ...change(parts).map((part) => part ?? "")]));
  });

  test("is refused if it is cut off after any of its last bytes", async () => {
    const bytes = await write();
    for (let cut = 1; cut < 50; cut += 1) await expectRefused(bytes.subarray(0, -cut));
  });

  test("is refused if a byte of any line was changed", async () => {
    const bytes = await write();
    for (let end = bytes.indexOf("\n"); end >= 0; end = bytes.indexOf("\n", end + 1)) {
      // In the encrypted bytes, before the tag of 22 characters.
      const at = end - 30;
      await expectRefused(bytes.with(at, bytes[at] === 65 ? 66 : 65));
    }
  });

  test("is refused if a line has no end, and is not read further than a line can be long", async () => {
    const path = join(tempFolder(), "admission");
    writeFileSync(path, Buffer.alloc(4 * PART_BYTES, "A"));
    let furthest = 0;
    const disk: Disk = {
      ...realDisk,
      readPart(name, offset, length) {
        furthest = Math.max(furthest, offset + length);
        return realDisk.readPart(name, offset, length);
      },
    };
    const extracted = extractAdmission(disk, path, RECIPIENT, () => () => {});
    expect(await extracted.catch(String)).toContain("damaged or incomplete");
    expect(furthest).toBe(2 * PART_BYTES);
  });

  test.each([-1, 1])(
    "is refused if it lists a file with %d byte more than it has",
    async (more) => {
      const files = [{ name: "access.json", size: SECRET.length + more }];
      const { jwe, key } = await encryptContent({ ...FACTS, kid: RECIPIENT.x }, files);
      const part = await encryptPart(key, 0, Buffer.from(SECRET));
      await expectRefused(joinLines([jwe, part]));
    },
  );

  test("is refused if its first line is encrypted to its recipient, but has no header of an admission", async () => {
    const content = { key: { kty: "oct", k: "A".repeat(43) }, files: [] };
    const jwe = await new CompactEncrypt(Buffer.from(JSON.stringify(content)))
      .setProtectedHeader({ alg: "ECDH-ES", enc: "A256GCM" })
      .encrypt({ kty: "OKP", crv: "X25519", x: RECIPIENT.x });
    await expectRefused(joinLines([jwe]));
  });

  test.each<[string, object]>([
    ["another host", { host: "bete" }],
    ["another appliance", { appliance: "B" }],
    ["another time", { made_at: 2 }],
    ["another format", { berth_pair_admission: 1 }],
    ["another way of encryption", { alg: "dir" }],
    ["another member", { zip: "DEF" }],
  ])("is refused if its header names %s", async (_name, members) => {
    const { header, parts } = split(await write());
    await expectRefused(joinLines([changeJweHeader(header, members), ...parts]));
  });

  test("is refused if the header of a part has another number", async () => {
    const { header, parts } = split(await write());
    const [one = "", two = "", three = "", four = ""] = parts;
    const moved = [changeJweHeader(three, { part: 1 }), changeJweHeader(two, { part: 2 })];
    await expectRefused(joinLines([header, one, ...moved, four]));
  });

  test.each([
    ["zero", "A".repeat(43)],
    ["one", `AQ${"A".repeat(41)}`],
  ])("is refused if its sender is a key with which no secret is agreed: %s", async (_name, x) => {
    const { header, parts } = split(await write());
    const epk = { kty: "OKP", crv: "X25519", x };
    await expectRefused(joinLines([changeJweHeader(header, { epk }), ...parts]));
  });

  test("cannot be written for a key with which no secret is agreed", async () => {
    expect(await write("A".repeat(43)).catch(String)).toContain("OperationError");
  });
});
