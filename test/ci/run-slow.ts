// Runs the slow tests, `bun run test:slow`: all of them, or those in the named folders of test.
import { repositoryRoot } from "../support/sources.ts";

const folders = process.argv.slice(2);
const patterns = folders.length === 0 ? ["**"] : folders.map((folder) => `${folder}/**`);
const files = patterns.flatMap((pattern) => [
  ...new Bun.Glob(`test/${pattern}/*.slow.ts`).scanSync(repositoryRoot),
]);
if (files.length === 0) {
  console.error(
    `there is no slow test in ${folders.join(", ")}; name folders of test, such as store`,
  );
  process.exit(2);
}
const { exitCode } = Bun.spawnSync(
  [process.execPath, "test", "--parallel", ...files.toSorted().map((file) => `./${file}`)],
  { cwd: repositoryRoot, stdio: ["ignore", "inherit", "inherit"] },
);
process.exit(exitCode);
