// Runs before every `bun test` and prepares each test file: it sets the time limit of each test,
// and runs the cleanups of a suite at its end. A test that waits in vain gives up before this limit
// and says what it waited for. `bun test` has no setting for this limit, and applies a limit that is
// set here to the first file only. So these lines are inserted before the first line of each file.
import { plugin } from "bun";
import { afterAll } from "bun:test";
import { join } from "node:path";
import { PATIENCE } from "./patience.ts";
import { cleanUp, cleanUpRun } from "./suite-harness.ts";

// Of a preloaded file, it runs after the last test file.
afterAll(cleanUpRun);

// The framework collects garbage once for each app that it has compiled, which takes longer than the
// first request to that app; the tests open thousands of apps. Garbage is still collected as needed,
// and when a test calls for it.
const collectGarbage = Bun.gc;
Object.assign(Bun, { gc: (force?: boolean) => (force === true ? collectGarbage(true) : 0) });

/** A test of a suite may take an hour on a slow machine; in a soak there is no limit. */
const SUITE_LIMIT = process.env["SOAK"] === undefined ? 60 * 60_000 : 0;

const harness = JSON.stringify(join(import.meta.dir, "suite-harness.ts"));

const limitEachTest = (limit: number): string =>
  `import { setDefaultTimeout as limitEachTest } from "bun:test"; limitEachTest(${limit}); `;

const CLEAN_UP =
  `import { afterAll as atEndOfFile } from "bun:test"; ` +
  `import { ${cleanUp.name} as cleanUpSuite } from ${harness}; atEndOfFile(cleanUpSuite); `;

plugin({
  name: "time limit for every test",
  setup(build) {
    build.onLoad({ filter: /\.(?:test|slow|suite)\.ts$/ }, async ({ path }) => {
      const firstLine = path.endsWith(".suite.ts")
        ? limitEachTest(SUITE_LIMIT) + CLEAN_UP
        : limitEachTest(2 * PATIENCE);
      return { contents: firstLine + (await Bun.file(path).text()), loader: "ts" };
    });
  },
});
