import { useSignal, type Signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { importOptions, type OptionsImport } from "../../rules/flexnet/import-options.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Field } from "../parts/field.tsx";
import { serverStatus } from "../status-stream.ts";
import { FileButton } from "./file-button.tsx";
import { isPartOfFeature, isWrongTarget, readTargets, suggestTarget } from "./flexnet-targets.ts";
import { flexnet as texts } from "./flexnet-texts.ts";

interface Props {
  /** Puts the converted rules into the editor. */
  readonly onText: (text: string) => void;
}

/** Converts an options file in the browser; the result goes to the editor, not to the server. */
export function FlexnetImport({ onText }: Props) {
  const isOpen = useSignal(false);
  const options = useSignal<string | null>(null);
  const close = (): void => {
    isOpen.value = false;
    options.value = null;
  };
  return (
    <>
      <Button onClick={() => void (isOpen.value = true)}>{texts.open}</Button>
      {isOpen.value && (
        <Dialog title={texts.title} onClose={close}>
          <p>{texts.about}</p>
          <FileButton
            label={texts.choose}
            longLabel={texts.choose}
            onText={(text) => void (options.value = text)}
          />
          {options.value === null ? (
            <div class="row actions">
              <Button onClick={close}>{texts.cancel}</Button>
              <Button kind="main" disabled onClick={close}>
                {texts.use}
              </Button>
            </div>
          ) : (
            <Conversion
              key={options.value}
              options={options.value}
              onUse={(toml) => {
                onText(toml);
                close();
              }}
              onCancel={close}
            />
          )}
        </Dialog>
      )}
    </>
  );
}

interface ConversionProps {
  readonly options: string;
  readonly onUse: (toml: string) => void;
  readonly onCancel: () => void;
}

function Conversion({ options, onUse, onCancel }: ConversionProps) {
  const { features } = useMemo(() => importOptions(options, new Map()), []);
  const targets = useSignal<ReadonlyMap<string, string>>(suggestTargets(features));
  const result = useMemo(() => importOptions(options, readTargets(targets.value)), [targets.value]);
  const hasWrongTarget = [...targets.value].some(([feature, text]) => isWrongTarget(feature, text));
  return (
    <>
      {features.length > 0 && <FeatureFields features={features} targets={targets} />}
      <p role="status">
        {result.converted === 0
          ? texts.nothing
          : texts.summary(result.converted, result.unconverted.length)}
      </p>
      <NotConverted result={result} />
      <div class="row actions">
        <Button onClick={onCancel}>{texts.cancel}</Button>
        <Button
          kind="main"
          disabled={result.converted === 0 || hasWrongTarget}
          onClick={() => onUse(result.toml)}
        >
          {texts.use}
        </Button>
      </div>
    </>
  );
}

function suggestTargets(features: readonly string[]): ReadonlyMap<string, string> {
  const products = serverStatus.value?.licenses.map(({ product }) => product) ?? [];
  return new Map(features.map((feature) => [feature, suggestTarget(feature, products)]));
}

interface FieldsProps {
  readonly features: readonly string[];
  readonly targets: Signal<ReadonlyMap<string, string>>;
}

const FeatureFields = ({ features, targets }: FieldsProps) => (
  <div class="flexnet-features" role="group" aria-label={texts.features}>
    <h3>{texts.features}</h3>
    <p class="hint">{texts.featuresAbout}</p>
    {features.map((feature) => (
      <FeatureField key={feature} feature={feature} targets={targets} />
    ))}
  </div>
);

function FeatureField({ feature, targets }: Pick<FieldsProps, "targets"> & { feature: string }) {
  const text = targets.value.get(feature) ?? "";
  // A field needs a signal; this one passes on what is typed.
  const value = {
    get value() {
      return text;
    },
    set value(typed: string) {
      targets.value = new Map([...targets.value, [feature, typed]]);
    },
  };
  return (
    <Field
      label={texts.target(feature)}
      value={value}
      {...(isPartOfFeature(feature) && { hint: texts.partOfFeature })}
      {...(isWrongTarget(feature, text) && { error: texts.wrongTarget })}
    />
  );
}

const NotConverted = ({ result: { notes, unconverted } }: { result: OptionsImport }) => (
  <>
    {unconverted.length > 0 && (
      <details open>
        <summary>{texts.unconverted}</summary>
        <ul class="flexnet-lines">
          {unconverted.map(({ line, lastLine, text, reason }) => (
            <li key={line}>
              {texts.line(line, lastLine)}: <code>{text}</code>
              <p class="hint">{reason}</p>
            </li>
          ))}
        </ul>
      </details>
    )}
    {notes.length > 0 && (
      <details>
        <summary>{texts.notes}</summary>
        <ul class="flexnet-lines">
          {notes.map(({ line, text }, index) => (
            <li key={index}>{line === null ? text : `${texts.line(line, line)}: ${text}`}</li>
          ))}
        </ul>
      </details>
    )}
    {unconverted.length + notes.length > 0 && <p class="hint">{texts.comments}</p>}
  </>
);
