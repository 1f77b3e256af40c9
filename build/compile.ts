// Makes build/out/berth: the one file an operator copies.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dir, "..");
const out = join(root, "build", "out");
const binary = join(out, "berth");

mkdirSync(out, { recursive: true });
// In another folder first: a binary that is running cannot be written over, but it can be replaced.
const fresh = join(out, "new", "berth");
const { exitCode } = Bun.spawnSync(
  [
    process.execPath,
    "build",
    "--compile",
    "--bytecode",
    "--format=esm",
    "--sourcemap",
    // Elysia reads its handlers' sources: minified ones break it, so --minify stays off.
    '--define=process.env.NODE_ENV="production"',
    `--define=BERTH_COMMIT=${JSON.stringify(commit())}`,
    ...bakedTrust(),
    // Otherwise the binary would run what it finds in the folder it is started from.
    "--no-compile-autoload-dotenv",
    "--no-compile-autoload-bunfig",
    `--outfile=${fresh}`,
    join(root, "src", "main.ts"),
  ],
  { cwd: root, stdio: ["ignore", "ignore", "inherit"] },
);
if (exitCode !== 0) {
  rmSync(dirname(fresh), { recursive: true, force: true });
  process.exit(exitCode);
}
renameSync(fresh, binary);
// The binary carries its map inside; the copy beside it is of no use.
rmSync(dirname(fresh), { recursive: true });
const mib = (statSync(binary).size / 1024 / 1024).toFixed(0);
process.stdout.write(`${binary} (${mib} MiB)\n`);

/** BERTH_TRUST_FILE=trust.jwt makes a vendor's own build, which trusts that vendor alone. */
function bakedTrust(): string[] {
  const path = process.env["BERTH_TRUST_FILE"];
  if (path === undefined) return [];
  return [`--define=BERTH_TRUST=${JSON.stringify(readFileSync(path, "utf8").trim())}`];
}

/** A source folder without git still builds; it only cannot say what it was built from. */
function commit(): string {
  const git = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], {
    cwd: root,
    stderr: "ignore",
  });
  return git.exitCode === 0 ? git.stdout.toString().trim() : "unknown";
}
