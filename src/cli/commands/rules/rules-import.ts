import { err, ok, type Result } from "../../../domain/result.ts";
import {
  importOptions,
  type FeatureMap,
  type OptionsImport,
} from "../../../rules/flexnet/import-options.ts";
import type { PoolName } from "../../../domain/model/slots/pool-name.ts";
import { quoteIfNeeded } from "../../../platform/shell-quote.ts";
import { formatNote, formatUnconverted } from "../../../rules/flexnet/write-toml.ts";
import { describeInput, emptyFileError, readInputBytes } from "../../files/input-file.ts";
import { checkOutputPath } from "../../files/output-document.ts";
import { refuseToReplace, writeOutputText } from "../../files/output-file.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { list, type InvalidValue } from "../../frame/options.ts";
import { formatCount } from "../../frame/terminal.ts";

interface MappedFeature {
  readonly name: string;
  readonly target: PoolName;
}

const mapOption = list(
  "--map FEATURE=PRODUCT",
  "the product, or PRODUCT:FEATURE, that a FlexNet feature becomes; can be repeated",
  { parse: parseMap },
);

/** A qualifier of FlexNet has an equals sign too: `f1:VERSION=1.0=CAD`. */
function parseMap(text: string): Result<MappedFeature, InvalidValue> {
  const equals = text.lastIndexOf("=");
  const name = text.slice(0, Math.max(equals, 0)).trim();
  const [product = "", feature = null, ...rest] = text.slice(equals + 1).split(":");
  return name === "" || product === "" || feature === "" || rest.length > 0
    ? err({
        problem: `must be FEATURE=PRODUCT or FEATURE=PRODUCT:FEATURE: ${text}`,
        hint: "for example --map cad_base=CAD --map cad_render=CAD:RENDER",
      })
    : ok({ name, target: { product, feature } });
}

/** Converts the rules of another license server; it needs neither a server nor a data folder. */
export const rulesImportCommand = defineCommand({
  name: "rules import",
  summary: "convert a FlexNet options file into sharing rules",
  options: { map: mapOption, out: option.out, json: option.json },
  arguments: ["FILE"],
  examples: [
    "berth rules import vendor.opt --out rules.toml",
    "berth rules import vendor.opt --map cad_base=CAD --map cad_render=CAD:RENDER",
  ],
  run(options, context) {
    checkOutputPath(options);
    if (options.out !== null) refuseToReplace(options.out);
    const text = readOptionsText(context.args[0]);
    const map = new Map(options.map.map(({ name, target }) => [name, target]));
    const result = importOptions(text, map);
    return {
      json: toJson(result),
      notes: options.json ? [] : [...describeImport(result), ...describeMap(result, map)],
      text: async () => {
        if (options.out === null) return { document: result.toml.trimEnd() };
        await writeOutputText(options.out, result.toml);
        return `the rules are written to ${options.out}; next: berth rules check ${options.out}`;
      },
    };
  },
});

function readOptionsText(path: string | undefined): string {
  const bytes = readInputBytes(path, "a FlexNet options file");
  const file = path ?? "";
  if (bytes.length === 0) throw emptyFileError(file);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Failure(
      `${describeInput(file)} is not UTF-8 text`,
      "convert it first, for example with iconv -f ISO-8859-1 -t UTF-8",
    );
  }
}

const toJson = ({ toml, converted, notes, unconverted }: OptionsImport): unknown => ({
  rules: toml,
  converted,
  notes: notes.map(({ line, text }) => ({ line, note: text })),
  not_converted: unconverted.map(({ line, lastLine, text, reason }) => ({
    line,
    last_line: lastLine,
    text,
    reason,
  })),
});

function describeImport({ converted, notes, unconverted }: OptionsImport): string[] {
  const count = formatCount(unconverted.length, "option");
  return [
    `${formatCount(converted, "option")} converted, ${count} without an equivalent`,
    ...notes.map(formatNote),
    ...unconverted.map((line) => `not converted: ${formatUnconverted(line)}`),
  ];
}

/** How to give features another product, unless all of them have one. */
function describeMap({ features }: OptionsImport, map: FeatureMap): string[] {
  const unmapped = features.filter((name) => !map.has(name));
  if (unmapped.length === 0 && map.size > 0) return [];
  const example = unmapped.find((name) => name.includes(":")) ?? unmapped[0] ?? "FEATURE";
  return [`to name the product of a feature: --map ${quoteIfNeeded(`${example}=PRODUCT`)}`];
}
