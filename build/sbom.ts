import { createHash } from "node:crypto";
import manifest from "../package.json";
import type { BundledPackage } from "./bundled-packages.ts";
import { BUN_VERSION, type Target } from "./targets.ts";

/** What an executable was built from. */
export interface BuildOrigin {
  readonly commit: string;
  /** RFC 3339; null: unknown. */
  readonly committedAt: string | null;
}

const SELF = `pkg:generic/berth@${manifest.version}`;
const RUNTIME = `pkg:npm/bun@${BUN_VERSION}`;

/**
 * Creates a CycloneDX 1.6 list of everything in the executables. It is the same for every build of
 * a commit: its timestamp is the commit's time, and its serial number is a digest of the rest.
 */
export function createSbom(
  packages: readonly BundledPackage[],
  targets: readonly Target[],
  { commit, committedAt }: BuildOrigin,
): object {
  const body = {
    metadata: {
      ...(committedAt !== null && { timestamp: committedAt }),
      component: {
        type: "application",
        "bom-ref": SELF,
        name: "berth",
        version: manifest.version,
        description: manifest.description,
        licenses: [{ license: { id: manifest.license } }],
        purl: SELF,
        properties: [{ name: "berth:commit", value: commit }],
      },
    },
    components: [...packages.map(libraryComponent), runtimeComponent(targets)],
    dependencies: listDependencies(packages),
  };
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(body))}`,
    version: 1,
    ...body,
  };
}

const libraryComponent = ({ name, version, license, integrity }: BundledPackage): object => ({
  type: "library",
  "bom-ref": purlOf(name, version),
  ...splitScope(name),
  version,
  licenses: / (?:OR|AND|WITH) /.test(license)
    ? [{ expression: license }]
    : [{ license: { id: license } }],
  purl: purlOf(name, version),
  ...hashesOf(integrity),
});

/** One runtime, with a different package for each target. */
const runtimeComponent = (targets: readonly Target[]): object => ({
  type: "platform",
  "bom-ref": RUNTIME,
  name: "bun",
  version: BUN_VERSION,
  description: "the JavaScript runtime; berth notices lists the libraries inside it",
  licenses: [{ license: { id: "MIT" } }],
  purl: RUNTIME,
  components: targets.map((target) => ({
    type: "platform",
    "bom-ref": purlOf(target.package, BUN_VERSION),
    ...splitScope(target.package),
    version: BUN_VERSION,
    description: `in the executable for ${target.name}`,
    licenses: [{ license: { id: "MIT" } }],
    purl: purlOf(target.package, BUN_VERSION),
    ...hashesOf(target.integrity),
  })),
});

function listDependencies(packages: readonly BundledPackage[]): object[] {
  const refs = new Map(packages.map(({ name, version }) => [name, purlOf(name, version)]));
  const refsOf = (names: readonly string[]): string[] =>
    names.flatMap((name) => refs.get(name) ?? []).toSorted();
  return [
    { ref: SELF, dependsOn: [...refsOf(Object.keys(manifest.dependencies)), RUNTIME] },
    ...packages.map(({ name, version, dependencies }) => ({
      ref: purlOf(name, version),
      dependsOn: refsOf(dependencies),
    })),
  ];
}

function splitScope(fullName: string): { readonly group?: string; readonly name: string } {
  const [group, name] = fullName.split("/");
  return group === undefined || name === undefined ? { name: fullName } : { group, name };
}

const purlOf = (name: string, version: string): string =>
  `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

/** `integrity` is `sha512-…` in Base64, as in registries and lock files. */
function hashesOf(integrity: string | null): object {
  const sha512 = /^sha512-(.+)$/.exec(integrity ?? "")?.[1];
  if (sha512 === undefined) return {};
  const content = Buffer.from(sha512, "base64").toString("hex");
  return { hashes: [{ alg: "SHA-512", content }] };
}

/** A UUID of version 8, which is for application-defined values: a digest of the text. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
