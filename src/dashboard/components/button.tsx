import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { problemText } from '#dashboard/components/problem-text'
import { notify } from '#dashboard/components/toasts'
import { runAfter } from '#dashboard/timers'

export interface ButtonProps {
  /** Runs when pressed; the button is busy until its promise settles, and shows a failure next to it. */
  readonly onPress?: (() => unknown) | undefined
  readonly kind?: 'primary' | 'danger' | 'quiet' | undefined
  /** Whether the button is busy although it was not pressed. */
  readonly isBusy?: boolean | undefined
  readonly isDisabled?: boolean | undefined
  /** `submit`: the form handles the press. */
  readonly type?: 'button' | 'submit' | undefined
  /** The accessible name, if the content is no name. */
  readonly label?: string | undefined
  readonly isPressed?: boolean | undefined
  /** Whether the element that the button opens is open. */
  readonly isExpanded?: boolean | undefined
  readonly children: ComponentChildren
}

export function Button(props: ButtonProps) {
  const { onPress, kind, isBusy, isDisabled, type = 'button', label, isPressed, isExpanded, children } = props
  const { isRunning, outcome, run } = useAction(onPress)
  const isWaiting = isRunning || isBusy === true
  return (
    <>
      <button
        type={type}
        class={`button ${kind ?? ''}`}
        disabled={isDisabled}
        aria-disabled={isWaiting || undefined}
        aria-busy={isWaiting || undefined}
        aria-label={label}
        aria-pressed={isPressed}
        aria-expanded={isExpanded}
        onClick={(event) => {
          if (isWaiting) event.preventDefault()
          else if (onPress) run()
        }}
      >
        {isWaiting && <span class="spinner" aria-hidden="true" />}
        {children}
      </button>
      {outcome}
    </>
  )
}

/** After this time users expect an explanation. */
const slowMs = 5_000

/**
 * Runs an action of the user, and keeps its failure until the next run. Callers must not run it while `isRunning`. If
 * the component is gone, the failure is shown as a toast. `outcome` shows the failure, and that a run takes long, unless
 * the caller shows its progress (`isLong`).
 */
export function useAction(action: (() => unknown) | undefined, isLong = false) {
  const [isRunning, setRunning] = useState(false)
  const [isSlow, setSlow] = useState(false)
  const [problem, setProblem] = useState<unknown>(undefined)
  const isMounted = useRef(true)
  useEffect(() => {
    isMounted.current = true
    return () => {
      isMounted.current = false
    }
  }, [])

  const run = () => {
    setProblem(undefined)
    let result: unknown
    try {
      result = action?.()
    } catch (thrown) {
      fail(thrown)
      return
    }
    if (!(result instanceof Promise)) return
    setRunning(true)
    const cancelHint = runAfter(slowMs, () => isMounted.current && setSlow(true))
    result.catch(fail).finally(() => {
      cancelHint()
      if (!isMounted.current) return
      setRunning(false)
      setSlow(false)
    })
  }
  const fail = (thrown: unknown) => {
    if (isMounted.current) setProblem(thrown)
    else notify(problemText(thrown), 'failed')
  }
  const outcome = (
    <>
      {isSlow && !isLong && (
        <span class="hint" role="status">
          Still waiting for an answer.
        </span>
      )}
      {problem !== undefined && (
        <span class="problem" role="alert">
          {problemText(problem)}
        </span>
      )}
    </>
  )
  return { isRunning, problem, outcome, run }
}
