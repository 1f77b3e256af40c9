// The root and the keys of a desk, with commands: on one machine, and with the root on another.
import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DAY, instant, later } from "../../../../src/domain/time.ts";
import { wallClock } from "../../../../src/platform/clock.ts";
import { seedOf } from "../../../../src/license/documents/keys.ts";
import {
  issueTestLicense,
  makeRequestFrom,
  openDeskAndSite,
} from "../../../support/desk-and-site.ts";
import { keyFileIn, openRootOf, readText, replaceKey } from "../../../support/desk-keys.ts";
import { encryptDeskKeys } from "../../../support/encrypted-key.ts";
import { runBerth, runJsonOrThrow, runOrThrow, runWithAnswer } from "../../../support/run-berth.ts";
import { contentsOf, copyFolder, tempFolder } from "../../../support/temp-folder.ts";
import { bothFolders, initDesk, INIT_DESK } from "../../../support/vendor-commands.ts";

const NO_END = ["--valid-until", "never"];

interface ShownDesk {
  readonly vendor: string;
  readonly fingerprint: string;
  readonly version: number;
  readonly name: string;
  readonly products: readonly string[];
  readonly keys: readonly {
    readonly key: string;
    readonly state: string;
    readonly until: string;
  }[];
  readonly uncertified: readonly string[];
  readonly retired: readonly string[];
}

const show = (desk: string): Promise<ShownDesk> =>
  runJsonOrThrow(["vendor", "show", "--dir", desk]);

const statesOf = async (desk: string): Promise<string[]> =>
  (await show(desk)).keys.map(({ state }) => state);

const sign = (desk: string) =>
  runBerth(["vendor", "policy", "--dir", desk, "--policy-id", "p", "--product", "CAD", ...NO_END]);

const canSign = async (desk: string): Promise<boolean> => (await sign(desk)).code === 0;

const vendor = (...words: readonly string[]) => runBerth(["vendor", ...words]);

async function makeVendor() {
  const folder = tempFolder();
  const path = (name: string): string => join(folder, name);
  const desk = path("desk");
  await initDesk(desk, "CAD");
  return { path, desk, root: `${desk}-root`, both: bothFolders(desk) };
}

/** A refusal with its message and hint; nothing in these folders may change. */
async function refuse(words: readonly string[], ...unchanged: readonly string[]): Promise<string> {
  const before = unchanged.map(contentsOf);
  const { code, stdout, stderr } = await vendor(...words);
  expect([code === 0, stdout]).toEqual([false, ""]);
  expect(unchanged.map(contentsOf)).toEqual(before);
  return stderr;
}

describe("a new key", () => {
  test("is made, certified and used in one step, if both folders are on this machine", async () => {
    const { desk, root, both } = await makeVendor();
    const { keys: before } = await show(desk);
    const output = await runOrThrow(["vendor", "key", "new", ...both, "--no-passphrase"]);
    const { keys, uncertified, version } = await show(desk);
    const [current, earlier] = keys;
    expect(output).toContain(`the desk signs with the key ${current?.key} from now on, until 20`);
    expect([current?.state, earlier?.state, earlier?.key]).toEqual([
      "current",
      "earlier",
      before[0]?.key,
    ]);
    expect([uncertified, version, await canSign(desk)]).toEqual([[], 1, true]);
    expect(existsSync(join(root, `${current?.key}.cert`))).toBe(true);
    await runOrThrow(["vendor", "verify", "--dir", desk]);
  });

  test("is made, certified and accepted in three steps, with the root on another machine", async () => {
    const { desk, root, path } = await makeVendor();
    const far = path("far");
    renameSync(root, far);
    const request = path("key.request");
    const made = await runBerth([
      "vendor",
      "key",
      "new",
      "--dir",
      desk,
      "--no-passphrase",
      "--out",
      request,
    ]);
    const { uncertified } = await show(desk);
    const [id = ""] = uncertified;
    expect(made.stdout).toBe(`the request for the key ${id} is written to ${request}\n`);
    expect(made.stderr).toContain("it signs nothing until the root certifies it");
    const [, fingerprint] = /it is certified: (\S{23})\n/.exec(made.stderr) ?? [];
    expect([await statesOf(desk), await canSign(desk)]).toEqual([["current"], true]);
    const certify = ["vendor", "key", "certify", request, "--root", far];
    const shown = await runBerth(certify);
    expect([shown.code, shown.stdout]).toEqual([2, ""]);
    expect(shown.stderr).toContain(`berth: note: key ${id}\n`);
    expect(shown.stderr).toContain(`berth: note: fingerprint ${fingerprint}\n`);
    // Standard output can be redirected to a file.
    const { stdout } = await runBerth([...certify, "--yes"]);
    expect(stdout).toBe(`${readText(far, `${id}.cert`)}\n`);
    const out = path("key.cert");
    const words = [...certify, "--until", "2031-01-01", "--yes", "--out", out];
    const written = await runOrThrow(words);
    expect(written).toContain(`key          ${id}\nfingerprint  ${fingerprint}\n`);
    expect((await show(desk)).uncertified).toEqual([id]);
    const accepted = await runOrThrow(["vendor", "accept", out, "--dir", desk]);
    expect(accepted).toBe(`${out} is accepted\n`);
    const { keys } = await show(desk);
    expect(keys[0]).toMatchObject({ key: id, state: "current", until: "2031-01-01T00:00:00.000Z" });
    expect(await runOrThrow(["vendor", "accept", out, "--dir", desk])).toBe(
      `${out} is already known\n`,
    );
    expect([existsSync(root), await canSign(desk)]).toEqual([false, true]);
  });

  test.skipIf(process.platform === "win32")("is not certified if the answer is no", async () => {
    const { desk, root, path } = await makeVendor();
    const request = path("key.request");
    const make = ["vendor", "key", "new", "--dir", desk, "--no-passphrase", "--out", request];
    await runOrThrow(make);
    const before = contentsOf(root);
    const asked = await runWithAnswer(["vendor", "key", "certify", request, "--root", root], "n");
    expect([asked.code, asked.text]).toEqual([1, expect.stringContaining("fingerprint")]);
    expect([contentsOf(root), existsSync(path("key.cert"))]).toEqual([before, false]);
  });

  test("is refused with what to do: a foreign request, a past day, flags that do not fit", async () => {
    const [{ desk, root, path, both }, other] = [await makeVendor(), await makeVendor()];
    const request = path("key.request");
    const make = ["vendor", "key", "new", "--no-passphrase"];
    await runOrThrow([...make, "--dir", other.desk, "--out", request]);
    const certify = ["key", "certify", request, "--root", root, "--yes"];
    expect(await refuse(certify, root)).toContain("use the root of that vendor");
    const past = ["key", "new", ...both, "--no-passphrase", "--until", "2020-01-01"];
    expect(await refuse(past, desk, root)).toContain("is not a day in the future");
    const lone = ["key", "new", "--dir", desk, "--no-passphrase", "--until", "2031-01-01"];
    expect(await refuse(lone, desk)).toContain("--until needs --root");
    const both2 = ["key", "new", ...both, "--no-passphrase", "--out", path("x")];
    expect(await refuse(both2, desk, root)).toContain("omit --out, or --root");
    expect(await refuse(["key", "new", ...both], desk, root)).toContain("--no-passphrase to store");
  });
});

describe("berth vendor key retire", () => {
  test("retires one key with the root's folder alone; the desk refuses it from the next file on", async () => {
    const { desk, root, path } = await makeVendor();
    const [key] = (await show(desk)).keys;
    const out = path("trust.jwt");
    const retire = ["vendor", "key", "retire", key?.key ?? "", "--root", root, "--out", out];
    const unconfirmed = await runBerth(retire);
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
      2,
      expect.stringContaining("cannot be undone"),
    ]);
    const output = await runOrThrow([...retire, "--yes"]);
    expect(output).toContain("1 key retired");
    expect(output).toContain("take it to the desk: berth vendor accept trust.jwt");
    expect(readText(out)).toBe(readText(root, "trust.jwt"));
    expect(await canSign(desk)).toBe(true);
    await runOrThrow(["vendor", "accept", out, "--dir", desk]);
    expect([await statesOf(desk), await canSign(desk)]).toEqual([["retired"], false]);
    const { stderr } = await sign(desk);
    expect(stderr).toContain(`the key ${key?.key} of this desk is retired`);
    expect(stderr).toContain("make a new one: berth vendor key new, certified by the root");
    await runOrThrow(["vendor", "key", "new", ...bothFolders(desk), "--no-passphrase"]);
    expect([await statesOf(desk), await canSign(desk)]).toEqual([["current", "retired"], true]);
  });

  test("retires with --all every key of the root's folder, also those of another desk", async () => {
    const { desk, root, path, both } = await makeVendor();
    await runOrThrow(["vendor", "key", "new", ...both, "--no-passphrase"]);
    const second = path("second");
    const init = ["vendor", "init", "--dir", second, "--root", root, "--no-passphrase"];
    await runOrThrow(init);
    await runOrThrow(["vendor", "key", "retire", "--all", "--root", root, "--yes"]);
    for (const folder of [desk, second]) {
      expect(await canSign(folder)).toBe(true);
      await runOrThrow(["vendor", "accept", join(root, "trust.jwt"), "--dir", folder]);
      expect([await canSign(folder), (await show(folder)).retired.length]).toEqual([false, 3]);
    }
  });

  test("knows the desk's keys too, if the root's folder has no copy of their certificates", async () => {
    const { desk, root, both } = await makeVendor();
    for (const file of readdirSync(root)) if (file.endsWith(".cert")) rmSync(join(root, file));
    const alone = ["key", "retire", "--all", "--root", root, "--yes"];
    const refused = await refuse(alone, root);
    expect(refused).toContain("so --all knows no key");
    expect(refused).toContain("specify the desk's folder with --dir DIR");
    await runOrThrow(["vendor", "key", "retire", "--all", ...both, "--yes"]);
    expect(await statesOf(desk)).toEqual(["retired"]);
  });

  test("writes its document again, if all keys are retired already", async () => {
    const { root, path } = await makeVendor();
    const retire = ["vendor", "key", "retire", "--all", "--root", root];
    await runOrThrow([...retire, "--yes"]);
    const before = contentsOf(root);
    const out = path("trust.jwt");
    expect(await runOrThrow([...retire, "--out", out])).toContain("are retired already\n");
    expect([contentsOf(root), readText(out)]).toEqual([before, readText(root, "trust.jwt")]);
  });

  test("retires a key again that only the desk's version of the document retires", async () => {
    const { desk, root, both } = await makeVendor();
    const copy = copyFolder(root);
    const [key] = (await show(desk)).keys;
    await runOrThrow(["vendor", "key", "retire", key?.key ?? "", ...both, "--yes"]);
    for (const product of ["CAM", "CAE"])
      await runOrThrow(["vendor", "product", "add", product, "--root", copy]);
    const far = ["--dir", desk, "--root", copy];
    const made = ["key", "new", ...far, "--no-passphrase"];
    const hint = `retire it again: berth vendor key retire ${key?.key} --root DIR`;
    expect(await refuse(made, desk, copy)).toContain(hint);
    await runOrThrow(["vendor", "key", "retire", key?.key ?? "", ...far, "--yes"]);
    expect(await show(desk)).toMatchObject({ version: 4, retired: [key?.key] });
    expect(await show(desk)).toMatchObject({ products: ["CAD", "CAM", "CAE"] });
  });

  test("retires with --all also the keys of the desk that wait for their certificate", async () => {
    const { desk, root, both, path } = await makeVendor();
    const out = path("key.request");
    const made = ["vendor", "key", "new", "--dir", desk, "--no-passphrase", "--out", out];
    await runOrThrow(made);
    const [waiting = ""] = (await show(desk)).uncertified;
    const words = ["key", "retire", "--all", ...both, "--yes"];
    const { stderr } = await vendor(...words);
    expect(stderr).toContain("the desk signs nothing until it has a new key: berth vendor key new");
    expect((await show(desk)).retired).toContain(waiting);
    const text = await runOrThrow(["vendor", "show", "--dir", desk]);
    expect(text).toMatch(new RegExp(`^${waiting} +retired +- +-$`, "m"));
    expect((await vendor("verify", "--dir", desk)).stderr).not.toContain(waiting);
    const certify = ["key", "certify", out, "--root", root, "--yes"];
    expect((await vendor(...certify)).stderr).toContain(`the key ${waiting} is retired`);
  });

  test("warns of an id that it does not know before it asks", async () => {
    const { root } = await makeVendor();
    const id = "0123456789ABCDEF";
    const { code, stderr } = await vendor("key", "retire", id, "--root", root);
    expect(code).toBe(2);
    expect(stderr).toContain(`warning: no certificate of the key ${id} is known here`);
    for (const words of [["x"], [], [id, "--all"]])
      expect((await vendor("key", "retire", ...words, "--root", root, "--yes")).code).toBe(2);
  });

  test("names the licenses to issue again, with the desk's folder quoted", async () => {
    const { desk, folder, site } = await openDeskAndSite();
    await issueTestLicense(desk, await makeRequestFrom(site));
    const place = join(tempFolder(), "my desk");
    for (const [from, to] of [
      [folder, place],
      [`${folder}-root`, `${place}-root`],
    ] as const) {
      mkdirSync(to, { mode: 0o700 });
      for (const name of readdirSync(from)) copyFileSync(join(from, name), join(to, name));
    }
    const words = ["key", "retire", "--all", "--yes", ...bothFolders(place)];
    const { code, stderr } = await vendor(...words);
    const list = `1 license to be issued again: berth vendor list --dir '${place}' --to-reissue`;
    expect([code, stderr]).toEqual([0, expect.stringContaining(`berth: note: ${list}\n`)]);
    expect(await runOrThrow(["vendor", "show", "--dir", place])).toContain(list);
  });
});

describe("berth vendor accept", () => {
  test("takes a trust document and certificates in any order, also twice", async () => {
    const { desk, root, path, both } = await makeVendor();
    const before = copyFolder(desk);
    await runOrThrow(["vendor", "name", "Acme Ltd", ...both]);
    const old = path("trust-2.jwt");
    copyFileSync(join(root, "trust.jwt"), old);
    await runOrThrow(["vendor", "product", "add", "CAM", ...both]);
    const request = path("key.request");
    const make = ["vendor", "key", "new", "--dir", before, "--no-passphrase", "--out", request];
    await runOrThrow(make);
    const cert = path("key.cert");
    await runOrThrow(["vendor", "key", "certify", request, "--root", root, "--yes", "--out", cert]);
    const files = [cert, join(root, "trust.jwt"), old];
    const copy = copyFolder(before);
    for (const [folder, order] of [
      [before, files],
      [copy, files.toReversed()],
    ] as const) {
      await runOrThrow(["vendor", "accept", ...order, "--dir", folder]);
      expect(await show(folder)).toMatchObject({
        name: "Acme Ltd",
        version: 3,
        keys: [{ state: "current" }, { state: "earlier" }],
      });
      expect(await canSign(folder)).toBe(true);
    }
    const last = [cert, join(root, "trust.jwt")];
    expect(await runOrThrow(["vendor", "accept", ...last, "--dir", copy])).toBe(
      `${last[1]} is already known\n${cert} is already known\n`,
    );
  });

  test("names the file that it refuses, and what to do", async () => {
    const [{ desk, root, both, path }, other] = [await makeVendor(), await makeVendor()];
    const old = path("old.jwt");
    copyFileSync(join(root, "trust.jwt"), old);
    await runOrThrow(["vendor", "name", "Acme Ltd", ...both]);
    const foreign = join(other.root, "trust.jwt");
    const foreignCert = readdirSync(other.root).find((file) => file.endsWith(".cert")) ?? "";
    for (const [file, message, hint] of [
      [old, "the desk has version 2 of the trust document, and this is version 1", "root's folder"],
      [foreign, "this is not signed by the root of the desk", "berth vendor inspect FILE"],
      [join(other.root, foreignCert), "this is not signed by the root of the desk", "inspect"],
    ] as const) {
      const refused = await refuse(["accept", file, "--dir", desk], desk);
      expect(refused).toContain(`berth: error: ${file} is not accepted: ${message}`);
      expect(/^berth: hint: (.*)$/m.exec(refused)?.[1]).toContain(hint);
    }
    // Of several files, those before it are accepted.
    const [trust, cert] = [join(root, "trust.jwt"), join(other.root, foreignCert)];
    const { code, stderr } = await vendor("accept", trust, cert, "--dir", desk);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`berth: note: ${trust} is already known\n`),
    ]);
  });
});

describe("what the root says of the vendor", () => {
  test("is changed with the root's folder alone, and counts at the desk when it is accepted", async () => {
    const { desk, root } = await makeVendor();
    for (const words of [
      ["product", "add", "CAM"],
      ["product", "remove", "CAD"],
      ["name", "Acme Ltd"],
    ])
      await runOrThrow(["vendor", ...words, "--root", root]);
    expect(await show(desk)).toMatchObject({ name: "Acme", products: ["CAD"], version: 1 });
    await runOrThrow(["vendor", "accept", join(root, "trust.jwt"), "--dir", desk]);
    expect(await show(desk)).toMatchObject({ name: "Acme Ltd", products: ["CAM"], version: 4 });
    const same = await refuse(["name", "Acme Ltd", "--root", root], root);
    expect(same).toContain("the vendor has this name already");
    expect(same).toContain(`the newest trust document is ${join(root, "trust.jwt")}`);
  });

  test("starts from the newer document of root and desk, and both have the next one", async () => {
    const { desk, root, both } = await makeVendor();
    const old = copyFolder(root);
    await runOrThrow(["vendor", "product", "add", "CAM", ...both]);
    // The copy of the root's folder is older than the desk.
    await runOrThrow(["vendor", "product", "add", "CAE", "--dir", desk, "--root", old]);
    expect(await show(desk)).toMatchObject({ version: 3, products: ["CAD", "CAM", "CAE"] });
    expect(readText(old, "trust.jwt")).toBe(readText(desk, "trust.jwt"));
    await runOrThrow(["vendor", "name", "Acme Ltd", ...both]);
    expect(await show(desk)).toMatchObject({ version: 4, products: ["CAD", "CAM", "CAE"] });
  });

  test("reaches the desk with the next command, if the one that signed it was interrupted", async () => {
    const { desk, root, both } = await makeVendor();
    const [key] = (await show(desk)).keys;
    await runOrThrow(["vendor", "key", "retire", key?.key ?? "", "--root", root, "--yes"]);
    expect(await canSign(desk)).toBe(true);
    const { code, stdout, stderr } = await vendor("key", "retire", key?.key ?? "", ...both);
    expect([code, stdout]).toEqual([0, expect.stringContaining("retired already")]);
    expect(stderr).toContain("berth: note: the desk accepted version 2 of the trust document");
    expect([await statesOf(desk), await canSign(desk)]).toEqual([["retired"], false]);
  });

  test("is written again at the desk, if the command was interrupted before its file", async () => {
    const { desk, root, path, both } = await makeVendor();
    const old = path("old.jwt");
    copyFileSync(join(desk, "trust.jwt"), old);
    const add = ["product", "add", "CAM", ...both];
    await runOrThrow(["vendor", ...add]);
    copyFileSync(old, join(desk, "trust.jwt"));
    expect((await vendor(...add)).stderr).toContain("CAM is already a product of this vendor");
    expect(readText(desk, "trust.jwt")).toBe(readText(root, "trust.jwt"));
  });

  test("has the retirements of both, if root and desk have another version 2", async () => {
    const { desk, root, both } = await makeVendor();
    const copy = copyFolder(root);
    const [key] = (await show(desk)).keys;
    await runOrThrow(["vendor", "key", "retire", key?.key ?? "", ...both, "--yes"]);
    const far = ["--dir", desk, "--root", copy];
    await runOrThrow(["vendor", "product", "add", "CAM", "--root", copy]);
    await runOrThrow(["vendor", "name", "Acme Ltd", ...far]);
    expect(await show(desk)).toMatchObject({
      version: 3,
      products: ["CAD", "CAM"],
      retired: [key?.key],
    });
  });

  test("is refused with a root and a desk of different vendors", async () => {
    const [{ desk, root }, other] = [await makeVendor(), await makeVendor()];
    const flags = ["--dir", other.desk, "--root", root];
    for (const words of [
      ["name", "X", ...flags],
      ["key", "new", "--no-passphrase", ...flags],
      ["key", "retire", "--all", "--yes", ...flags],
    ]) {
      expect(await refuse(words, desk, root, other.desk)).toContain("are of different vendors");
    }
  });
});

describe("the root on paper", () => {
  const readSheet = async (root: string): Promise<{ rows: string[]; fingerprint: string }> =>
    runJsonOrThrow(["vendor", "root", "print", "--root", root, "--yes"]);

  const restore = (stdin: string, ...flags: readonly string[]) =>
    runBerth(["vendor", "root", "restore", "-", "--no-passphrase", ...flags], { stdin });

  test("is restored from its three rows, and signs as before", async () => {
    const { desk, root, path } = await makeVendor();
    const unconfirmed = await vendor("root", "print", "--root", root);
    expect([unconfirmed.code, unconfirmed.stdout]).toEqual([2, ""]);
    const text = await runOrThrow(["vendor", "root", "print", "--root", root, "--yes"]);
    const { rows, fingerprint } = await readSheet(root);
    expect(rows).toHaveLength(3);
    expect(text).toContain(`\n${rows.join("\n")}\n`);
    expect(text).toContain(fingerprint);
    const back = path("back");
    const typed = rows.join("\n").toLowerCase().replaceAll("-", " ");
    const restored = await restore(typed, "--root", back, "--trust", join(desk, "trust.jwt"));
    expect([restored.code, restored.stdout]).toEqual([
      0,
      expect.stringContaining("with version 1 of its trust document"),
    ]);
    for (const file of ["root.jwk", "trust.jwt"])
      expect(readText(back, file)).toBe(readText(root, file));
    await runOrThrow(["vendor", "key", "new", "--dir", desk, "--root", back, "--no-passphrase"]);
    expect(await canSign(desk)).toBe(true);
  });

  test("takes the trust document from the desk with --dir", async () => {
    const { desk, root, path, both } = await makeVendor();
    await runOrThrow(["vendor", "product", "add", "CAM", ...both]);
    const { rows } = await readSheet(root);
    const back = path("back");
    expect((await restore(rows.join("\n"), "--root", back, "--dir", desk)).code).toBe(0);
    // With the copies of the certificates, so that --all retires every key of the desk.
    expect(contentsOf(back)).toEqual(contentsOf(root));
  });

  test("is restored from the text of the whole sheet, and says that certificates are missing", async () => {
    const { desk, root, path } = await makeVendor();
    const sheet = await runOrThrow(["vendor", "root", "print", "--root", root, "--yes"]);
    const back = path("back");
    const restored = await restore(sheet, "--root", back, "--trust", join(desk, "trust.jwt"));
    expect([restored.code, restored.stdout]).toEqual([
      0,
      expect.stringContaining("retire --all needs the desk's folder, too"),
    ]);
    expect(readText(back, "root.jwk")).toBe(readText(root, "root.jwk"));
  });

  test.each([0, 1, 2])("names row %d of the sheet if a symbol of it is wrong", async (index) => {
    const { desk, root, path } = await makeVendor();
    const { rows } = await readSheet(root);
    const row = rows[index] ?? "";
    const wrong = (row.startsWith("7") ? "8" : "7") + row.slice(1);
    const flags = ["--root", path("back"), "--dir", desk];
    const { code, stderr } = await restore(rows.with(index, wrong).join("\n"), ...flags);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`row ${index + 1}`)]);
    expect(stderr).toContain("type the three rows as they are on the sheet");
    expect(existsSync(path("back"))).toBe(false);
  });

  test("is refused with the trust document of another root, and where a root is", async () => {
    const [{ root, path, desk }, other] = [await makeVendor(), await makeVendor()];
    const { rows } = await readSheet(root);
    const sheet = rows.join("\n");
    const foreign = await restore(sheet, "--root", path("back"), "--dir", other.desk);
    expect([foreign.code, foreign.stderr]).toEqual([
      1,
      expect.stringContaining("use the trust document of this root"),
    ]);
    expect(existsSync(path("back"))).toBe(false);
    const there = await restore(sheet, "--root", root, "--dir", desk);
    expect(there.stderr).toContain("already contains a root key");
    expect((await restore(sheet, "--root", path("back"))).code).toBe(2);
  });
});

describe("berth vendor init", () => {
  test("makes another desk of a root that exists, and asks for no name then", async () => {
    const { desk, root, path } = await makeVendor();
    const second = path("second");
    const flags = ["init", "--dir", second, "--root", root, "--no-passphrase"];
    const named = await refuse([...flags, "--name", "X", "--product", "Y"], root);
    expect(named).toContain("omit --name and --product to make another desk for it");
    const { stdout: output, stderr } = await runBerth(["vendor", ...flags]);
    expect(stderr).toContain("the desk has version 1 of the trust document; if another desk has");
    const [first, made] = [await show(desk), await show(second)];
    expect([made.vendor, made.fingerprint]).toEqual([first.vendor, first.fingerprint]);
    expect(made.keys[0]?.key).not.toBe(first.keys[0]?.key);
    expect([output, await canSign(second)]).toEqual([
      expect.stringContaining(`fingerprint ${first.fingerprint}`),
      true,
    ]);
  });

  test("requires a name and a product for a new vendor, and makes nothing without", async () => {
    const folder = tempFolder();
    for (const flags of [[], ["--name", "Acme"], ["--product", "CAD"]]) {
      const words = ["init", "--dir", join(folder, "desk"), "--no-passphrase", ...flags];
      expect(await refuse(words, folder)).toContain("--name and --product are required");
    }
  });

  test("makes no desk inside the folder of the root", async () => {
    const folder = tempFolder();
    const flags = ["init", "--no-passphrase", "--root", folder, "--dir", join(folder, "desk")];
    const refused = await refuse([...flags, "--name", "Acme", "--product", "CAD"], folder);
    expect(refused).toContain("the desk's folder must not be inside the root's folder");
  });

  test("says where the root is, and that it does not belong on this machine", async () => {
    const folder = join(tempFolder(), "desk");
    const output = await runOrThrow([...INIT_DESK, "--dir", folder, "--product", "CAD"]);
    expect(output).toContain(`root ${folder}-root: take it away from this machine, and print it`);
  });
});

describe("a root inside the desk's folder", () => {
  test("is not made by init, by restore, or through a symbolic link", async () => {
    const { desk, root, path } = await makeVendor();
    const [link, deepLink, placeLink] = [path("link"), path("deep-link"), path("place-link")];
    symlinkSync(desk, link);
    mkdirSync(join(desk, "folder"));
    symlinkSync(join(desk, "folder"), deepLink);
    symlinkSync(path(""), placeLink);
    const { rows } = await runJsonOrThrow<{ rows: string[] }>([
      "vendor",
      "root",
      "print",
      "--root",
      root,
      "--yes",
    ]);
    const sheet = path("sheet");
    writeFileSync(sheet, rows.join("\n"));
    const before = contentsOf(desk);
    for (const inside of [desk, join(desk, "root"), join(link, "root"), link, deepLink]) {
      const restore = ["root", "restore", sheet, "--no-passphrase", "--root", inside];
      expect((await vendor(...restore, "--trust", join(root, "trust.jwt"))).code).not.toBe(0);
      expect((await vendor(...restore, "--dir", desk)).code).not.toBe(0);
    }
    const fresh = path("fresh");
    for (const inside of [fresh, join(fresh, "root"), join(placeLink, "fresh", "root")]) {
      const words = [...INIT_DESK, "--dir", fresh, "--product", "CAD", "--root", inside];
      const { code, stderr } = await runBerth(words);
      expect([code, stderr]).toEqual([2, expect.stringContaining("must not be inside the desk's")]);
    }
    expect([contentsOf(desk), existsSync(fresh)]).toEqual([before, false]);
  });

  test("stops every command of the desk and of the root, until it is moved away", async () => {
    const { desk, root, path } = await makeVendor();
    for (const file of readdirSync(root)) {
      if (file !== "trust.jwt") renameSync(join(root, file), join(desk, file));
    }
    const backup = path("desk.backup");
    for (const words of [
      ["show"],
      ["list"],
      ["policy", "--policy-id", "p", "--product", "CAD", ...NO_END],
      ["backup", backup, "--yes"],
      ["accept", join(root, "trust.jwt")],
      ["key", "new", "--no-passphrase"],
      ["product", "add", "CAM", "--root", desk],
    ]) {
      const refused = await refuse([...words, "--dir", desk], desk);
      expect(refused).toMatch(/must not be in the desk's folder|is the folder of a desk/);
    }
    const alone = await refuse(["product", "add", "CAM", "--root", desk], desk);
    expect(alone).toContain("is the folder of a desk");
    const verified = await vendor("verify", "--dir", desk);
    expect([verified.code, verified.stderr]).toEqual([1, expect.stringContaining("root key")]);
    expect(existsSync(backup)).toBe(false);
    renameSync(join(desk, "root.jwk"), join(root, "root.jwk"));
    expect(await canSign(desk)).toBe(true);
  });
});

test("berth vendor policy prints the last day for its codes, and warns under 400 days", async () => {
  const { desk } = await makeVendor();
  const policy = ["policy", "--dir", desk, "--policy-id", "p", "--product", "CAD", ...NO_END];
  const { stderr, stdout } = await vendor(...policy, "--json");
  const { codes_until } = JSON.parse(stdout) as { codes_until: string };
  expect(codes_until).toBe((await show(desk)).keys[0]?.until ?? "");
  const text = "sites accept confirmation codes of this policy until";
  expect(stderr).toContain(`berth: note: ${text} ${dayBefore(codes_until)}, when its key ends\n`);
  for (const [days, kind] of [
    [399, "warning"],
    [401, "note"],
  ] as const) {
    const until = instant(later(wallClock(), days * DAY));
    await replaceKey(desk, { until });
    const signed = await sign(desk);
    expect(signed.stderr).toContain(`berth: ${kind}: ${text} `);
    expect(signed.stderr.includes("make a new key first")).toBe(kind === "warning");
  }
});

const dayBefore = (time: string): string =>
  new Date(Date.parse(time) - 1).toISOString().slice(0, 10);

test("a desk from a backup takes newer files of the root's folder, and signs with its own keys only", async () => {
  const { desk, root, both, path } = await makeVendor();
  const { key: before } = (await show(desk)).keys[0] ?? { key: "" };
  const file = path("desk.backup");
  await runOrThrow(["vendor", "backup", file, "--dir", desk, "--yes"]);
  await runOrThrow(["vendor", "key", "new", ...both, "--no-passphrase"]);
  await runOrThrow(["vendor", "key", "retire", before, ...both, "--yes"]);
  const back = path("back");
  const output = await runOrThrow(["vendor", "restore", file, "--dir", back]);
  expect(output).toContain("the root's folder has the newest trust.jwt and the certificates");
  // It does not know the retirement yet.
  expect(await canSign(back)).toBe(true);
  await runOrThrow(["vendor", "accept", join(root, "trust.jwt"), "--dir", back]);
  expect([await canSign(back), await statesOf(back)]).toEqual([false, ["retired"]]);
  const [current] = (await show(desk)).keys;
  const cert = join(root, `${current?.key}.cert`);
  const refused = await refuse(["accept", cert, "--dir", back], back);
  expect(refused).toContain(`is for the key ${current?.key}, which is not in ${back}`);
  await runOrThrow(["vendor", "key", "new", "--dir", back, "--root", root, "--no-passphrase"]);
  expect(await canSign(back)).toBe(true);
});

test("no command but root print shows the root's secret, and no file outside its folder has it", async () => {
  const { desk, root, path, both } = await makeVendor();
  const { key } = await openRootOf(desk);
  const outputs: string[] = [];
  const run = async (...words: readonly string[]): Promise<void> => {
    const { stdout, stderr } = await vendor(...words);
    outputs.push(stdout, stderr);
  };
  await run("show", "--dir", desk, "--json");
  await run("key", "new", ...both, "--no-passphrase", "--json");
  await run("key", "new", "--dir", desk, "--no-passphrase", "--out", path("key.request"));
  const certify = ["key", "certify", path("key.request"), "--root", root, "--yes"];
  await run(...certify, "--json");
  await run(...certify, "--out", path("key.cert"));
  await run("accept", path("key.cert"), "--dir", desk, "--json");
  await run("product", "add", "CAM", ...both, "--json");
  await run("key", "retire", "--all", ...both, "--yes", "--json");
  await run("verify", "--dir", desk, "--json");
  await run("backup", path("desk.backup"), "--dir", desk, "--yes", "--json");
  await run("restore", path("desk.backup"), "--dir", path("back"), "--json");
  await run("inspect", join(root, "trust.jwt"), "--json");
  const folders = [desk, path("back"), path("")];
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(folder, entry.name))),
  );
  expect([outputs.length, files.length]).toEqual([24, expect.any(Number)]);
  const contents = readFileSync(path("desk.backup"), "utf8").match(/^[^{].*$/gm) ?? [];
  const parts = contents.map((part) => Buffer.from(part, "base64"));
  expect(parts.length).toBeGreaterThan(4);
  const seed = Buffer.from(seedOf(key));
  const forms = [key.d, seed, seed.toString("base64"), seed.toString("hex")];
  for (const bytes of [...outputs.map((text) => Buffer.from(text)), ...files, ...parts])
    for (const form of forms) expect(bytes.includes(form)).toBe(false);
});

test("berth vendor passphrase refuses a key file that is a symbolic link, and changes nothing", async () => {
  const { desk } = await makeVendor();
  const key = keyFileIn(desk);
  const target = join(tempFolder(), "moved.jwk");
  renameSync(key, target);
  symlinkSync(target, key);
  const text = readFileSync(target, "utf8");
  const phrase = join(tempFolder(), "phrase");
  writeFileSync(phrase, "correct horse\n");
  const flags = ["--dir", desk, "--new-passphrase-file", phrase];
  const result = await vendor("passphrase", ...flags);
  expect([result.code, result.stderr]).toEqual([
    1,
    expect.stringContaining(`${key} is a symbolic link`),
  ]);
  expect([lstatSync(key).isSymbolicLink(), readFileSync(target, "utf8")]).toEqual([true, text]);
  expect(readdirSync(desk).filter((file) => file.endsWith(".jwe"))).toEqual([]);
  await runOrThrow(["vendor", "verify", "--dir", desk]);
});

test("berth vendor passphrase changes every key that it opens, also without a key that signs", async () => {
  const { desk, both, path } = await makeVendor();
  await encryptDeskKeys(desk, "first");
  const [earlier] = (await show(desk)).keys;
  await runOrThrow(["vendor", "key", "new", ...both, "--no-passphrase"]);
  const [current] = (await show(desk)).keys;
  await encryptDeskKeys(desk, "second");
  await runOrThrow(["vendor", "key", "retire", "--all", ...both, "--yes"]);
  const before = contentsOf(desk);
  const change = async (passphrase: string) => {
    writeFileSync(path("phrase"), passphrase);
    const from = ["--passphrase-file", path("phrase")];
    return vendor("passphrase", "--dir", desk, ...from, "--no-passphrase");
  };
  const wrong = await change("third");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining("is wrong")]);
  expect(contentsOf(desk)).toEqual(before);
  const { code, stderr } = await change("first");
  expect([code, stderr]).toEqual([
    0,
    `berth: warning: the key ${current?.key} has another passphrase and was not changed\n`,
  ]);
  expect(existsSync(join(desk, `${earlier?.key}.key.jwk`))).toBe(true);
  expect(existsSync(join(desk, `${current?.key}.key.jwe`))).toBe(true);
});

test("berth vendor show lists keys with their state and those that wait for a certificate", async () => {
  const { desk } = await makeVendor();
  const [first] = (await show(desk)).keys;
  const { id } = await replaceKey(desk);
  await runOrThrow(["vendor", "key", "new", "--dir", desk, "--no-passphrase", "--json"]);
  const [waiting] = (await show(desk)).uncertified;
  const text = await runOrThrow(["vendor", "show", "--dir", desk]);
  expect(text).toMatch(new RegExp(`^${id} +current +20`, "m"));
  expect(text).toMatch(new RegExp(`^${first?.key} +earlier +20`, "m"));
  expect(text).toMatch(new RegExp(`^${waiting} +not certified +- +-$`, "m"));
});
