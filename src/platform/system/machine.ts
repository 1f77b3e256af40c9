import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";

/** A hardware component in clear text: only to be hashed, never to be shown or sent. */
export interface MachineComponent {
  readonly kind: "machine_id" | "product_uuid" | "board_serial" | "root_disk" | "mac";
  readonly value: string;
}

/**
 * At most one component of each kind. Missing, unreadable and placeholder values, which many
 * machines share, are left out. Never throws.
 */
export function readMachineComponents(
  root = "/",
  credentials = process.env["CREDENTIALS_DIRECTORY"] ?? null,
): MachineComponent[] {
  // Only root may read these two; systemd can pass them to the service as credentials.
  const readPrivileged = (name: string, path: string): string | null =>
    (credentials === null ? null : read(join(credentials, name))) ?? read(join(root, path));
  const uuid = readPrivileged("berth-product-uuid", "sys/class/dmi/id/product_uuid");
  const board = readPrivileged("berth-board-serial", "sys/class/dmi/id/board_serial");
  const components = [
    { kind: "machine_id", value: machineId(root) },
    { kind: "product_uuid", value: parseUuid(uuid) },
    { kind: "board_serial", value: parseSerial(board) },
    { kind: "root_disk", value: rootDiskSerial(root) },
    { kind: "mac", value: firstMac(root) },
  ] as const;
  return components.flatMap(({ kind, value }) => (value === null ? [] : [{ kind, value }]));
}

function machineId(root: string): string | null {
  const id = clean(read(join(root, "etc/machine-id")));
  return /^[\da-f]{32}$/.test(id) && !isRepetitive(id) ? id : null;
}

/** UUIDs of boards and hypervisors to which the maker assigned none. */
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
  return isRepetitive(uuid.replaceAll("-", "")) || PLACEHOLDER_UUIDS.has(uuid) ? null : uuid;
}

/** All zeros, all f, `fefefefe…`, `ffffff00ffff…`: 32 digits by chance use more than two. */
const isRepetitive = (digits: string): boolean => new Set(digits).size <= 2;

/**
 * Placeholders that contain a digit, without punctuation; texts without digits are rejected anyway.
 */
const PLACEHOLDER_SERIALS: ReadonlySet<string> = new Set([
  "type2boardserialnumber",
  "bsn12345678901234567",
  "mb1234567890",
  "vmwarenvme0000",
]);

/** Serials that a hypervisor numbers from the same start on every guest. */
const HYPERVISOR_SERIALS = /\bqm0000\d\b|\bdrive-[a-z]+\d+\b|^persistent-disk-\d+$/;

const ASCENDING_DIGITS = ["01234567890123456789", "0123456789abcdef"];

const readSerial = (path: string): string | null => parseSerial(read(path));

/** Null for placeholders such as `None` and `To Be Filled By O.E.M.`: a serial has a digit. */
function parseSerial(text: string | null): string | null {
  const serial = clean(text);
  const compact = serial.replaceAll(/^(?:0x|naa\.|eui\.|t10\.)|[^a-z\d]/g, "");
  if (!/\d/.test(compact)) return null;
  if (compact.length < 4 || serial.length > 256 || new Set(compact).size === 1) return null;
  if (PLACEHOLDER_SERIALS.has(compact) || HYPERVISOR_SERIALS.test(serial)) return null;
  return ASCENDING_DIGITS.some((digits) => digits.includes(compact)) ? null : serial;
}

/**
 * If the root file system spans several disks, the lowest serial: the order of disk names can
 * change with every boot.
 */
function rootDiskSerial(root: string): string | null {
  const devices = blockDevices(root);
  const device = rootDevice(root, devices);
  if (device === null) return null;
  const serials = disksBelow(device, devices).flatMap((folder) => diskSerial(folder) ?? []);
  return serials.toSorted()[0] ?? null;
}

interface BlockDevice {
  readonly name: string;
  /** `major:minor` */
  readonly number: string;
  /** Folder of the disk, also for a partition. */
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
  // The last mount is the visible one; an initial file system may still be below it.
  const fields = mounts.map((line) => line.split(" ")).findLast((mount) => mount[4] === "/");
  if (fields === undefined) return null;
  const [, , number = ""] = fields;
  if (!number.startsWith("0:")) return devices.find((device) => device.number === number) ?? null;
  // Btrfs has no device number of its own, but mountinfo names its source.
  const source = fields[fields.indexOf("-") + 2] ?? "";
  if (!source.startsWith("/dev/")) return null;
  const name = basename(source);
  return (
    devices.find((device) => device.name === name) ??
    devices.find((device) => read(join(device.folder, "dm/name"))?.trim() === name) ??
    null
  );
}

/** Follows LVM, encryption and RAID down to the physical disks. */
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

/** Paths for virtio, then NVMe and MMC, then SCSI and SATA. */
const diskSerial = (folder: string): string | null =>
  readSerial(join(folder, "serial")) ??
  readSerial(join(folder, "device/serial")) ??
  parseSerial(unitSerial(read(join(folder, "device/vpd_pg80")))) ??
  readSerial(join(folder, "device/wwid"));

/** SCSI's unit serial number page: type, page code, two bytes of length, text. */
function unitSerial(page: string | null): string | null {
  if (page === null || page.charCodeAt(1) !== 0x80) return null;
  return page.slice(4, 4 + page.charCodeAt(2) * 256 + page.charCodeAt(3));
}

const PLACEHOLDER_MACS = /^00:00:00:|^00:11:22:33:44:55$|^00:01:02:03:04:05$/;

/** Address of the first physical interface whose address was assigned by its maker. */
function firstMac(root: string): string | null {
  const net = join(root, "sys/class/net");
  for (const name of list(net)) {
    if (!existsSync(join(net, name, "device"))) continue;
    // All members of a bond show the same address; the permanent one is here.
    const permanent = read(join(net, name, "bonding_slave/perm_hwaddr"));
    const mac = clean(permanent ?? read(join(net, name, "address")));
    if (isMakersMac(mac)) return mac;
  }
  return null;
}

/** Neither locally administered (0x02) nor a group address (0x01), and no placeholder. */
const isMakersMac = (mac: string): boolean =>
  /^[\da-f]{2}(?::[\da-f]{2}){5}$/.test(mac) &&
  (Number.parseInt(mac.slice(0, 2), 16) & 0x03) === 0 &&
  !PLACEHOLDER_MACS.test(mac);

/** Normalizes a value: kernels and firmware differ in case, padding and line ends. */
const clean = (text: string | null): string =>
  (text ?? "")
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .toLowerCase();

/** One character per byte, so that every byte sequence is valid. */
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
