import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { wizard } from "./parts-texts.ts";

interface Props {
  readonly titles: readonly string[];
  /** Counted from 0. */
  readonly currentStep: number;
  /** The last step that the user can select now. */
  readonly lastReachableStep: number;
  readonly onSelectStep: (step: number) => void;
  /** The heading after the last step, when every step is done. */
  readonly doneTitle: string;
  readonly children: ComponentChildren;
}

/** A wizard: the list of steps, and the current step below it. */
export function Wizard({ titles, currentStep, lastReachableStep, onSelectStep, ...props }: Props) {
  const title = titles[currentStep];
  const heading = useRef<HTMLHeadingElement>(null);
  const previousStep = useRef(currentStep);
  // Moving the focus tells a screen reader that the step has changed. It moves with the step, not
  // after it is shown: by then the user may have selected a field.
  useLayoutEffect(() => {
    if (previousStep.current !== currentStep) heading.current?.focus();
    previousStep.current = currentStep;
  }, [currentStep]);
  return (
    <>
      <ol class="steps" aria-label={wizard.label}>
        {titles.map((name, step) => (
          <li key={name} class={step < currentStep ? "done" : ""}>
            <button
              type="button"
              aria-current={step === currentStep ? "step" : undefined}
              disabled={step > lastReachableStep}
              onClick={() => onSelectStep(step)}
            >
              {name}
            </button>
          </li>
        ))}
      </ol>
      <section class="card step">
        <h3 ref={heading} tabIndex={-1}>
          {title === undefined
            ? props.doneTitle
            : wizard.heading(currentStep + 1, titles.length, title)}
        </h3>
        {props.children}
      </section>
    </>
  );
}

interface StepActionsProps {
  readonly onBack?: () => void;
  readonly children?: ComponentChildren;
}

/** The buttons at the end of a step: back, and the ones that continue. */
export const StepActions = ({ onBack, children }: StepActionsProps) => (
  <div class="row actions">
    {onBack && (
      <button type="button" class="button" onClick={onBack}>
        {wizard.back}
      </button>
    )}
    {children}
  </div>
);
