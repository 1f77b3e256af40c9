// What users see of the command line must not change by accident: all help texts are compared with
// a committed file.
import { expect, test } from "bun:test";
import { commandGroups, commands } from "../../src/cli/command-table.ts";
import { runOrThrow } from "../support/run-berth.ts";
import { expectGolden } from "./golden-file.ts";

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
