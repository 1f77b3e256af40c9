// Runs before every `bun test` and sets the time limit of each test. A test that waits in vain
// gives up before this limit and says what it waited for. `bun test` has no setting for this limit,
// and applies a limit that is set here to the first file only. So the line that sets it is inserted
// before the first line of each test file.
import { plugin } from "bun";
import { PATIENCE } from "./patience.ts";

const SET_TIMEOUT = `import { setDefaultTimeout as limitEachTest } from "bun:test"; limitEachTest(${2 * PATIENCE}); `;

plugin({
  name: "time limit for every test",
  setup(build) {
    build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => ({
      contents: SET_TIMEOUT + (await Bun.file(path).text()),
      loader: "ts",
    }));
  },
});
