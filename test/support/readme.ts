// The examples of the README, run as a reader would run them.
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "./temp-folder.ts";

const root = join(import.meta.dir, "..", "..");

export const readmeText = readFileSync(join(root, "README.md"), "utf8");

export type LeaseCheck = (input: object) => Promise<{ readonly sub: string; readonly exp: number }>;

/** The files that the two examples are saved as. */
const EXAMPLES = { checkLease: "check-lease.mjs", checkLeaseByCode: "check-lease-by-code.mjs" };

/** Loads an example exactly as the README prints it, with the library that it imports. */
export async function loadLeaseCheck(name: keyof typeof EXAMPLES): Promise<LeaseCheck> {
  const blocks = [...readmeText.matchAll(/```js\n([\s\S]*?)```/g)].map(([, lines = ""]) => lines);
  const folder = tempFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [example, file] of Object.entries(EXAMPLES)) {
    const lines = blocks.find((block) => block.includes(`function ${example}(`)) ?? "";
    writeFileSync(join(folder, file), lines);
  }
  const module = (await import(join(folder, EXAMPLES[name]))) as Record<string, LeaseCheck>;
  const check = module[name];
  if (check === undefined) throw new Error(`the README has no function ${name}`);
  return check;
}
