// Starts the compiled demo and runs every curl line that it prints, twice and from another folder,
// as a reader would. Needs curl, and tries to install it if it is missing.
import { tmpdir } from "node:os";
import { startBinary } from "../support/binary.ts";

if (Bun.which("curl") === null) {
  const installed = Bun.spawnSync(["sh", "-c", "apt-get update && apt-get install -y curl"]);
  if (installed.exitCode !== 0) {
    process.stderr.write("curl is missing: apt-get install curl\n");
    process.exit(1);
  }
}

const OPERATIONS = 7;
const server = await startBinary("demo", "--listen", "127.0.0.1:0");
const lines = server.output.split("\n").filter((line) => line.startsWith("curl "));
let failures = lines.length === OPERATIONS ? 0 : 1;
for (const line of [...lines, ...lines]) {
  const result = Bun.spawnSync(["sh", "-c", `${line} -o /dev/null -w '%{http_code}'`], {
    cwd: tmpdir(),
  });
  const status = result.stdout.toString();
  if (status !== "200") failures += 1;
  process.stdout.write(`${status} ${line.slice(0, 72)}…\n`);
}
await server.stop();
process.exit(failures === 0 ? 0 : 1);
