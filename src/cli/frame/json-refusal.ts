/** Why a command was refused or failed, as `--json` prints it. */
export interface JsonRefusal {
  /** The server's or the kernel's error code if one of them refused; else from the command. */
  readonly code: string;
  readonly message: string;
  readonly hint: string | null;
}

/** What a command with `--json` printed on standard output, if that is a refusal; else null. */
export function parseJsonRefusal(stdout: string): JsonRefusal | null {
  try {
    const value: unknown = JSON.parse(stdout);
    return isJsonRefusal(value) ? value : null;
  } catch {
    return null;
  }
}

const isJsonRefusal = (value: unknown): value is JsonRefusal =>
  typeof value === "object" &&
  value !== null &&
  "code" in value &&
  typeof value.code === "string" &&
  "message" in value &&
  typeof value.message === "string" &&
  "hint" in value &&
  (value.hint === null || typeof value.hint === "string");
