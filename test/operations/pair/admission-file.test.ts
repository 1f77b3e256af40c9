// The file that carries the key of an appliance to a second host, in the hands of an attacker.
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  generateExchangeKey,
  PART_BYTES,
  TAG_BYTES,
} from "../../../src/operations/pair/admission-crypto.ts";
import { extractAdmission, writeAdmission } from "../../../src/operations/pair/admission-file.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const SECRET = "the key of the appliance";
const RECIPIENT = generateExchangeKey();
const SEALED_BYTES = PART_BYTES + TAG_BYTES;

/** Three parts, the last of them short. */
const FILES = [
  { name: "access.json", content: Buffer.from(SECRET) },
  { name: "settings.json", content: Buffer.alloc(0) },
  { name: "site.berth", content: Buffer.alloc(2 * PART_BYTES + 1_000, SECRET) },
];

function write(recipient = RECIPIENT.x): Buffer {
  const path = join(tempFolder(), "admission");
  const output = realDisk.open(path, "new");
  try {
    writeAdmission(
      output,
      { host: "beta", version: "0.2.0", made_at: 1, appliance: "A", recipient },
      FILES.map(({ name, content }) => ({ name, size: content.length, parts: [content] })),
    );
  } finally {
    output.close();
  }
  return readFileSync(path);
}

function read(bytes: Uint8Array, key = RECIPIENT): Map<string, Buffer> {
  const path = join(tempFolder(), "admission");
  writeFileSync(path, bytes);
  const files = new Map<string, Buffer>();
  extractAdmission(realDisk, path, key, (name) => {
    files.set(name, Buffer.alloc(0));
    return (part) => void files.set(name, Buffer.concat([files.get(name) ?? part, part]));
  });
  return files;
}

/** The header line, and the encrypted parts. */
function split(bytes: Buffer): { header: Buffer; parts: Buffer[] } {
  const start = bytes.indexOf(10) + 1;
  const parts: Buffer[] = [];
  for (let at = start; at < bytes.length; at += SEALED_BYTES) {
    parts.push(bytes.subarray(at, at + SEALED_BYTES));
  }
  return { header: bytes.subarray(0, start), parts };
}

const edit = (change: (parts: readonly Buffer[]) => readonly Buffer[]): Buffer => {
  const { header, parts } = split(write());
  return Buffer.concat([header, ...change(parts)]);
};

describe("an admission file", () => {
  test("has its files in parts that only the recipient can read", () => {
    const bytes = write();
    expect(split(bytes).parts).toHaveLength(3);
    expect(bytes.includes(SECRET)).toBe(false);
    const files = read(bytes);
    for (const { name, content } of FILES) expect(files.get(name)?.equals(content)).toBe(true);
    expect(() => read(bytes, generateExchangeKey())).toThrow("damaged or incomplete");
  });

  test("has another key each time, also for the same recipient", () => {
    const [first, second] = [split(write()), split(write())];
    expect(first.parts[0]?.equals(second.parts[0] ?? Buffer.alloc(0))).toBe(false);
    expect(() => read(Buffer.concat([first.header, ...second.parts]))).toThrow("damaged");
  });

  test.each<[string, (parts: readonly Buffer[]) => readonly Buffer[]]>([
    ["without its last part", (parts) => parts.slice(0, -1)],
    ["without its last two parts", (parts) => parts.slice(0, -2)],
    ["without its first part", (parts) => parts.slice(1)],
    ["without a part in the middle", ([one, , three]) => [one, three] as Buffer[]],
    ["with two parts exchanged", ([one, two, three]) => [two, one, three] as Buffer[]],
    ["with a part twice", ([one, two, three]) => [one, two, two, three] as Buffer[]],
    ["with more after its end", (parts) => [...parts, Buffer.alloc(20)]],
    ["with no part", () => []],
  ])("is refused %s", (_name, change) => {
    expect(() => read(edit(change))).toThrow("damaged or incomplete");
  });

  test("is refused if its header names another host or appliance", () => {
    const text = write().toString("latin1");
    const changes = { '"host":"beta"': '"host":"bete"', '"appliance":"A"': '"appliance":"B"' };
    for (const [from, to] of Object.entries(changes)) {
      const changed = Buffer.from(text.replace(from, to), "latin1");
      expect(() => read(changed)).toThrow("damaged or incomplete");
    }
  });

  test.each([
    ["zero", "A".repeat(43)],
    ["one", `AQ${"A".repeat(41)}`],
  ])("is refused if its sender is a key with which no secret is agreed: %s", (_name, sender) => {
    const { header, parts } = split(write());
    const changed = { ...(JSON.parse(header.toString()) as object), sender };
    const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(changed)}\n`), ...parts]);
    expect(() => read(bytes)).toThrow("damaged or incomplete");
  });
});
