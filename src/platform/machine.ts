import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";

/** What tells this machine from others, as found: for freezing, not for showing or sending. */
export interface MachineComponent {
  readonly kind: "machine_id" | "product_uuid" | "board_serial" | "root_disk" | "mac";
  readonly value: string;
}

/**
 * At most one of each kind: what this user can read and what is not the same on a thousand other
 * machines. Whatever is missing, unreadable or nonsense is left out; nothing here throws.
 */
export function readMachineComponents(
  root = "/",
  credentials = process.env["CREDENTIALS_DIRECTORY"] ?? null,
): MachineComponent[] {
  // Only root may read these two; a service manager can hand them to the service's user.
  const handed = (name: string, path: string): string | null =>
    (credentials === null ? null : read(join(credentials, name))) ?? read(join(root, path));
  const uuid = handed("berth-product-uuid", "sys/class/dmi/id/product_uuid");
  const board = handed("berth-board-serial", "sys/class/dmi/id/board_serial");
  const found = [
    { kind: "machine_id", value: machineId(root) },
    { kind: "product_uuid", value: parseUuid(uuid) },
    { kind: "board_serial", value: parseSerial(board) },
    { kind: "root_disk", value: rootDiskSerial(root) },
    { kind: "mac", value: firstMac(root) },
  ] as const;
  return found.flatMap(({ kind, value }) => (value === null ? [] : [{ kind, value }]));
}

function machineId(root: string): string | null {
  const id = clean(read(join(root, "etc/machine-id")));
  return /^[\da-f]{32}$/.test(id) && !isMonotone(id) ? id : null;
}

/** What boards and hypervisors carry when nobody gave them a UUID. */
const PLACEHOLDER_UUIDS: ReadonlySet<string> = new Set([
  "03000200-0400-0500-0006-000700080009",
  // The same bytes in the order newer kernels read them.
  "00020003-0004-0005-0006-000700080009",
  "12345678-1234-5678-90ab-cddeefaabbcc",
  // A Dell without its service tag.
  "4c4c4544-0000-2010-8020-80c04f202020",
]);

function parseUuid(text: string | null): string | null {
  const uuid = clean(text);
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(uuid)) return null;
  return isMonotone(uuid.replaceAll("-", "")) || PLACEHOLDER_UUIDS.has(uuid) ? null : uuid;
}

/** All zeros, all f, `fefefefe…`, `ffffff00ffff…`: 32 digits by chance use more than two. */
const isMonotone = (digits: string): boolean => new Set(digits).size <= 2;

/** Those with a digit in them, as letters and digits only; words are no serials anyway. */
const PLACEHOLDER_SERIALS: ReadonlySet<string> = new Set([
  "type2boardserialnumber",
  "bsn12345678901234567",
  "mb1234567890",
  "vmwarenvme0000",
]);

/** Serials a hypervisor counts up from the same start on every guest. */
const COUNTED_BY_VM = /\bqm0000\d\b|\bdrive-[a-z]+\d+\b|^persistent-disk-\d+$/;

const COUNTING_UP = ["01234567890123456789", "0123456789abcdef"];

const readSerial = (path: string): string | null => parseSerial(read(path));

/** `None`, `Default string`, `To Be Filled By O.E.M.`: what has no digit was not counted out. */
function parseSerial(text: string | null): string | null {
  const serial = clean(text);
  const bare = serial.replaceAll(/^(?:0x|naa\.|eui\.|t10\.)|[^a-z\d]/g, "");
  if (!/\d/.test(bare)) return null;
  if (bare.length < 4 || serial.length > 256 || new Set(bare).size === 1) return null;
  if (PLACEHOLDER_SERIALS.has(bare) || COUNTED_BY_VM.test(serial)) return null;
  return COUNTING_UP.some((digits) => digits.includes(bare)) ? null : serial;
}

/**
 * Where the root file system spans several disks, the lowest serial: the names of disks change
 * places from one start to the next.
 */
function rootDiskSerial(root: string): string | null {
  const devices = blockDevices(root);
  const held = rootDevice(root, devices);
  if (held === null) return null;
  const serials = disksBelow(held, devices).flatMap((folder) => diskSerial(folder) ?? []);
  return serials.toSorted()[0] ?? null;
}

interface BlockDevice {
  readonly name: string;
  /** `major:minor` */
  readonly number: string;
  /** Of the whole disk, for a partition as well. */
  readonly folder: string;
}

function blockDevices(root: string): BlockDevice[] {
  const block = join(root, "sys/block");
  return list(block).flatMap((disk) => {
    const folder = join(block, disk);
    const partitions = list(folder).filter((name) => existsSync(join(folder, name, "partition")));
    return [
      { name: disk, number: clean(read(join(folder, "dev"))), folder },
      ...partitions.map((name) => ({
        name,
        number: clean(read(join(folder, name, "dev"))),
        folder,
      })),
    ];
  });
}

function rootDevice(root: string, devices: readonly BlockDevice[]): BlockDevice | null {
  const mounts = (read(join(root, "proc/self/mountinfo")) ?? "").split("\n");
  // The last one lies on top: an initial file system may still be below it.
  const fields = mounts.map((line) => line.split(" ")).findLast((mount) => mount[4] === "/");
  if (fields === undefined) return null;
  const [, , number = ""] = fields;
  if (!number.startsWith("0:")) return devices.find((one) => one.number === number) ?? null;
  // Btrfs has no number of its own, but names what it was mounted from.
  const source = fields[fields.indexOf("-") + 2] ?? "";
  if (!source.startsWith("/dev/")) return null;
  const name = basename(source);
  return (
    devices.find((one) => one.name === name) ??
    devices.find((one) => read(join(one.folder, "dm/name"))?.trim() === name) ??
    null
  );
}

/** Follows LVM, encryption and RAID down to what can be held in a hand. */
function disksBelow(
  { folder }: BlockDevice,
  devices: readonly BlockDevice[],
  seen = new Set<string>(),
): string[] {
  if (seen.has(folder)) return [];
  seen.add(folder);
  const slaves = list(join(folder, "slaves"));
  if (slaves.length === 0) return [folder];
  return devices
    .filter(({ name }) => slaves.includes(name))
    .flatMap((slave) => disksBelow(slave, devices, seen));
}

/** Virtio, then NVMe and MMC, then SCSI and SATA. */
const diskSerial = (folder: string): string | null =>
  readSerial(join(folder, "serial")) ??
  readSerial(join(folder, "device/serial")) ??
  parseSerial(unitSerial(read(join(folder, "device/vpd_pg80")))) ??
  readSerial(join(folder, "device/wwid"));

/** SCSI's page of that name: type, page code, two bytes of length, text. */
function unitSerial(page: string | null): string | null {
  if (page === null || page.charCodeAt(1) !== 0x80) return null;
  return page.slice(4, 4 + page.charCodeAt(2) * 256 + page.charCodeAt(3));
}

const PLACEHOLDER_MACS = /^00:00:00:|^00:11:22:33:44:55$|^00:01:02:03:04:05$/;

/** Of the first interface with a device behind it whose address was given to it by its maker. */
function firstMac(root: string): string | null {
  const net = join(root, "sys/class/net");
  for (const name of list(net)) {
    if (!existsSync(join(net, name, "device"))) continue;
    // A bond puts one address on all of its members.
    const own = read(join(net, name, "bonding_slave/perm_hwaddr"));
    const mac = clean(own ?? read(join(net, name, "address")));
    if (isMakersMac(mac)) return mac;
  }
  return null;
}

/** Neither locally administered (0x02) nor a group's (0x01), and no placeholder. */
const isMakersMac = (mac: string): boolean =>
  /^[\da-f]{2}(?::[\da-f]{2}){5}$/.test(mac) &&
  (Number.parseInt(mac.slice(0, 2), 16) & 0x03) === 0 &&
  !PLACEHOLDER_MACS.test(mac);

/** One spelling: kernels and firmware differ in case, padding and line ends. */
const clean = (text: string | null): string =>
  (text ?? "")
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .toLowerCase();

/** One character a byte, so that no byte can be wrong. */
function read(path: string): string | null {
  try {
    return statSync(path).isFile() ? readFileSync(path, "latin1") : null;
  } catch {
    return null;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}
