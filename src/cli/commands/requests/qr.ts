import { describeFrameFault } from "../../../license/qr/frame-fault.ts";
import { extname } from "node:path";
import {
  renderQrCodes,
  joinQrCodes,
  trimPlainCode,
} from "../../../operations/requests/qr-codes.ts";
import { describeInput, readInputBytes } from "../../files/input-file.ts";
import { checkOutputPath, formatQrCodes, readInputText } from "../../files/output-document.ts";
import { refuseToReplace, writeOutputText } from "../../files/output-file.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";

const show = defineCommand({
  name: "qr",
  summary: "show a text as QR codes, to transfer it by camera",
  options: { svg: option.svg, json: option.json },
  arguments: ["FILE"],
  examples: ["berth qr request.jwt", "berth qr license.jwt --svg license.svg"],
  async run({ svg: out }, { args }) {
    const text = trimPlainCode(readText(args[0]));
    const codes = await renderQrCodes(text);
    if (!codes.ok) {
      throw new Failure(
        `the text is too long: QR codes hold at most ${codes.fault.bytes} bytes`,
        "transfer the file itself",
      );
    }
    const images = codes.value.map(({ svg }) => svg);
    return {
      json: { frames: codes.value },
      text: () => (out === null ? formatQrCodes(text, "the text") : writeSvgFiles(out, images)),
    };
  },
});

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
async function writeSvgFiles(out: string, images: readonly string[]): Promise<string[]> {
  const extension = extname(out);
  const stem = out.slice(0, out.length - extension.length);
  const paths = images.map((_, index) =>
    images.length === 1 ? out : `${stem}-${index + 1}${extension}`,
  );
  paths.forEach(refuseToReplace);
  for (const [index, path] of paths.entries()) {
    await writeOutputText(path, `${images[index]}\n`);
  }
  return paths.map((path, index) => `code ${index + 1} of ${paths.length} is written to ${path}`);
}

const join = defineCommand({
  name: "qr join",
  summary: "combine scanned QR codes into their text: one code per line, in any order",
  options: { out: option.out, json: option.json },
  arguments: ["FILE"],
  examples: ["berth qr join scanned.txt --out request.jwt"],
  run(options, { args }) {
    checkOutputPath(options);
    const joined = joinQrCodes(readInputText(args[0], "a file with the scanned codes"));
    if (!joined.ok) {
      throw new Failure(
        `the codes cannot be combined: ${describeFrameFault(joined.fault.problem)}`,
        "put each code on its own line, in any order; berth qr FILE creates them",
      );
    }
    const { text, foreignLines } = joined.value;
    const { out } = options;
    return {
      json: { text, ignored_lines: foreignLines },
      async text() {
        // Printing adds a line break, so one at the end of the text is dropped.
        if (out === null) return { document: text.replace(/\n$/, "") };
        await writeOutputText(out, text);
        return `the text is written to ${out}`;
      },
      warnings: foreignLines.map(
        (line) => `line ${line} is not a Berth code or was misread; it was ignored`,
      ),
    };
  },
});

/** Transfer between two machines by camera. */
export const qrCommands = [show, join];
