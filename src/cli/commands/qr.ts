import { extname } from "node:path";
import { codesOf, joinCodes, textForCodes } from "../../operations/qr-codes.ts";
import { DONE, Failure, isSet, stringOf, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { checkOut, printCodes, readInput } from "../handing-over.ts";
import { nameOfInput, readInputBytes } from "../input-file.ts";
import { refuseToReplace, writeOutputText } from "../output-file.ts";
import { print, printJson, printText, printWarning } from "../terminal.ts";

const show: Command = {
  name: "qr",
  summary: "show a text as QR codes, to carry it by camera",
  options: [option.svg, option.json],
  arguments: ["FILE"],
  examples: ["berth qr request.jwt", "berth qr license.jwt --svg license.svg"],
  async run(given) {
    const text = textForCodes(readText(given.words[0]));
    const codes = await codesOf(text);
    if (!codes.ok) {
      throw new Failure(
        `a text for QR codes has ${codes.fault.bytes} bytes at most`,
        "take a file",
      );
    }
    const out = stringOf(given, "svg");
    if (isSet(given, "json")) printJson({ frames: codes.value });
    else if (out === null) printCodes(text, "the text");
    else {
      await draw(
        out,
        codes.value.map(({ svg }) => svg),
      );
    }
    return DONE;
  },
};

/** Byte by byte what comes back from the codes: what is not text would come back as another. */
function readText(path: string | undefined): string {
  const bytes = readInputBytes(path, "a text");
  const name = nameOfInput(path ?? "-");
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const hint = "QR codes carry text only; base64 makes text of any file";
    throw new Failure(`${name} is not text in UTF-8`, hint);
  }
  if (text.trim() === "") {
    throw new Failure(`${name} is empty`, "name a file that holds the text to carry");
  }
  return text;
}

/** One file as it is named; several with their numbers before the ending. */
async function draw(out: string, pictures: readonly string[]): Promise<void> {
  const end = extname(out);
  const stem = out.slice(0, out.length - end.length);
  const paths = pictures.map((_, at) => (pictures.length === 1 ? out : `${stem}-${at + 1}${end}`));
  paths.forEach(refuseToReplace);
  for (const [at, path] of paths.entries()) {
    await writeOutputText(path, `${pictures[at]}\n`);
    print(`code ${at + 1} of ${paths.length} is in ${path}`);
  }
}

const join: Command = {
  name: "qr join",
  summary: "the text of QR codes that were read: a code a line, in any order",
  options: [option.out, option.json],
  arguments: ["FILE"],
  examples: ["berth qr join scanned.txt --out request.jwt"],
  async run(given) {
    checkOut(given);
    const joined = joinCodes(readInput(given.words[0], "what was read"));
    if (!joined.ok) {
      throw new Failure(
        `the QR codes cannot be joined: ${joined.fault.reason}`,
        "give each code on a line of its own, in any order; berth qr FILE makes them",
      );
    }
    const { text, foreignLines } = joined.value;
    for (const line of foreignLines) {
      printWarning(`line ${line} is not one of Berth's codes, or was misread: it was ignored`);
    }
    const out = stringOf(given, "out");
    if (isSet(given, "json")) printJson({ text, ignored_lines: foreignLines });
    // A line end of the text's own is the one that ends the output.
    else if (out === null) printText(text.replace(/\n$/, ""));
    else {
      await writeOutputText(out, text);
      print(`the text is in ${out}`);
    }
    return DONE;
  },
};

/** Between two machines that only a camera connects. */
export const qrCommands: readonly Command[] = [show, join];
