import { useSignal } from "@preact/signals";
import { siteSlug } from "../../domain/text/site-slug.ts";
import { Button } from "../parts/button.tsx";
import { Select } from "../parts/select.tsx";
import { saveText } from "../save.ts";
import { canChange } from "../session.ts";
import { siteName } from "../site-name.ts";
import { serverStatus } from "../status-stream.ts";
import { EXAMPLES, insertExample } from "./examples.ts";
import { FileButton } from "./file-button.tsx";
import { FlexnetImport } from "./flexnet-import.tsx";
import { rules } from "./rules-texts.ts";

interface Props {
  readonly text: string;
  /** Puts another text into the editor. */
  readonly onReplace: (text: string) => void;
  /** Changes the text, as typing does. */
  readonly onEdit: (text: string) => void;
}

/** Where a text comes from, and how it is kept: examples, files and other servers' options. */
export const RuleTools = ({ text, onReplace, onEdit }: Props) => (
  <div class="rule-tools">
    {canChange.value && <Examples text={text} onEdit={onEdit} />}
    <div class="row">
      {canChange.value && (
        <>
          <FileButton label={rules.open} longLabel={rules.openLabel} onText={onReplace} />
          <FlexnetImport onText={onReplace} />
        </>
      )}
      <Button
        disabled={text === ""}
        onClick={() => saveText(text, rules.fileName(siteSlug(siteName.value)), "application/toml")}
      >
        {rules.save}
      </Button>
    </div>
  </div>
);

function Examples({ text, onEdit }: Omit<Props, "onReplace">) {
  const name = useSignal("");
  const example = EXAMPLES.find((candidate) => candidate.name === name.value);
  const product = serverStatus.value?.licenses[0]?.product ?? "CAD";
  return (
    <div class="rule-examples">
      <Select
        label={rules.examples.label}
        value={name.value}
        options={[
          ["", rules.examples.choose],
          ...EXAMPLES.map((one) => [one.name, one.name] as const),
        ]}
        onChange={(chosen) => (name.value = chosen)}
      />
      <Button
        disabled={example === undefined}
        onClick={() => {
          if (example !== undefined) onEdit(insertExample(text, example, product));
        }}
      >
        {rules.examples.insert}
      </Button>
    </div>
  );
}
