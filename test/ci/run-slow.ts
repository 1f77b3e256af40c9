// Runs the slow tests, `bun run test:slow`: all of them, or those in the named folders of test.
import { becomeBun } from "../support/processes.ts";
import { repositoryRoot } from "../support/sources.ts";

const findSlowTests = (folder: string): string[] => [
  ...new Bun.Glob(`test/${folder}/**/*.slow.ts`).scanSync(repositoryRoot),
];

const folders = process.argv.slice(2);
const emptyFolder = folders.find((folder) => findSlowTests(folder).length === 0);
if (emptyFolder !== undefined) {
  console.error(`there is no slow test in test/${emptyFolder}`);
  process.exit(2);
}
const files = folders.length === 0 ? findSlowTests("**") : folders.flatMap(findSlowTests);
const paths = files.toSorted().map((file) => `./${file}`);
await becomeBun(["test", "--parallel", ...paths], repositoryRoot);
