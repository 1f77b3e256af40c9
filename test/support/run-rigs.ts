// Runs rigs one after the other and adds up what they say. Words on the command line name the ones
// to run; flags are handed on: `--soak` means larger numbers, the same code.
import { join } from "node:path";

interface Rigs {
  /** Where their scripts are. */
  readonly folder: string;
  readonly always: readonly string[];
  readonly onlySoaked?: readonly string[];
}

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}

export async function runRigs({ folder, always, onlySoaked = [] }: Rigs): Promise<never> {
  const words = process.argv.slice(2);
  const flags = words.filter((word) => word.startsWith("--"));
  const named = words.filter((word) => !word.startsWith("--"));
  const all = flags.includes("--soak") ? [...always, ...onlySoaked] : always;
  const total: Tally = { passed: 0, failed: 0, skipped: 0 };
  for (const rig of named.length === 0 ? all : named) {
    console.log(`\n-- ${rig}`);
    const started = performance.now();
    const said = await run(join(folder, `${rig}.ts`), rig, flags);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    console.log(`   ${rig} took ${seconds} s`);
    for (const name of ["passed", "failed", "skipped"] as const) total[name] += said[name];
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exit(total.failed === 0 ? 0 : 1);
}

async function run(script: string, rig: string, flags: readonly string[]): Promise<Tally> {
  const child = Bun.spawn([process.execPath, script, ...flags], {
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
