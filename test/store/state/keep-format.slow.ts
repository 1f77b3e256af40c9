import { expect, test } from "bun:test";
import { join } from "node:path";
import { Identity } from "../../../src/operations/identity.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { STATE_FORMAT } from "../../../src/store/state/snapshot.ts";
import { verify } from "../../../src/operations/folder/verify.ts";
import { readFolderState } from "../../support/backup-site.ts";
import { copyFixtureFolder, readExpectedContents } from "../../support/old-formats.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const SCRIPT = join(import.meta.dir, "..", "fixtures", "keep-format.ts");

const keepFormat = (folder: string): Bun.Subprocess<"ignore", "ignore", "pipe"> =>
  Bun.spawn([process.execPath, SCRIPT, folder], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });

test("keep-format.ts keeps a folder of the current format with its contents, and only once", async () => {
  const fixtures = tempFolder();
  expect(await keepFormat(fixtures).exited).toBe(0);
  const { seq, audit_seq, state } = readExpectedContents(STATE_FORMAT, fixtures);
  const folder = copyFixtureFolder(STATE_FORMAT, fixtures);
  expect(await readFolderState(folder)).toEqual({ seq, state: state as never });
  const report = await verify(realDisk, folder, {
    identity: (disk, path, appliance) => new Identity(disk, path, []).open(appliance),
  });
  expect(report).toMatchObject({ head: { seq, auditSeq: audit_seq } });
  expect(report.coveredSeq).toBeLessThan(seq);
  expect(report.generations).toHaveLength(1);

  const again = keepFormat(fixtures);
  expect(await again.exited).toBe(1);
  expect(await again.stderr.text()).toContain("exists already");
});
