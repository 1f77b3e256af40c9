// The system clocks of hosts on one machine, which a test sets with libfaketime.
import { join } from "node:path";
import {
  faketimeEnvironment,
  findOrInstallFaketime,
  removeSharedMemory,
  writeTimeFile,
} from "../../faults/clock/faketime-machine.ts";
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";

export interface HostClocks {
  readonly environment: (host: string) => Readonly<Record<string, string>>;
  /** The true time plus an offset in milliseconds. */
  readonly set: (host: string, offsetMs: number) => void;
}

/** Null: libfaketime is missing and cannot be installed. */
export function createHostClocks(): HostClocks | null {
  const library = findOrInstallFaketime();
  if (library === null) return null;
  const folder = makeTempFolder();
  const fileOf = (host: string): string => join(folder, host);
  atEnd(removeSharedMemory);
  return {
    environment(host) {
      writeTimeFile(fileOf(host), 0);
      return faketimeEnvironment(library, fileOf(host));
    },
    set: (host, offsetMs) => writeTimeFile(fileOf(host), offsetMs),
  };
}
