// What users see of the command line must not change by accident: all help texts, and the JSON of
// one successful run of every command, are compared with committed files.
import { expect, test } from "bun:test";
import { commandGroups, commands } from "../../src/cli/command-table.ts";
import { option } from "../../src/cli/frame/flags.ts";
import { runOrThrow } from "../support/run-berth.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { collectCommandOutputs, type CommandOutput } from "./command-outputs.ts";
import { formatValue, listMembers } from "./format-value.ts";
import { expectGolden, type Sections } from "./golden-file.ts";
import { replaceInValue, replaceTimes } from "./placeholders.ts";

tellNoSlowSyncs();

/** Commands with --json that are not in the file, with the reason. */
const NOT_COVERED: Readonly<Record<string, string>> = {
  "pair join": "it needs the PostgreSQL of a pair",
  "pair hand-over": "another host has to take over while the command waits",
};

/** Their output depends on the machine or on packages: only the names of members are compared. */
const WITHOUT_VALUES: ReadonlySet<string> = new Set(["doctor", "notices", "tls init", "version"]);

function describeOutput({ command, json, hasSystemClock }: CommandOutput): string {
  if (WITHOUT_VALUES.has(command)) return listMembers(json).join("\n");
  return formatValue(replaceInValue(hasSystemClock ? replaceTimes(json) : json));
}

test("the help text of every command and group is the committed one", async () => {
  const topics = [
    "help",
    "help --all",
    ...commandGroups.map(({ name }) => `help ${name}`),
    ...commands.map(({ name }) => `${name} --help`),
  ];
  const texts = await Promise.all(topics.map((topic) => runOrThrow(topic.split(" "))));
  expect(new Set(topics).size).toBe(topics.length);
  expectGolden(
    "help.txt",
    Object.fromEntries(topics.map((topic, index) => [`berth ${topic}`, texts[index] ?? ""])),
  );
});

test("the JSON of every command is the committed one", async () => {
  const outputs = await collectCommandOutputs();
  const withJson = commands
    .filter(({ options }) => options.some(({ name }) => name === option.json.name))
    .map(({ name }) => name);
  expect(new Set(outputs.map(({ title }) => title)).size).toBe(outputs.length);
  const covered = [...new Set(outputs.map(({ command }) => command)), ...Object.keys(NOT_COVERED)];
  expect(covered.toSorted()).toEqual(withJson.toSorted());

  const sections = outputs.map((output) => [output.title, describeOutput(output)]);
  expectGolden("commands.txt", Object.fromEntries(sections) as Sections);
});
