// Runs the fault rigs one after the other and adds up what they say. Words name the ones to run;
// `--soak` means larger numbers, the same code.
import { join } from "node:path";

const RIGS = [
  "mutations",
  "clock",
  "starts",
  "damage",
  "simulation",
  "full",
  "kill",
  "syscalls",
  "power",
  "backups",
  "day",
  "planted",
] as const;
const ONLY_SOAKED = ["memory"] as const;

const words = process.argv.slice(2);
const flags = words.filter((word) => word.startsWith("--"));
const named = words.filter((word) => !word.startsWith("--"));
const all = flags.includes("--soak") ? [...RIGS, ...ONLY_SOAKED] : RIGS;
const wanted = named.length === 0 ? all : named;

const total = { passed: 0, failed: 0, skipped: 0 };
for (const rig of wanted) {
  console.log(`\n-- ${rig}`);
  const started = performance.now();
  const said = await run(rig);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`   ${rig} took ${seconds} s`);
  for (const name of ["passed", "failed", "skipped"] as const) total[name] += said[name];
}
console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed === 0 ? 0 : 1);

async function run(rig: string): Promise<typeof total> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, `${rig}.ts`), ...flags], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of child.stdout) {
    process.stdout.write(part);
    text += decoder.decode(part, { stream: true });
  }
  const code = await child.exited;
  const summary = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/m.exec(text);
  if (summary === null) {
    console.log(`FAILED ${rig} ended with code ${code} and without a summary`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
  const [, passed, failed, skipped = "0"] = summary;
  const broken = code !== 0 && Number(failed) === 0 ? 1 : 0;
  return { passed: Number(passed), failed: Number(failed) + broken, skipped: Number(skipped) };
}
