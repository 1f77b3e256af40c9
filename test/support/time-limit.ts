// Runs before every `bun test` and sets how long one test may take. The limit does not judge the
// machine: a test that waits in vain gives up before, and says what it waited for. `bun test` takes
// no such limit from its settings and forgets one that is set here after the first file, so that the
// line that sets it is put before each file's own first line.
import { plugin } from "bun";
import { PATIENCE } from "./patience.ts";

const FIRST = `import { setDefaultTimeout as limitEachTest } from "bun:test"; limitEachTest(${2 * PATIENCE}); `;

plugin({
  name: "one limit for every test",
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      contents: FIRST + (await Bun.file(path).text()),
      loader: "ts",
    }));
  },
});
