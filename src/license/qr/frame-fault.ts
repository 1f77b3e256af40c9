export const FRAME_FORMAT = "BERTH2";

/** Why one of the scanned texts could not be read. */
export type UnreadFault =
  /** Not a frame. `at`, here and below, is the position in the input, counted from 1. */
  | { readonly wrong: "frame"; readonly at: number }
  | { readonly wrong: "form"; readonly at: number; readonly form: string }
  /** `by` is the number of missing or extra characters. */
  | ({ readonly wrong: "short" | "long"; readonly by: number } & Named)
  /** The header is incomplete, or the check does not match. */
  | ({ readonly wrong: "misread" } & Named);

export type FrameFault =
  | UnreadFault
  /** The input is empty. */
  | { readonly wrong: "none" }
  /** The frames belong to more than one text. */
  | { readonly wrong: "mixed" }
  | { readonly wrong: "missing"; readonly frames: readonly number[]; readonly of: number }
  | { readonly wrong: "damaged" }
  /** Beside a complete set of frames. */
  | { readonly wrong: "foreign"; readonly at: number }
  | { readonly wrong: "size" };

interface Named {
  readonly at: number;
  /** As the header of the frame says. */
  readonly number: number;
  readonly of: number;
}

/** Completes the sentence "the QR codes cannot be joined: …". */
export function describeFrameFault(fault: FrameFault): string {
  if (fault.wrong === "frame") {
    return `code ${fault.at} of the input is incomplete, misread or not a Berth code`;
  }
  if (fault.wrong === "foreign") {
    return `code ${fault.at} of the input is not a Berth code, or was misread`;
  }
  if (fault.wrong === "form") {
    return (
      `code ${fault.at} of the input has the format ${fault.form} of another version of berth; ` +
      `this version reads ${FRAME_FORMAT}: create the codes again with this version`
    );
  }
  if (fault.wrong === "short") {
    const missing = fault.by === 1 ? "1 character is" : `${fault.by} characters are`;
    return `${nameFrame(fault)} is incomplete: ${missing} missing`;
  }
  if (fault.wrong === "long") {
    const extra = fault.by === 1 ? "1 character" : `${fault.by} characters`;
    return `${nameFrame(fault)} has ${extra} too many: put each code on its own line`;
  }
  if (fault.wrong === "misread") return `${nameFrame(fault)} is incomplete or misread`;
  if (fault.wrong === "missing") {
    const [first, ...more] = fault.frames;
    return more.length === 0
      ? `code ${first} of ${fault.of} is missing`
      : `codes ${fault.frames.join(", ")} of ${fault.of} are missing`;
  }
  return FAULT_DESCRIPTIONS[fault.wrong];
}

/** The number in a frame may itself be misread, so a different input position is named too. */
const nameFrame = ({ number, of, at }: { number: number; of: number; at: number }): string =>
  `code ${number} of ${of}${number === at ? "" : ` (code ${at} of the input)`}`;

const FAULT_DESCRIPTIONS = {
  none: "there are no codes in the input",
  mixed: "the codes belong to more than one text",
  damaged: "one of the codes was misread; scan all codes again",
  size: "the text in the codes is too long",
};
