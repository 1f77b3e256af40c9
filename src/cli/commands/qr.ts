import { extname } from "node:path";
import { renderQrCodes, joinQrCodes, trimPlainCode } from "../../operations/qr-codes.ts";
import { EXIT_OK, Failure, isFlagSet, getStringFlag, type Command } from "../frame/command.ts";
import { option } from "../frame/flags.ts";
import { checkOutputPath, printQrCodes, readInputText } from "../files/output-document.ts";
import { describeInput, readInputBytes } from "../files/input-file.ts";
import { refuseToReplace, writeOutputText } from "../files/output-file.ts";
import { print, printJson, printText, printWarning } from "../frame/terminal.ts";

const show: Command = {
  name: "qr",
  summary: "show a text as QR codes, to transfer it by camera",
  options: [option.svg, option.json],
  arguments: ["FILE"],
  examples: ["berth qr request.jwt", "berth qr license.jwt --svg license.svg"],
  async run(flags) {
    const text = trimPlainCode(readText(flags.positionals[0]));
    const codes = await renderQrCodes(text);
    if (!codes.ok) {
      throw new Failure(
        `the text is too long: QR codes hold at most ${codes.fault.bytes} bytes`,
        "transfer the file itself",
      );
    }
    const out = getStringFlag(flags, "svg");
    if (isFlagSet(flags, "json")) printJson({ frames: codes.value });
    else if (out === null) printQrCodes(text, "the text");
    else {
      await writeSvgFiles(
        out,
        codes.value.map(({ svg }) => svg),
      );
    }
    return EXIT_OK;
  },
};

/** Only text: the codes would not restore other data byte by byte. */
function readText(path: string | undefined): string {
  const bytes = readInputBytes(path, "a text");
  const name = describeInput(path ?? "-");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const hint = "QR codes hold text only; base64 converts any file to text";
    throw new Failure(`${name} is not UTF-8 text`, hint);
  }
  if (text.trim() === "") {
    throw new Failure(`${name} is empty`, "specify a file that contains the text");
  }
  return text;
}

/** One code gets the named file; several get numbers before the extension. */
async function writeSvgFiles(out: string, images: readonly string[]): Promise<void> {
  const extension = extname(out);
  const stem = out.slice(0, out.length - extension.length);
  const paths = images.map((_, index) =>
    images.length === 1 ? out : `${stem}-${index + 1}${extension}`,
  );
  paths.forEach(refuseToReplace);
  for (const [index, path] of paths.entries()) {
    await writeOutputText(path, `${images[index]}\n`);
    print(`code ${index + 1} of ${paths.length} is written to ${path}`);
  }
}

const join: Command = {
  name: "qr join",
  summary: "combine scanned QR codes into their text: one code per line, in any order",
  options: [option.out, option.json],
  arguments: ["FILE"],
  examples: ["berth qr join scanned.txt --out request.jwt"],
  async run(flags) {
    checkOutputPath(flags);
    const joined = joinQrCodes(
      readInputText(flags.positionals[0], "a file with the scanned codes"),
    );
    if (!joined.ok) {
      throw new Failure(
        `the codes cannot be combined: ${joined.fault.reason}`,
        "put each code on its own line, in any order; berth qr FILE creates them",
      );
    }
    const { text, foreignLines } = joined.value;
    for (const line of foreignLines) {
      printWarning(`line ${line} is not a Berth code or was misread; it was ignored`);
    }
    const out = getStringFlag(flags, "out");
    if (isFlagSet(flags, "json")) printJson({ text, ignored_lines: foreignLines });
    // Printing adds a line break, so one at the end of the text is dropped.
    else if (out === null) printText(text.replace(/\n$/, ""));
    else {
      await writeOutputText(out, text);
      print(`the text is written to ${out}`);
    }
    return EXIT_OK;
  },
};

/** Transfer between two machines by camera. */
export const qrCommands: readonly Command[] = [show, join];
