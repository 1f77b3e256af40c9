import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hashComponents } from "../../../src/license/documents/hardware.ts";
import { readMachineComponents } from "../../../src/platform/system/machine.ts";
import { tempFolder } from "../../support/temp-folder.ts";

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Creates a root folder with the files that the kernel and /etc show. */
function makeMachine(...layers: readonly Files[]): string {
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

const findComponent = (kind: string, root: string): string | null =>
  readMachineComponents(root).find((component) => component.kind === kind)?.value ?? null;

test("a complete machine has one component of each kind, in normalized form", () => {
  const root = makeMachine(
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
  // license/hardware must accept the kinds read here; neither folder may import the other.
  expect(hashComponents(readMachineComponents(root), new Uint8Array(32))).toHaveLength(5);
});

test("credentials from the service manager take precedence over files that only root can read", () => {
  const uuid = "b0a1c2d3-1111-4222-8333-944455556666";
  const credentials = makeMachine({
    "berth-product-uuid": `${uuid}\n`,
    "berth-board-serial": "PF3XK21Q\n",
  });
  const expected = [
    { kind: "product_uuid", value: uuid },
    { kind: "board_serial", value: "pf3xk21q" },
  ];
  expect(readMachineComponents(makeMachine({}), credentials)).toEqual(expected as never);
  expect(readMachineComponents(makeMachine({ [BOARD]: "OTHER123" }), credentials)).toEqual(
    expected as never,
  );
  // A value without a credential is read from its file, and a placeholder is ignored in both.
  const placeholder = makeMachine({ "berth-board-serial": "None" });
  expect(readMachineComponents(makeMachine({ [UUID]: uuid }), placeholder)).toEqual([
    expected[0],
  ] as never);
});

describe("a placeholder is ignored as", () => {
  test.each(["", "\n", "uninitialized\n", "0".repeat(32), "f".repeat(32), "abc", "g".repeat(32)])(
    "machine-id %j",
    (text) => expect(readMachineComponents(makeMachine({ [MACHINE_ID]: text }))).toEqual([]),
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
    expect(readMachineComponents(makeMachine({ [UUID]: `${text}\n` }))).toEqual([]),
  );

  test.each(
    [
      "| |None|Not Specified|To Be Filled By O.E.M.|Default string|N/A|System Serial Number",
      "Type2 - Board Serial Number|BSN12345678901234567|MB-1234567890|INVALID|FFFFFFFF|........",
      "0|00000000|0000-0000|0x00000000|0123456789|123456789|1234567890|a1|ÿÿÿÿÿÿÿÿ",
      `A1${"B2".repeat(128)}`,
    ].flatMap((line) => line.split("|")),
  )("board serial %j", (text) =>
    expect(readMachineComponents(makeMachine({ [BOARD]: `${text}\n` }))).toEqual([]),
  );

  test.each(["QM00001", "drive-scsi0", "t10.ATA QEMU HARDDISK QM00005", "persistent-disk-0"])(
    "disk serial %j",
    (serial) =>
      expect(
        readMachineComponents(makeMachine(mounted("8:0"), disk("sda", "8:0", { serial }))),
      ).toEqual([]),
  );

  test.each(
    [
      "00:00:00:00:00:00 ff:ff:ff:ff:ff:ff 02:fc:00:00:00:01 52:54:00:12:34:56",
      "01:00:5e:00:00:01 00:11:22:33:44:55 3c:ec:ef:12:34",
      `80${":00".repeat(19)} `,
    ].flatMap((line) => line.split(" ")),
  )("mac %j", (mac) => expect(readMachineComponents(makeMachine(card("eth0", mac)))).toEqual([]));

  test.each(["3c:ec:ef:12:34:56", "00:0c:29:ab:cd:ef", "fc:15:b4:00:00:01"])(
    "but a manufacturer's mac is read: %j",
    (mac) => expect(findComponent("mac", makeMachine(card("eth0", mac)))).toBe(mac),
  );

  test.each(["PF3X", "1001001", "4567x", "/7XK21Q3/CNWS30005F00A1/", "a1".repeat(128)])(
    "but a real board serial is read: %j",
    (serial) =>
      expect(findComponent("board_serial", makeMachine({ [BOARD]: serial }))).toBe(
        serial.toLowerCase(),
      ),
  );
});

describe("the disk of the root file system", () => {
  test("is the mounted one, and that of the last mount if there are two", () => {
    const disks = [
      disk("sda", "8:0", { serial: "disk-a-1" }),
      disk("sdb", "8:16", { serial: "disk-b-2", ...partition("sdb1", "8:17") }),
    ];
    expect(findComponent("root_disk", makeMachine(mounted("8:17"), ...disks))).toBe("disk-b-2");
    expect(findComponent("root_disk", makeMachine(mounted("8:99"), ...disks))).toBeNull();
    const both =
      "1 1 8:0 / / rw - ext4 a rw\n27 1 8:16 / / rw - ext4 b rw\n28 1 8:0 / /x rw - e c rw";
    expect(findComponent("root_disk", makeMachine({ [MOUNTS]: both }, ...disks))).toBe("disk-b-2");
  });

  test("is found through encryption, LVM and a partition", () => {
    const root = makeMachine(
      mounted("253:1"),
      disk("dm-1", "253:1", { "slaves/dm-0/dev": "253:0" }),
      disk("dm-0", "253:0", { "slaves/sda3/dev": "8:3" }),
      disk("sda", "8:0", { ...partition("sda3", "8:3"), "device/serial": "WD-42" }),
      disk("sdb", "8:16", { "device/serial": "AA-00" }),
    );
    expect(findComponent("root_disk", root)).toBe("wd-42");
  });

  test("has the lowest serial of a mirror, whatever the disks are named", () => {
    const makeMirror = (a: string, b: string): string =>
      makeMachine(
        mounted("9:0"),
        disk("md0", "9:0", { "slaves/sda/dev": "", "slaves/sdb/dev": "" }),
        disk("sda", "8:0", { serial: a }),
        disk("sdb", "8:16", { serial: b }),
      );
    expect(findComponent("root_disk", makeMirror("disk-1", "disk-2"))).toBe("disk-1");
    expect(findComponent("root_disk", makeMirror("disk-2", "disk-1"))).toBe("disk-1");
  });

  test("is found by device name for btrfs, and not for overlay or ZFS", () => {
    const sda = disk("sda", "8:0", { ...partition("sda2", "8:2"), serial: "disk-1" });
    const dm = disk("dm-0", "253:0", { "dm/name": "vg-root\n", "slaves/sda2/dev": "8:2" });
    const findDisk = (type: string, source: string): string | null =>
      findComponent("root_disk", makeMachine(mounted("0:30", type, source), sda, dm));
    expect(findDisk("btrfs", "/dev/sda2")).toBe("disk-1");
    expect(findDisk("btrfs", "/dev/mapper/vg-root")).toBe("disk-1");
    expect(findDisk("overlay", "overlay")).toBeNull();
    expect(findDisk("zfs", "sda2")).toBeNull();
  });

  test("has the serial of SCSI page 0x80, cut to its length, or else its wwid", () => {
    const page = (code: number): Uint8Array =>
      new Uint8Array([0, code, 0, 6, ...new TextEncoder().encode("Z1D2K3junk")]);
    const makeScsiMachine = (code: number): string =>
      makeMachine(
        mounted("8:0"),
        disk("sda", "8:0", {
          "device/vpd_pg80": page(code),
          "device/wwid": "naa.5000C500A1B2C3D4",
        }),
      );
    expect(findComponent("root_disk", makeScsiMachine(0x80))).toBe("z1d2k3");
    expect(findComponent("root_disk", makeScsiMachine(0x83))).toBe("naa.5000c500a1b2c3d4");
  });

  test("is not found if device layers form a loop", () => {
    const loop = [
      disk("dm-0", "253:0", { "slaves/dm-1/dev": "" }),
      disk("dm-1", "253:1", { "slaves/dm-0/dev": "" }),
    ];
    expect(readMachineComponents(makeMachine(mounted("253:0"), ...loop))).toEqual([]);
  });
});

describe("the first physical network interface", () => {
  test("is the first by name that has a device and a manufacturer's address", () => {
    const root = makeMachine(
      { "sys/class/net/br0/address": "3c:ec:ef:00:00:01" },
      card("eth0", "02:fc:00:00:00:01"),
      card("eth2", "3c:ec:ef:00:00:03"),
      card("eth1", "3c:ec:ef:00:00:02"),
    );
    expect(findComponent("mac", root)).toBe("3c:ec:ef:00:00:02");
  });

  test("in a bond, has its permanent address and not the shared one", () => {
    const root = makeMachine(card("eth0", "3c:ec:ef:00:00:09"), {
      "sys/class/net/eth0/bonding_slave/perm_hwaddr": "3c:ec:ef:00:00:01\n",
    });
    expect(findComponent("mac", root)).toBe("3c:ec:ef:00:00:01");
  });
});

describe("readMachineComponents", () => {
  test("returns nothing for missing folders, or files in place of folders", () => {
    expect(readMachineComponents(join(makeMachine(), "gone"))).toEqual([]);
    expect(readMachineComponents(makeMachine({ sys: "", proc: "", etc: "" }))).toEqual([]);
    expect(readMachineComponents(makeMachine({ [`${MACHINE_ID}/x`]: "" }))).toEqual([]);
    expect(
      readMachineComponents(makeMachine({ [MOUNTS]: "\0 \n / / /\n27 1\n- - - - /\n" })),
    ).toEqual([]);
  });

  test("leaves out unreadable files and broken links, and returns the rest", () => {
    for (const target of ["/proc/self/mem", "machine-id", "/nowhere/at/all"]) {
      const root = makeMachine({ [MACHINE_ID]: "x" }, card("eth0", "3c:ec:ef:00:00:01"));
      rmSync(join(root, MACHINE_ID));
      symlinkSync(target, join(root, MACHINE_ID));
      expect(readMachineComponents(root)).toEqual([{ kind: "mac", value: "3c:ec:ef:00:00:01" }]);
    }
  });

  test("does not wait for a named pipe", () => {
    const root = makeMachine({ "etc/hostname": "" });
    expect(Bun.spawnSync(["mkfifo", join(root, MACHINE_ID)]).exitCode).toBe(0);
    expect(readMachineComponents(root)).toEqual([]);
  });

  // Root may read every file.
  test.skipIf(process.getuid?.() === 0)("leaves out files that this user may not read", () => {
    const root = makeMachine({ [BOARD]: "PF3XK21Q" }, card("eth0", "3c:ec:ef:00:00:01"));
    chmodSync(join(root, BOARD), 0);
    expect(readMachineComponents(root)).toEqual([{ kind: "mac", value: "3c:ec:ef:00:00:01" }]);
  });

  test("returns the same for this machine twice", () => {
    expect(readMachineComponents()).toEqual(readMachineComponents());
  });
});
