import { generateSequence, type Sequence } from "./generate.ts";
import { SequenceRun, type Decisions } from "./run-sequence.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { writeRuleFile } from "./rule-file.ts";

/** Runs the sequence of a seed; if it fails, throws an error with a shorter one. */
export function runSeed(seed: number, length: number): Decisions {
  const sequence = generateSequence(new SeededRandom(seed), length);
  try {
    return new SequenceRun().run(sequence);
  } catch {
    const shorter = shorten(sequence);
    throw new Error(`seed ${seed}: ${describeSequence(shorter)}\n${findError(shorter)}`);
  }
}

/** Why the sequence fails; null: it does not. */
function findError(sequence: Sequence): string | null {
  try {
    new SequenceRun().run(sequence);
    return null;
  } catch (error) {
    return error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
  }
}

/** Leaves out steps, licenses and rules for as long as the sequence fails. */
function shorten(sequence: Sequence): Sequence {
  let current = sequence;
  const tryOut = (candidate: Sequence): void => {
    if (findError(candidate) !== null) current = candidate;
  };
  for (let size = Math.ceil(current.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let index = 0; index < current.steps.length; index += size) {
      const steps = current.steps.filter((_, step) => step < index || step >= index + size);
      const before = current;
      tryOut({ ...current, steps });
      if (current !== before) index -= size;
    }
  }
  for (let index = current.licenses.length - 1; index > 0; index -= 1) {
    const licenses = current.licenses.filter((_, position) => position !== index);
    tryOut({ ...current, licenses });
  }
  tryOut({ ...current, rules: null });
  for (let index = (current.rules?.blocks.length ?? 0) - 1; index >= 0; index -= 1) {
    const { rules } = current;
    if (rules === null) break;
    const blocks = rules.blocks.filter((_, position) => position !== index);
    tryOut({ ...current, rules: { ...rules, blocks } });
  }
  return current;
}

const describeSequence = ({ licenses, rules, steps }: Sequence): string =>
  [
    ...licenses.map((license) => JSON.stringify(license)),
    rules === null ? "no rules" : writeRuleFile(rules),
    ...steps.map((step) =>
      step.type === "rules" && step.file !== null
        ? `rules:\n${writeRuleFile(step.file)}`
        : JSON.stringify(step),
    ),
  ].join("\n");
