import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";

/** What a form tells its fields: the server's error, and the field that it names. */
interface FormError {
  readonly wrong: Signal<string>;
  readonly wrongField: Signal<string | null>;
  /** The names of the fields that show their own error. */
  readonly names: Set<string>;
}

export const FormErrorContext = createContext<FormError | null>(null);

/**
 * The server's error about the field of this name, until the field changes; undefined: none. The
 * server calls the field by its name, but the reader knows it by its label. The message begins with
 * a capital letter, as the other texts beside fields do.
 */
export function useFieldError(
  name: string | undefined,
  label: string,
): {
  readonly message: string | undefined;
  readonly clear: () => void;
} {
  const form = useContext(FormErrorContext);
  useLayoutEffect(() => {
    if (form === null || name === undefined) return undefined;
    form.names.add(name);
    return () => void form.names.delete(name);
  }, [name]);
  const isWrong = form !== null && name !== undefined && form.wrongField.value === name;
  const clear = (): void => {
    if (!isWrong) return;
    form.wrongField.value = null;
    form.wrong.value = "";
  };
  const text = isWrong ? withLabel(form.wrong.value, name, label) : "";
  return { message: text === "" ? undefined : text[0]?.toUpperCase() + text.slice(1), clear };
}

const withLabel = (message: string, name: string, label: string): string =>
  message.startsWith(`${name} `) ? `“${label}”${message.slice(name.length)}` : message;
