import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readPasswordSources } from "../../../src/cli/serve/service-credentials.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const isRoot = process.geteuid?.() === 0;

test.skipIf(!isRoot)("a command of root reads the password that systemd gives the service", () => {
  const path = join(tempFolder(), "pair-log-password");
  expect(readPasswordSources({}, path).passwordCredential).toBeNull();
  writeFileSync(path, "secret of the database\n", { mode: 0o600 });
  expect(readPasswordSources({}, path).passwordCredential).toBe("secret of the database");
});
