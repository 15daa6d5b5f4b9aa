import type { ComponentChildren } from 'preact'
import { Button, useAction } from '#dashboard/parts/button'
import { problemText } from '#dashboard/parts/problem-text'

export interface FormProps {
  /** Runs when it is sent; while its promise is open the form is busy, and a failure stands in it. */
  readonly onSubmit: () => unknown
  /** What sending it is called. */
  readonly submit: string
  readonly kind?: 'primary' | 'danger' | undefined
  readonly onCancel?: (() => void) | undefined
  readonly isDisabled?: boolean | undefined
  readonly label?: string | undefined
  readonly children: ComponentChildren
}

/** Fields that are sent together, by the button or the Enter key. */
export function Form({ onSubmit, submit, kind = 'primary', onCancel, isDisabled, label, children }: FormProps) {
  const { isRunning, problem, run } = useAction(onSubmit)
  return (
    <form
      class="form"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isRunning && !isDisabled) run()
      }}
    >
      {children}
      {problem !== undefined && <p class="problem">{problemText(problem)}</p>}
      <div class="actions">
        <Button type="submit" kind={kind} isBusy={isRunning} isDisabled={isDisabled}>
          {submit}
        </Button>
        {onCancel && (
          <Button kind="quiet" onPress={onCancel}>
            Cancel
          </Button>
        )}
      </div>
    </form>
  )
}
