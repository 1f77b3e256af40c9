// In which folders a host can make a request to join a pair, and what a refusal leaves unchanged.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { instant } from "../../../src/domain/time.ts";
import { joinPair } from "../../../src/operations/pair/join-pair.ts";
import { makeAdmission } from "../../../src/operations/pair/make-admission.ts";
import {
  makePairRequest,
  readPendingRequest,
  refuseOpenRequest,
} from "../../../src/operations/pair/pending-request.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { machine, openPairOfTwo } from "../../support/licensed-pair.ts";
import { MONDAY } from "../../support/scenario.ts";
import { openLicensedSite } from "../../support/licensed-store.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const REQUEST = { host: "beta", hardware: machine("beta"), now: MONDAY };

/** A host whose request was admitted, with the file of the admission. */
async function admit(folder: string): Promise<string> {
  const request = await makePairRequest(realDisk, folder, REQUEST);
  const { alpha } = await openPairOfTwo();
  await alpha.stop();
  writeFileSync(join(alpha.folder, "access.json"), `{"access":1,"tokens":[],"users":[]}`);
  const file = join(tempFolder(), "beta.admission");
  const output = realDisk.open(file, "new");
  try {
    await makeAdmission(alpha.folder, request, instant(MONDAY), output);
  } finally {
    output.close();
  }
  return file;
}

const joinIn = (folder: string, file: string) =>
  joinPair({
    disk: realDisk,
    folder,
    file,
    host: "beta",
    now: MONDAY,
    uid: process.getuid?.() ?? 0,
    checkLog: async () => {},
  });

describe("a request to join a pair", () => {
  test("is refused in the folder of a site that is in use", async () => {
    const { folder, stop } = await openLicensedSite();
    await stop();
    const request = makePairRequest(realDisk, folder, REQUEST);
    expect(request).rejects.toThrow("already contains a site");
    expect(existsSync(join(folder, "pair-request.json"))).toBe(false);
  });

  test("keeps a server from making a new appliance in its folder, until it is removed", async () => {
    const folder = join(tempFolder(), "data");
    refuseOpenRequest(realDisk, folder);
    await makePairRequest(realDisk, folder, REQUEST);
    expect(() => refuseOpenRequest(realDisk, folder)).toThrow("a request to join a pair");
    await joinIn(folder, await admit(folder));
    refuseOpenRequest(realDisk, folder);
    expect(readPendingRequest(realDisk, folder)).toBeNull();
  });
});

describe("a join", () => {
  test("copies the access list, and leaves no copy of the key but that of the folder", async () => {
    const folder = join(tempFolder(), "data");
    await joinIn(folder, await admit(folder));
    expect(readFileSync(join(folder, "access.json"), "utf8")).toContain("tokens");
    const files = [...new Bun.Glob("**/*").scanSync({ cwd: folder, dot: true })];
    const secret = (JSON.parse(readFileSync(join(folder, "identity.jwk"), "utf8")) as { d: string })
      .d;
    const holders = files.filter((name) => readFileSync(join(folder, name)).includes(secret));
    expect(holders).toEqual(["identity.jwk"]);
  });

  test("that is refused does not replace the access list of the site in the folder", async () => {
    const folder = join(tempFolder(), "data");
    const file = await admit(folder);
    const pending = readFileSync(join(folder, "pair-request.json"));
    // A backup was restored there meanwhile.
    const { folder: used, stop } = await openLicensedSite();
    await stop();
    mkdirSync(used, { recursive: true });
    writeFileSync(join(used, "pair-request.json"), pending);
    writeFileSync(join(used, "access.json"), "the list of this site");
    expect(await joinIn(used, file).catch(String)).toContain("another site");
    expect(readFileSync(join(used, "access.json"), "utf8")).toBe("the list of this site");
  });
});
