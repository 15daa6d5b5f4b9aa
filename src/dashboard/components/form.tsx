import type { ComponentChildren } from 'preact'
import { useContext, useState } from 'preact/hooks'
import { Button, useAction } from '#dashboard/components/button'
import { FormProblem } from '#dashboard/components/fields'
import { CloseDialogContext, useKeptInput, useUnsaved } from '#dashboard/components/unsaved-input'

export interface FormProps {
  /**
   * Runs on submit; the form is busy until its promise settles. Then the surrounding dialog closes, unless the result
   * is false. If the promise is rejected, the dialog stays open, and the form shows the failure.
   */
  readonly onSubmit: () => unknown
  readonly submit: string
  readonly kind?: 'primary' | 'danger' | undefined
  /** Called by the button Cancel; by default it closes the surrounding dialog. False: no such button. */
  readonly onCancel?: (() => void) | false | undefined
  readonly isDisabled?: boolean | undefined
  readonly label?: string | undefined
  /** Whether to ask before input is lost. `touched`: after any input. Absent: never. */
  readonly isUnsaved?: boolean | 'touched' | undefined
  /** The action takes long, and shows its progress. */
  readonly isLong?: boolean | undefined
  readonly children: ComponentChildren
}

/** Fields that are sent together, by the button or the Enter key. */
export function Form(props: FormProps) {
  const close = useContext(CloseDialogContext)
  const { onSubmit, submit, kind = 'primary', onCancel = close, isDisabled, label, isUnsaved, isLong, children } = props
  const submitAndClose = async () => {
    if ((await onSubmit()) !== false) close?.()
  }
  const { isRunning, problem, outcome, run } = useAction(close ? submitAndClose : onSubmit, isLong)
  const [isTouched, setTouched] = useState(false)
  useUnsaved(isUnsaved === 'touched' ? isTouched : isUnsaved === true)
  useKeptInput(typeof isUnsaved === 'boolean' ? isUnsaved : isTouched)
  return (
    <form
      class="form"
      aria-label={label}
      onInput={() => setTouched(true)}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isRunning && !isDisabled) run()
      }}
    >
      <FormProblem.Provider value={problem}>{children}</FormProblem.Provider>
      {outcome}
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
