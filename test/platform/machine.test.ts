import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hashComponents } from "../../src/license/hardware.ts";
import { readMachineComponents } from "../../src/platform/machine.ts";
import { tempFolder } from "../support/temp-folder.ts";

type Files = Readonly<Record<string, string | Uint8Array>>;

/** A machine's files as the kernel shows them, one below the other. */
function machine(...layers: readonly Files[]): string {
  const root = tempFolder();
  for (const [path, content] of layers.flatMap((files) => Object.entries(files))) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  return root;
}

const MACHINE_ID = "etc/machine-id";
const UUID = "sys/class/dmi/id/product_uuid";
const BOARD = "sys/class/dmi/id/board_serial";
const MOUNTS = "proc/self/mountinfo";

const mounted = (number: string, type = "ext4", source = "/dev/root"): Files => ({
  [MOUNTS]: `22 27 0:21 / /proc rw - proc proc rw\n27 1 ${number} / / rw,relatime shared:1 - ${type} ${source} rw\n`,
});

const disk = (name: string, number: string, more: Files = {}): Files => ({
  [`sys/block/${name}/dev`]: `${number}\n`,
  ...Object.fromEntries(Object.entries(more).map(([k, v]) => [`sys/block/${name}/${k}`, v])),
});

const partition = (name: string, number: string): Files => ({
  [`${name}/partition`]: "1\n",
  [`${name}/dev`]: `${number}\n`,
});

const card = (name: string, address: string): Files => ({
  [`sys/class/net/${name}/address`]: `${address}\n`,
  [`sys/class/net/${name}/device/uevent`]: "",
});

const only = (kind: string, root: string): string | null =>
  readMachineComponents(root).find((one) => one.kind === kind)?.value ?? null;

test("a whole machine gives one of each kind, in one spelling", () => {
  const root = machine(
    { [MACHINE_ID]: "3D1219C7C4C5404AAA1F6D2A48ADFDA4\n" },
    { [UUID]: "B0A1C2D3-1111-4222-8333-944455556666\n", [BOARD]: "  PF3XK21Q  \0\n" },
    mounted("259:2"),
    disk("nvme0n1", "259:0", {
      ...partition("nvme0n1p2", "259:2"),
      "device/serial": "S5GXNG0R401234      \n",
    }),
    card("eno1", "3C:EC:EF:12:34:56"),
  );
  expect(readMachineComponents(root)).toEqual([
    { kind: "machine_id", value: "3d1219c7c4c5404aaa1f6d2a48adfda4" },
    { kind: "product_uuid", value: "b0a1c2d3-1111-4222-8333-944455556666" },
    { kind: "board_serial", value: "pf3xk21q" },
    { kind: "root_disk", value: "s5gxng0r401234" },
    { kind: "mac", value: "3c:ec:ef:12:34:56" },
  ]);
  // What is read here is what a license freezes; the two folders may not know each other.
  expect(hashComponents(readMachineComponents(root), new Uint8Array(32))).toHaveLength(5);
});

test("what a service manager hands over goes before what only root may read", () => {
  const uuid = "b0a1c2d3-1111-4222-8333-944455556666";
  const handed = machine({ "berth-product-uuid": `${uuid}\n`, "berth-board-serial": "PF3XK21Q\n" });
  const told = [
    { kind: "product_uuid", value: uuid },
    { kind: "board_serial", value: "pf3xk21q" },
  ];
  expect(readMachineComponents(machine({}), handed)).toEqual(told as never);
  expect(readMachineComponents(machine({ [BOARD]: "OTHER123" }), handed)).toEqual(told as never);
  // What is not handed over is read as ever, and nonsense is nonsense from there, too.
  const empty = machine({ "berth-board-serial": "None" });
  expect(readMachineComponents(machine({ [UUID]: uuid }), empty)).toEqual([told[0]] as never);
});

describe("a constant is no identity", () => {
  test.each(["", "\n", "uninitialized\n", "0".repeat(32), "f".repeat(32), "abc", "g".repeat(32)])(
    "machine-id %j",
    (text) => expect(readMachineComponents(machine({ [MACHINE_ID]: text }))).toEqual([]),
  );

  test.each([
    "00000000-0000-0000-0000-000000000000",
    "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    "FFFFFF00-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
    "fefefefe-fefe-fefe-fefe-fefefefefefe",
    "03000200-0400-0500-0006-000700080009",
    "00020003-0004-0005-0006-000700080009",
    "12345678-1234-5678-90ab-cddeefaabbcc",
    "4c4c4544-0000-2010-8020-80c04f202020",
    "Not Settable",
  ])("product uuid %j", (text) =>
    expect(readMachineComponents(machine({ [UUID]: `${text}\n` }))).toEqual([]),
  );

  test.each(
    [
      "| |None|Not Specified|To Be Filled By O.E.M.|Default string|N/A|System Serial Number",
      "Type2 - Board Serial Number|BSN12345678901234567|MB-1234567890|INVALID|FFFFFFFF|........",
      "0|00000000|0000-0000|0x00000000|0123456789|123456789|1234567890|a1|ÿÿÿÿÿÿÿÿ",
      `A1${"B2".repeat(128)}`,
    ].flatMap((line) => line.split("|")),
  )("board serial %j", (text) =>
    expect(readMachineComponents(machine({ [BOARD]: `${text}\n` }))).toEqual([]),
  );

  test.each(["QM00001", "drive-scsi0", "t10.ATA QEMU HARDDISK QM00005", "persistent-disk-0"])(
    "disk serial %j",
    (serial) =>
      expect(
        readMachineComponents(machine(mounted("8:0"), disk("sda", "8:0", { serial }))),
      ).toEqual([]),
  );

  test.each(
    [
      "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff 02:fc:00:00:00:01 52:54:00:12:34:56",
      "01:00:5e:00:00:01 00:11:22:33:44:55 3c:ec:ef:12:34",
      `80${":00".repeat(19)} `,
    ].flatMap((line) => line.split(" ")),
  )("mac %j", (mac) => expect(readMachineComponents(machine(card("eth0", mac)))).toEqual([]));

  test.each(["3c:ec:ef:12:34:56", "00:0c:29:ab:cd:ef", "fc:15:b4:00:00:01"])(
    "and the maker's own mac %j is one",
    (mac) => expect(only("mac", machine(card("eth0", mac)))).toBe(mac),
  );

  test.each(["PF3X", "1001001", "4567x", "/7XK21Q3/CNWS30005F00A1/", "a1".repeat(128)])(
    "and a plain serial %j is one",
    (serial) =>
      expect(only("board_serial", machine({ [BOARD]: serial }))).toBe(serial.toLowerCase()),
  );
});

describe("the disk below the root file system", () => {
  test("is the one mounted, not the one beside it, and the upper mount where two lie there", () => {
    const disks = [
      disk("sda", "8:0", { serial: "disk-a-1" }),
      disk("sdb", "8:16", { serial: "disk-b-2", ...partition("sdb1", "8:17") }),
    ];
    expect(only("root_disk", machine(mounted("8:17"), ...disks))).toBe("disk-b-2");
    expect(only("root_disk", machine(mounted("8:99"), ...disks))).toBeNull();
    const both =
      "1 1 8:0 / / rw - ext4 a rw\n27 1 8:16 / / rw - ext4 b rw\n28 1 8:0 / /x rw - e c rw";
    expect(only("root_disk", machine({ [MOUNTS]: both }, ...disks))).toBe("disk-b-2");
  });

  test("is found through encryption on lvm on a partition", () => {
    const root = machine(
      mounted("253:1"),
      disk("dm-1", "253:1", { "slaves/dm-0/dev": "253:0" }),
      disk("dm-0", "253:0", { "slaves/sda3/dev": "8:3" }),
      disk("sda", "8:0", { ...partition("sda3", "8:3"), "device/serial": "WD-42" }),
      disk("sdb", "8:16", { "device/serial": "AA-00" }),
    );
    expect(only("root_disk", root)).toBe("wd-42");
  });

  test("of a mirror is the lowest serial, whichever name each disk got this time", () => {
    const mirror = (a: string, b: string): string =>
      machine(
        mounted("9:0"),
        disk("md0", "9:0", { "slaves/sda/dev": "", "slaves/sdb/dev": "" }),
        disk("sda", "8:0", { serial: a }),
        disk("sdb", "8:16", { serial: b }),
      );
    expect(only("root_disk", mirror("disk-1", "disk-2"))).toBe("disk-1");
    expect(only("root_disk", mirror("disk-2", "disk-1"))).toBe("disk-1");
  });

  test("is found by name where btrfs has no number, and not where nothing is below", () => {
    const sda = disk("sda", "8:0", { ...partition("sda2", "8:2"), serial: "disk-1" });
    const dm = disk("dm-0", "253:0", { "dm/name": "vg-root\n", "slaves/sda2/dev": "8:2" });
    const from = (type: string, source: string): string | null =>
      only("root_disk", machine(mounted("0:30", type, source), sda, dm));
    expect(from("btrfs", "/dev/sda2")).toBe("disk-1");
    expect(from("btrfs", "/dev/mapper/vg-root")).toBe("disk-1");
    expect(from("overlay", "overlay")).toBeNull();
    expect(from("zfs", "sda2")).toBeNull();
  });

  test("tells its serial by scsi's page, cut to its length, before its world-wide name", () => {
    const page = (code: number): Uint8Array =>
      new Uint8Array([0, code, 0, 6, ...new TextEncoder().encode("Z1D2K3junk")]);
    const scsi = (code: number): string =>
      machine(
        mounted("8:0"),
        disk("sda", "8:0", {
          "device/vpd_pg80": page(code),
          "device/wwid": "naa.5000C500A1B2C3D4",
        }),
      );
    expect(only("root_disk", scsi(0x80))).toBe("z1d2k3");
    expect(only("root_disk", scsi(0x83))).toBe("naa.5000c500a1b2c3d4");
  });

  test("is nowhere when the layers point at each other", () => {
    const loop = [
      disk("dm-0", "253:0", { "slaves/dm-1/dev": "" }),
      disk("dm-1", "253:1", { "slaves/dm-0/dev": "" }),
    ];
    expect(readMachineComponents(machine(mounted("253:0"), ...loop))).toEqual([]);
  });
});

describe("the first physical network interface", () => {
  test("is the first by name that has a device and a maker's address", () => {
    const root = machine(
      { "sys/class/net/br0/address": "3c:ec:ef:00:00:01" },
      card("eth0", "02:fc:00:00:00:01"),
      card("eth2", "3c:ec:ef:00:00:03"),
      card("eth1", "3c:ec:ef:00:00:02"),
    );
    expect(only("mac", root)).toBe("3c:ec:ef:00:00:02");
  });

  test("in a bond, is told by its own address and not by the one they share", () => {
    const root = machine(card("eth0", "3c:ec:ef:00:00:09"), {
      "sys/class/net/eth0/bonding_slave/perm_hwaddr": "3c:ec:ef:00:00:01\n",
    });
    expect(only("mac", root)).toBe("3c:ec:ef:00:00:01");
  });
});

describe("whatever lies there", () => {
  test("nothing at all, or files where folders should be, is no component", () => {
    expect(readMachineComponents(join(machine(), "gone"))).toEqual([]);
    expect(readMachineComponents(machine({ sys: "", proc: "", etc: "" }))).toEqual([]);
    expect(readMachineComponents(machine({ [`${MACHINE_ID}/x`]: "" }))).toEqual([]);
    expect(readMachineComponents(machine({ [MOUNTS]: "\0 \n / / /\n27 1\n- - - - /\n" }))).toEqual(
      [],
    );
  });

  test("what answers with an error, loops or leads nowhere is left out, and the rest stays", () => {
    for (const target of ["/proc/self/mem", "machine-id", "/nowhere/at/all"]) {
      const root = machine({ [MACHINE_ID]: "x" }, card("eth0", "3c:ec:ef:00:00:01"));
      rmSync(join(root, MACHINE_ID));
      symlinkSync(target, join(root, MACHINE_ID));
      expect(readMachineComponents(root)).toEqual([{ kind: "mac", value: "3c:ec:ef:00:00:01" }]);
    }
  });

  test("a pipe is not waited for", () => {
    const root = machine({ "etc/hostname": "" });
    expect(Bun.spawnSync(["mkfifo", join(root, MACHINE_ID)]).exitCode).toBe(0);
    expect(readMachineComponents(root)).toEqual([]);
  });

  // Nothing is forbidden to root.
  test.skipIf(process.getuid?.() === 0)("what this user may not read is left out", () => {
    const root = machine({ [BOARD]: "PF3XK21Q" }, card("eth0", "3c:ec:ef:00:00:01"));
    chmodSync(join(root, BOARD), 0);
    expect(readMachineComponents(root)).toEqual([{ kind: "mac", value: "3c:ec:ef:00:00:01" }]);
  });

  test("this machine answers, and twice the same", () => {
    expect(readMachineComponents()).toEqual(readMachineComponents());
  });
});
